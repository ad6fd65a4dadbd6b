"""Models of transformers, compiled: losses, gradients, caches that grow, generation, traces."""

import os

import torch
import transformers as T

BACKEND = os.environ.get("COMPILE_BACKEND", "inductor")  # PyTorch's own takes minutes here; its numbers are those of "aot_eager"
SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
IMAGES = dict(image_size=32, patch_size=8)
ids = torch.arange(24).reshape(2, 12) * 7 % 90 + 1
pictures = torch.linspace(-1, 1, 2 * 3 * 32 * 32).reshape(2, 3, 32, 32).sin()
MODELS = [
    (T.GPT2LMHeadModel, T.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=99, n_positions=64), {"input_ids": ids, "labels": ids}),
    (T.LlamaForCausalLM, T.LlamaConfig(**SMALL, vocab_size=99, num_key_value_heads=2), {"input_ids": ids, "labels": ids}),
    (T.BertForMaskedLM, T.BertConfig(**SMALL, vocab_size=99), {"input_ids": ids, "attention_mask": (ids > 5).long(), "labels": ids}),
    (
        T.T5ForConditionalGeneration,
        T.T5Config(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=99, decoder_start_token_id=0),
        {"input_ids": ids, "labels": ids[:, :6].contiguous()},
    ),
    (T.ViTForImageClassification, T.ViTConfig(**SMALL, **IMAGES, num_labels=5), {"pixel_values": pictures, "labels": torch.tensor([1, 3])}),
    (
        T.ResNetForImageClassification,
        T.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=5),
        {"pixel_values": pictures, "labels": torch.tensor([1, 3])},
    ),
]

for cls, config, given in MODELS:
    torch.manual_seed(0)
    model = cls(config).eval()
    compiled = torch.compile(model, backend=BACKEND)
    for call in range(2):
        model.zero_grad()
        out = compiled(**given)
        out.loss.backward()
        norm = torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm()
        print(f"{cls.__name__} {call}: loss {out.loss.item():.5f} gradient {norm.item():.4f} {type(out).__name__} {list(out.keys())}")
    with torch.no_grad():
        eager = model(**given)
        print(
            torch.allclose(out.logits, eager.logits, atol=1e-5),
            [tuple(each.shape) for each in out.to_tuple() if isinstance(each, torch.Tensor)],
        )

torch.manual_seed(0)
model = T.GPT2LMHeadModel(
    T.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=99, n_positions=64, bos_token_id=1, eos_token_id=2)
).eval()
greedy = dict(max_new_tokens=8, do_sample=False, pad_token_id=0, attention_mask=torch.ones_like(ids))
wanted = model.generate(ids, **greedy)
model.forward = torch.compile(model.forward, backend=BACKEND)
for _ in range(2):
    found = model.generate(ids, **greedy)
    print("generated", torch.equal(found, wanted), found[:, 12:].tolist())

torch.manual_seed(0)
model = T.BertModel(T.BertConfig(**SMALL, vocab_size=99)).eval()
traced = torch.jit.trace(model, (ids, (ids > 5).long()), strict=False)
other = (ids + 3) % 90 + 1
print(
    "traced",
    torch.allclose(traced(other, (other > 9).long())["last_hidden_state"], model(other, (other > 9).long()).last_hidden_state, atol=1e-5),
)
