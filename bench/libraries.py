"""Models of transformers and timm: forward and backward, eager and compiled, beside PyTorch in an environment of its own, in one run.

python bench/libraries.py --libraries LIBS/bin/python --oracle TORCH/bin/python [--quick] [--compile-pytorch] [--threads N] [MODEL ...]

Both environments have the libraries; the first has no PyTorch, and its programs are started by ``rushlight run``.  A process for each package times
a step when it is told to, in turn, so that a busy machine hinders both alike.  With ``--cpu-time`` a step's processor time is taken instead of the
time that passes, for a machine that others use (with one thread).
"""

from __future__ import annotations

import argparse
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

HERE = pathlib.Path(__file__)
MODELS = ("GPT-2", "BERT", "ViT", "ResNet-18", "Llama", "T5", "timm ResNet-18", "timm ViT")
EAGER, COMPILED, FIRST = 1.3, 0.9, 0.1  # the allowed ratios: a step, a compiled step, the first two compiled steps


def build(name: str) -> tuple[Any, dict[str, Any], Callable[[Any], Any]]:
    """A model with random weights, a batch, and what a loss is of its result."""
    import torch  # the worker's package

    torch.manual_seed(0)
    ids = torch.randint(0, 1000, (4, 64))
    pictures = torch.randn(4, 3, 64, 64)
    wide = dict(num_hidden_layers=4, hidden_size=256, num_attention_heads=4)
    if name.startswith("timm"):
        import timm

        model = timm.create_model("resnet18") if "ResNet" in name else timm.create_model("vit_tiny_patch16_224", img_size=64, depth=4)
        return model, {"x": pictures}, lambda out: out.square().mean()
    import transformers as T

    if name == "GPT-2":
        drop = dict(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
        config = T.GPT2Config(
            n_layer=4, n_embd=256, n_head=4, vocab_size=1000, n_positions=128, bos_token_id=0, eos_token_id=0, use_cache=False, **drop
        )
        return T.GPT2LMHeadModel(config), {"input_ids": ids, "labels": ids}, lambda out: out.loss
    if name == "Llama":
        llama = T.LlamaConfig(**wide, intermediate_size=512, num_key_value_heads=2, vocab_size=1000, use_cache=False)
        return T.LlamaForCausalLM(llama), {"input_ids": ids, "labels": ids}, lambda out: out.loss
    if name == "T5":
        t5 = T.T5Config(
            d_model=256,
            d_ff=512,
            d_kv=64,
            num_layers=4,
            num_heads=4,
            vocab_size=1000,
            dropout_rate=0.0,
            decoder_start_token_id=0,
            use_cache=False,
        )
        return T.T5ForConditionalGeneration(t5), {"input_ids": ids, "labels": ids}, lambda out: out.loss
    if name == "BERT":
        bert = T.BertConfig(**wide, intermediate_size=1024, vocab_size=1000, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
        given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        return T.BertModel(bert), given, lambda out: out.last_hidden_state.square().mean() + out.pooler_output.mean()
    if name == "ViT":
        vit = T.ViTConfig(**wide, intermediate_size=1024, image_size=64, patch_size=8)
        return T.ViTModel(vit), {"pixel_values": pictures}, lambda out: out.last_hidden_state.square().mean() + out.pooler_output.mean()
    resnet = T.ResNetConfig(embedding_size=64, hidden_sizes=[64, 128, 256, 512], depths=[2, 2, 2, 2], layer_type="basic")
    return T.ResNetForImageClassification(resnet), {"pixel_values": pictures, "labels": torch.randint(0, 2, (4,))}, lambda out: out.loss


def work(threads: int, cpu_time: bool) -> None:
    """Make and time steps as they are asked for: ``make MODEL``, ``eager SECONDS``, ``first``, ``compiled SECONDS``; answers are lines of numbers."""
    import logging

    import torch

    logging.disable(logging.WARNING)
    if threads:
        torch.set_num_threads(threads)
    now = time.process_time if cpu_time else time.perf_counter
    model, given, loss_of, compiled = None, {}, None, None

    def step(run: Any) -> float:
        model.zero_grad()
        start = now()
        loss = loss_of(run(**given))
        loss.backward()
        step.loss = float(loss.detach())
        return now() - start

    for command in sys.stdin:
        what, _, rest = command.strip().partition(" ")
        if what == "make":
            model, given, loss_of = build(rest)
            compiled = torch.compile(model)
            step(model)
            answer = step.loss
        elif what == "first":
            answer = step(compiled) + step(compiled)  # the second compiles what the first has captured
        else:
            run, stop, found = model if what == "eager" else compiled, time.perf_counter() + float(rest), []
            while not found or time.perf_counter() < stop:
                found.append(step(run))
            answer = min(found)
        print(f"= {answer!r}", flush=True)


class Worker:
    """A process that times one package."""

    def __init__(self, command: list[str], options: list[str], threads: int) -> None:
        counts = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads)) if threads else {}
        caches = dict.fromkeys(("RUSHLIGHT_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"), tempfile.mkdtemp())  # nothing was compiled before
        given = [*command, str(HERE), "--worker", *options]
        self.process = subprocess.Popen(
            given, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **counts, **caches}
        )

    def ask(self, command: str) -> float:
        """Send a command; its answer."""
        assert self.process.stdin is not None and self.process.stdout is not None
        print(command, file=self.process.stdin, flush=True)
        for line in self.process.stdout:
            if line.startswith("= "):
                return float(line[2:])
        raise SystemExit(f"{command}: the process of {self.process.args} has ended")


def compare(name: str, ours: Worker, theirs: Worker, rounds: int, budget: float, compile_pytorch: bool) -> list[str]:
    """A row of the table."""
    from tables import line, shown

    losses = [each.ask(f"make {name}") for each in (ours, theirs)]
    if abs(losses[0] - losses[1]) > 1e-3 * abs(losses[1]):
        raise SystemExit(f"{name}: the losses differ: {losses}")
    first = ours.ask("first")
    their_first = theirs.ask("first") if compile_pytorch else None
    for each, what in ((ours, "eager"), (ours, "compiled"), (theirs, "eager")):
        each.ask(f"{what} {budget / 3}")
    best = {"eager": float("inf"), "compiled": float("inf"), "theirs": float("inf")}
    for _ in range(rounds):
        best["eager"] = min(best["eager"], ours.ask(f"eager {budget}"))
        best["theirs"] = min(best["theirs"], theirs.ask(f"eager {budget}"))
        best["compiled"] = min(best["compiled"], ours.ask(f"compiled {budget}"))

    def ratio(value: float, base: float, allowed: float) -> str:
        return f"{value / base:.2f}" + ("" if value / base <= allowed else " **missed**")

    row = [name, shown(best["eager"]), shown(best["compiled"]), shown(best["theirs"]), ratio(best["eager"], best["theirs"], EAGER)]
    row += [ratio(best["compiled"], best["theirs"], COMPILED), shown(first)]
    row.append("–" if their_first is None else f"{shown(their_first)} ({ratio(first, their_first, FIRST)})")
    print(line(*row), file=sys.stderr, flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help=f"of {', '.join(MODELS)}")
    parser.add_argument("--libraries", default=sys.executable, help="a Python with the libraries and without PyTorch")
    parser.add_argument("--oracle", default=sys.executable, help="a Python with the libraries and PyTorch")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, and no results file")
    parser.add_argument("--compile-pytorch", action="store_true", help="also time PyTorch's first compiled steps, which takes minutes")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.worker:
        work(chosen.threads, chosen.cpu_time)
        return
    from tables import header, keep, line

    options = ["--threads", str(chosen.threads), *(["--cpu-time"] if chosen.cpu_time else [])]
    load = os.getloadavg()[0]
    ours, theirs = (
        Worker([chosen.libraries, "-m", "rushlight", "run"], options, chosen.threads),
        Worker([chosen.oracle], options, chosen.threads),
    )
    rows = header(
        "forward and backward",
        "eager",
        "compiled",
        "PyTorch eager",
        "eager ratio",
        "compiled ratio",
        "first two compiled steps",
        "PyTorch's",
    )
    for name in chosen.models or MODELS:
        rows.append(line(*compare(name, ours, theirs, 2 if chosen.quick else 6, 0.3 if chosen.quick else 1.0, chosen.compile_pytorch)))
    print("\n".join(rows))
    if not chosen.quick and not chosen.models:
        how = ["processor time" if chosen.cpu_time else "", f"{chosen.threads} threads" if chosen.threads else ""]
        about = f"{platform.machine()}, {os.cpu_count()} cores, {', '.join(each for each in how if each) or 'all threads'}, load before the run {load:.2f}"
        keep("Models of libraries", about, "\n".join(rows))


if __name__ == "__main__":
    main()
