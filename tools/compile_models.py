"""Models of transformers and timm, compiled with ``fullgraph=True``: one graph or not, how many guards, and the time of steps beside eager mode's.

    LIBS/bin/python -m rushlight run tools/compile_models.py [--oracle TORCH/bin/python] [--write] [NAME ...]

Each model, small and with random weights, is run forward and backward in several ways (labels, cache, mask, hidden states, bfloat16, training mode,
without gradients); results and gradients are compared with eager mode's.  Times are processor time on one thread, the best of some steps.  With
``--oracle`` the same steps are timed in PyTorch's eager mode.  ``--write`` writes ``tests/libraries/compiled.md``, a part of docs/libraries.md.
"""

from __future__ import annotations

import argparse
import json
import logging
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch  # type: ignore[import-not-found]

ROOT = Path(__file__).resolve().parent.parent
SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
CACHED = ("GPT2LMHeadModel", "LlamaForCausalLM", "Qwen2ForCausalLM", "MixtralForCausalLM", "MambaForCausalLM", "T5ForConditionalGeneration", "WhisperForConditionalGeneration")  # fmt: skip
LAYERDROP = ("WhisperForConditionalGeneration",)  # in training a layer is left out by chance: PyTorch's graph breaks there, too
TIMM: dict[str, dict[str, Any]] = {
    "resnet18": {}, "seresnet18": {}, "resnext26ts": {}, "regnetx_002": {}, "densenet121": {}, "dla34": {}, "repvgg_a0": {}, "hgnetv2_b0": {},
    "efficientnet_b0": {}, "tf_efficientnet_lite0": {}, "mobilenetv3_small_050": {}, "ghostnet_050": {}, "convnext_atto": {"depths": (1, 1, 1, 1)},
    "convnextv2_atto": {"depths": (1, 1, 1, 1)}, "vit_tiny_patch16_224": {"img_size": 64, "depth": 2}, "deit_tiny_patch16_224": {"img_size": 64, "depth": 2},
    "beit_base_patch16_224": {"img_size": 64, "depth": 2, "embed_dim": 96, "num_heads": 3}, "cait_xxs24_224": {"img_size": 64, "depth": 2},
    "xcit_nano_12_p16_224": {"img_size": 64, "depth": 2}, "swin_tiny_patch4_window7_224": {"img_size": 56, "depths": (2, 2), "num_heads": (3, 6), "embed_dim": 24},
    "swinv2_tiny_window8_256": {"img_size": 64, "depths": (2, 2), "num_heads": (3, 6), "embed_dim": 24}, "mixer_s32_224": {"img_size": 64},
    "gmlp_ti16_224": {"img_size": 64}, "poolformer_s12": {}, "pvt_v2_b0": {}, "levit_128s": {"img_size": 64}, "mobilevit_xxs": {}, "edgenext_xx_small": {},
    "fastvit_t8": {}, "tnt_s_patch16_224": {"img_size": 64, "depth": 2}, "eva02_tiny_patch14_224": {"img_size": 56, "depth": 2}, "mambaout_femto": {}, "starnet_s1": {},
}  # fmt: skip


def text_models() -> dict[str, Callable[[], tuple[Any, dict[str, Any], Any]]]:
    """Makers of the models of transformers: a model, its inputs, and labels (None where it makes its own loss)."""
    import transformers as T  # type: ignore[import-not-found]

    ids = torch.arange(24).reshape(2, 12) * 7 % 90 + 1
    pictures = torch.linspace(-1, 1, 2 * 3 * 32 * 32).reshape(2, 3, 32, 32).sin()
    sound = torch.linspace(-1, 1, 3200).reshape(2, 16, 100).sin()
    few, classes = ids[:, :6].contiguous(), torch.tensor([1, 3])
    part = dict(SMALL, projection_dim=16)
    grouped = dict(SMALL, vocab_size=99, num_key_value_heads=2)
    whisper = dict(
        vocab_size=99, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
        decoder_ffn_dim=64, num_mel_bins=16, max_source_positions=50, max_target_positions=40, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
    )  # fmt: skip
    made = {
        T.GPT2LMHeadModel: (T.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=99, n_positions=64), {"input_ids": ids}, ids),
        T.LlamaForCausalLM: (T.LlamaConfig(**grouped), {"input_ids": ids}, ids),
        T.Qwen2ForCausalLM: (T.Qwen2Config(**grouped), {"input_ids": ids}, ids),
        T.MixtralForCausalLM: (T.MixtralConfig(**grouped, num_local_experts=4), {"input_ids": ids}, ids),
        T.MambaForCausalLM: (T.MambaConfig(hidden_size=32, num_hidden_layers=2, vocab_size=99, state_size=8), {"input_ids": ids}, ids),
        T.BertForMaskedLM: (T.BertConfig(**SMALL, vocab_size=99), {"input_ids": ids}, ids),
        T.T5ForConditionalGeneration: (
            T.T5Config(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=99, decoder_start_token_id=0), {"input_ids": ids}, few,
        ),
        T.WhisperForConditionalGeneration: (T.WhisperConfig(**whisper), {"input_features": sound}, few),
        T.ViTForImageClassification: (T.ViTConfig(**SMALL, image_size=32, patch_size=8, num_labels=5), {"pixel_values": pictures}, classes),
        T.ResNetForImageClassification: (
            T.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=5), {"pixel_values": pictures}, classes,
        ),
        T.CLIPModel: (
            T.CLIPConfig(text_config=dict(part, vocab_size=99), vision_config=dict(part, image_size=32, patch_size=8), projection_dim=16),
            {"input_ids": ids, "pixel_values": pictures, "return_loss": True}, None,
        ),
    }  # fmt: skip
    return {kind.__name__: (lambda k=kind, g=given: (k(g[0]), g[1], g[2])) for kind, given in made.items()}  # type: ignore[misc]


def timm_models() -> dict[str, Callable[[], tuple[Any, dict[str, Any], Any]]]:
    """Makers of the models of timm."""
    import timm  # type: ignore[import-not-found]

    def make(name: str, options: dict[str, Any]) -> tuple[Any, dict[str, Any], Any]:
        size = options.get("img_size", 64)
        pictures = torch.linspace(-2, 2, 2 * 3 * size * size).reshape(2, 3, size, size).sin()
        return timm.create_model(name, pretrained=False, num_classes=10, **options), {"x": pictures}, None

    return {f"timm {name}": (lambda n=name, o=options: make(n, o)) for name, options in TIMM.items()}  # type: ignore[misc]


def ways(name: str, given: dict[str, Any], labels: Any) -> Iterator[tuple[str, dict[str, Any], set[str]]]:
    """The ways in which a model is run: what they are called, the arguments, and how."""
    full = {**given, **({} if labels is None else {"labels": labels})}
    yield "gradients", full, set()
    if name.startswith("timm"):
        yield "without gradients", full, {"no_grad"}
        return
    if name in CACHED:
        yield "no cache", {**full, "use_cache": False}, set()
    if "input_ids" in given and labels is not None:
        mask = torch.ones_like(given["input_ids"])
        mask[1, 9:] = 0
        yield "mask", {**full, "attention_mask": mask}, set()
    yield "hidden states", {**full, "output_hidden_states": True}, set()
    yield "bfloat16", full, {"bfloat16"}
    if name not in LAYERDROP:
        yield "training", full, {"training"}
    yield "without gradients", full, {"no_grad"}


def leaves(value: Any) -> list[Any]:
    """The tensors in a result."""
    if isinstance(value, torch.Tensor):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [each for part in parts for each in leaves(part)]


class Run:
    """One model, run in one way."""

    def __init__(self, make: Any, given: dict[str, Any], how: set[str], training: bool) -> None:
        torch.manual_seed(0)
        self.model = make()[0].train("training" in how or training)
        self.given, self.gradients = given, "no_grad" not in how
        if "bfloat16" in how:
            self.model = self.model.to(torch.bfloat16)
            self.given = {
                name: each.to(torch.bfloat16) if torch.is_tensor(each) and each.is_floating_point() else each
                for name, each in given.items()
            }

    def step(self, run: Any) -> tuple[Any, list[Any], float]:
        """A result, the gradients, and the processor time."""
        self.model.zero_grad()
        torch.manual_seed(1)
        begun = time.process_time()
        with torch.set_grad_enabled(self.gradients):
            out = run(**self.given)
        loss = out.square().mean() if isinstance(out, torch.Tensor) else out.loss if out.loss is not None else out.logits.float().mean()
        if self.gradients:
            loss.backward()
        return out, [each.grad for each in self.model.parameters() if each.grad is not None], time.process_time() - begun


def near(ours: list[Any], theirs: list[Any], rounding: float) -> bool:
    """Whether tensors are equal but for rounding, measured by the largest of them."""
    scale = max((each.float().abs().max().item() for each in theirs if each.numel()), default=1.0) + 1e-6
    return len(ours) == len(theirs) and all(
        (a.float() - b.float()).abs().max().item() <= rounding * scale for a, b in zip(ours, theirs) if a.numel()
    )


def compiled(name: str, make: Any) -> dict[str, Any]:
    """What becomes of a model: a row of the table."""
    row: dict[str, Any] = {"name": name, "ways": 0, "good": 0, "wrong": []}
    _, given, labels = make()
    training = "levit" in name  # in evaluation it keeps biases, with their graph, from call to call
    for way, full, how in ways(name, given, labels):
        torch._dynamo.reset()
        row["ways"] += 1
        try:
            each = Run(make, full, how, training)
            eager, slopes, _ = each.step(each.model)
            slopes = [slope.clone() for slope in slopes]
            function = torch.compile(each.model, fullgraph=True)
            first = [each.step(function)[2] for _ in range(2)]
            made, found, _ = each.step(function)
            rounding = 2e-2 if "bfloat16" in how else 1e-3
            fits = near(leaves(made), leaves(eager), rounding) and near(found, slopes, rounding)
            if way == "gradients":
                later = min(each.step(function)[2] for _ in range(8))
                plain = min(each.step(each.model)[2] for _ in range(4))
                told = torch._dynamo.explain(function)(**each.given)
                row.update(
                    first=sum(first),
                    later=later,
                    eager=plain,
                    guards=len(told.out_guards),
                    graphs=told.graph_count,
                    breaks=told.graph_break_count,
                )
        except Exception as error:
            row["wrong"].append(f"{way}: {type(error).__name__}: {str(error).splitlines()[0][:200]}")
            continue
        if fits:
            row["good"] += 1
        else:
            row["wrong"].append(f"{way}: differs from eager mode")
    return row


def timed(make: Any, name: str) -> float:
    """The processor time of a step in eager mode."""
    _, given, labels = make()
    each = Run(make, next(ways(name, given, labels))[1], set(), "levit" in name)
    return min(each.step(each.model)[2] for _ in range(6))


def table(rows: list[dict[str, Any]], theirs: dict[str, float]) -> str:
    """The part of docs/libraries.md."""
    whole = sum(row["good"] == row["ways"] and not row["wrong"] for row in rows)
    lines = [
        "",
        "## Compiled models",
        "",
        "Written by `tools/compile_models.py`: small models with random weights under `torch.compile(fullgraph=True)`, forward and backward, in several ways",
        "(labels, with and without cache, mask, hidden states, bfloat16, training mode, without gradients; timm's with and without gradients), each compared",
        "with eager mode. Processor time of a step on one thread; the first two steps include capture and compilation, with the code cache as it was.",
        "",
        f"{whole} of {len(rows)} models are one graph in all ways.",
        "",
        "| model | ways in one graph | guards | first two steps | later | eager | PyTorch eager |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        other = f"{theirs[row['name']] * 1e3:.1f} ms" if row["name"] in theirs else "–"
        times = [f"{row['first']:.2f} s", f"{row['later'] * 1e3:.1f} ms", f"{row['eager'] * 1e3:.1f} ms"] if "first" in row else ["–"] * 3
        lines.append(f"| {row['name']} | {row['good']} of {row['ways']} | {row.get('guards', '–')} | {' | '.join(times)} | {other} |")
    said = [f"- {row['name']}, {each}" for row in rows for each in row["wrong"]]
    return "\n".join([*lines, *(["", "What is not:", "", *said] if said else [])]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="models whose names have one of these in them; all by default")
    parser.add_argument("--oracle", help="a Python with the libraries and PyTorch, for the last column")
    parser.add_argument("--write", action="store_true", help="write tests/libraries/compiled.md")
    parser.add_argument("--eager", action="store_true", help="only time eager mode, as JSON: what the oracle is asked")
    parser.add_argument("--rows", action="store_true", help="print rows as JSON, for runs in parts")
    parser.add_argument(
        "--from-rows", nargs="*", default=None, help="make the table of such rows, and of the oracle's times, instead of running"
    )
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    rows: list[dict[str, Any]] = []
    theirs: dict[str, float] = {}
    if given.from_rows is not None:
        for file in given.from_rows:
            for line in Path(file).read_text(encoding="utf8").splitlines():
                if line.startswith("{"):
                    found = json.loads(line)
                    rows.append(found) if "ways" in found else theirs.update(found)
    else:
        makers = {**text_models(), **timm_models()}
        for name, make in makers.items():
            if given.names and not any(each in name for each in given.names):
                continue
            if given.eager:
                print(json.dumps({name: timed(make, name)}), flush=True)
                continue
            rows.append(compiled(name, make))
            shown = rows[-1]
            print(
                json.dumps(shown)
                if given.rows
                else f"{name}: {shown['good']} of {shown['ways']}, {shown.get('guards')} guards {shown['wrong']}",
                flush=True,
            )
        if given.eager:
            return
        if given.oracle:
            told = subprocess.run([given.oracle, __file__, "--eager", *given.names], capture_output=True, text=True, check=True).stdout
            for line in told.splitlines():
                theirs.update(json.loads(line) if line.startswith("{") else {})
    text = table(rows, theirs)
    if given.write:
        (ROOT / "tests" / "libraries" / "compiled.md").write_text(text, encoding="utf8")
    elif not given.rows:
        print(text)


if __name__ == "__main__":
    main()
