"""Ten models of transformers on random weights: loss, gradients, hidden states, saved and loaded again."""

import tempfile

import torch
import transformers as T

SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, vocab_size=99)
TEXT = [
    (T.GPT2LMHeadModel, T.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=99, n_positions=64)),
    (T.BertForMaskedLM, T.BertConfig(**SMALL)),
    (T.LlamaForCausalLM, T.LlamaConfig(**SMALL, num_key_value_heads=2)),
    (T.Qwen2ForCausalLM, T.Qwen2Config(**SMALL, num_key_value_heads=2)),
    (T.MixtralForCausalLM, T.MixtralConfig(**SMALL, num_key_value_heads=2, num_local_experts=4)),
    (T.MambaForCausalLM, T.MambaConfig(hidden_size=32, num_hidden_layers=2, vocab_size=99, state_size=8)),
]


def report(name, model, loss, logits):
    loss.backward()
    norm = torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm()
    print(f"{name}: loss {loss.item():.5f} gradient {norm.item():.4f} logits {logits.float().std().item():.5f} {tuple(logits.shape)}")


for cls, config in TEXT:
    torch.manual_seed(0)
    model = cls(config).eval()
    ids = torch.randint(1, 99, (2, 12))
    mask = torch.ones_like(ids)
    mask[1, 9:] = 0
    out = model(input_ids=ids, attention_mask=mask, labels=ids, output_hidden_states=True)
    report(cls.__name__, model, out.loss, out.logits)
    print(len(out.hidden_states), sorted(out.keys()), sum(p.numel() for p in model.parameters()))
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        again = cls.from_pretrained(folder)
    with torch.no_grad():
        print(torch.equal(again(input_ids=ids, attention_mask=mask).logits, model(input_ids=ids, attention_mask=mask).logits))

torch.manual_seed(1)
model = T.T5ForConditionalGeneration(
    T.T5Config(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=99, decoder_start_token_id=0)
).eval()
ids = torch.randint(1, 99, (2, 10))
out = model(input_ids=ids, labels=ids[:, :6].contiguous())
report("T5", model, out.loss, out.logits)

torch.manual_seed(2)
model = T.ViTForImageClassification(
    T.ViTConfig(**{k: v for k, v in SMALL.items() if k != "vocab_size"}, image_size=32, patch_size=8, num_labels=5)
).eval()
out = model(pixel_values=torch.randn(2, 3, 32, 32), labels=torch.tensor([1, 3]))
report("ViT", model, out.loss, out.logits)

torch.manual_seed(3)
config = T.WhisperConfig(
    vocab_size=99, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
    decoder_ffn_dim=64, num_mel_bins=16, max_source_positions=50, max_target_positions=40, pad_token_id=0, bos_token_id=1, eos_token_id=2,
    decoder_start_token_id=1,
)  # fmt: skip
model = T.WhisperForConditionalGeneration(config).eval()
out = model(input_features=torch.randn(2, 16, 100), labels=torch.randint(3, 99, (2, 7)))
report("Whisper", model, out.loss, out.logits)

torch.manual_seed(4)
part = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, projection_dim=16)
config = T.CLIPConfig(text_config=dict(part, vocab_size=99), vision_config=dict(part, image_size=32, patch_size=8), projection_dim=16)
model = T.CLIPModel(config).eval()
out = model(input_ids=torch.randint(1, 98, (2, 9)), pixel_values=torch.randn(2, 3, 32, 32), return_loss=True)
report("CLIP", model, out.loss, out.logits_per_image)

torch.manual_seed(5)
model = T.ResNetForImageClassification(
    T.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=4)
)
out = model(pixel_values=torch.randn(2, 3, 32, 32), labels=torch.tensor([0, 2]))
report("ResNet", model, out.loss, out.logits)
