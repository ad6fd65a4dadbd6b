"""Many more models of transformers on random weights: loss, gradients and logits."""

# libraries: transformers
import logging

import torch
import transformers as T

logging.disable(logging.CRITICAL)
SIZE = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, vocab_size=99)
PLACES = dict(max_position_embeddings=64)
GROUPED = dict(SIZE, num_key_value_heads=2, pad_token_id=0, bos_token_id=1, eos_token_id=2)
HEADS = dict(GROUPED, head_dim=8)
ENCODER_DECODER = dict(
    vocab_size=99, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
    decoder_ffn_dim=64, max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
)  # fmt: skip
MLA = dict(
    dict(GROUPED, num_key_value_heads=4), moe_intermediate_size=32, n_routed_experts=4, num_experts_per_tok=2, n_group=1, topk_group=1, first_k_dense_replace=1, q_lora_rank=16,
    kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8,
)  # fmt: skip
CAUSAL = [
    (T.GemmaForCausalLM, T.GemmaConfig(**HEADS)),
    (T.Gemma2ForCausalLM, T.Gemma2Config(**HEADS)),
    (T.Gemma3ForCausalLM, T.Gemma3TextConfig(**HEADS, sliding_window=8)),
    (T.PhiForCausalLM, T.PhiConfig(**GROUPED)),
    (T.Phi3ForCausalLM, T.Phi3Config(**GROUPED)),
    (T.DeepseekV2ForCausalLM, T.DeepseekV2Config(**MLA)),
    (T.OPTForCausalLM, T.OPTConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2, ffn_dim=64, num_attention_heads=4, word_embed_proj_dim=32, **PLACES)),
    (T.BloomForCausalLM, T.BloomConfig(vocab_size=99, hidden_size=32, n_layer=2, n_head=4)),
    (T.FalconForCausalLM, T.FalconConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4)),
    (T.Mamba2ForCausalLM, T.Mamba2Config(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_heads=8, head_dim=8, state_size=8, n_groups=1, chunk_size=4)),
    (T.MistralForCausalLM, T.MistralConfig(**GROUPED, sliding_window=8)),
    (T.Qwen3ForCausalLM, T.Qwen3Config(**HEADS)),
    (T.Qwen3MoeForCausalLM, T.Qwen3MoeConfig(**HEADS, moe_intermediate_size=32, num_experts=4, num_experts_per_tok=2)),
    (T.OlmoForCausalLM, T.OlmoConfig(**GROUPED)),
    (T.StableLmForCausalLM, T.StableLmConfig(**GROUPED)),
    (T.CohereForCausalLM, T.CohereConfig(**GROUPED)),
    (T.GPTNeoXForCausalLM, T.GPTNeoXConfig(**SIZE, **PLACES)),
    (T.GPTJForCausalLM, T.GPTJConfig(vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64, rotary_dim=8)),
    (T.XLNetLMHeadModel, T.XLNetConfig(vocab_size=99, d_model=32, n_layer=2, n_head=4, d_inner=64)),
]  # fmt: skip
MASKED = [
    (T.RobertaForMaskedLM, T.RobertaConfig(**SIZE, **PLACES)),
    (T.DistilBertForMaskedLM, T.DistilBertConfig(vocab_size=99, dim=32, n_layers=2, n_heads=4, hidden_dim=64, **PLACES)),
    (T.ElectraForMaskedLM, T.ElectraConfig(**SIZE, embedding_size=32, **PLACES)),
    (T.AlbertForMaskedLM, T.AlbertConfig(**SIZE, embedding_size=16, **PLACES)),
    (T.DebertaV2ForMaskedLM, T.DebertaV2Config(**SIZE, **PLACES, relative_attention=True, pos_att_type=["p2c", "c2p"])),
    (T.LongformerForMaskedLM, T.LongformerConfig(**SIZE, **PLACES, attention_window=4)),
    (T.BigBirdForMaskedLM, T.BigBirdConfig(**SIZE, **PLACES, attention_type="original_full")),
    (T.ModernBertForMaskedLM, T.ModernBertConfig(**SIZE, pad_token_id=0)),
    (T.FNetForMaskedLM, T.FNetConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2, intermediate_size=64, **PLACES)),
    (T.MobileBertForMaskedLM, T.MobileBertConfig(**SIZE, **PLACES, embedding_size=32)),
    (T.NystromformerForMaskedLM, T.NystromformerConfig(**SIZE, **PLACES)),
]
PAIRS = [
    (T.BartForConditionalGeneration, T.BartConfig(**ENCODER_DECODER)),
    (T.PegasusForConditionalGeneration, T.PegasusConfig(**ENCODER_DECODER)),
    (T.MarianMTModel, T.MarianConfig(**ENCODER_DECODER)),
    (T.MBartForConditionalGeneration, T.MBartConfig(**ENCODER_DECODER)),
    (
        T.MT5ForConditionalGeneration,
        T.MT5Config(vocab_size=99, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0),
    ),
]
VISION = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, image_size=32, patch_size=8, num_labels=3)
IMAGES = [
    (T.Dinov2ForImageClassification, T.Dinov2Config(**VISION)),
    (T.DeiTForImageClassification, T.DeiTConfig(**VISION, intermediate_size=64)),
    (
        T.SwinForImageClassification,
        T.SwinConfig(image_size=32, patch_size=4, embed_dim=16, depths=[1, 1], num_heads=[2, 4], window_size=4, num_labels=3),
    ),
    (
        T.SegformerForImageClassification,
        T.SegformerConfig(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], decoder_hidden_size=16, num_labels=3),
    ),
    (T.ConvNextForImageClassification, T.ConvNextConfig(hidden_sizes=[8, 16], depths=[1, 1], num_stages=2, num_labels=3)),
]


def report(model, **inputs):
    out = model.eval()(**inputs)
    out.loss.backward()
    norm = torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm()
    logits = out.logits
    print(
        f"{type(model).__name__}: loss {out.loss.item():.5f} gradient {norm.item():.4f} logits {logits.std().item():.5f} {tuple(logits.shape)}"
    )


drawn = torch.Generator().manual_seed(1)
ids = torch.randint(3, 90, (2, 12), generator=drawn)
mask = torch.ones_like(ids)
mask[1, 9:] = 0
pixels = torch.randn(2, 3, 32, 32, generator=drawn)
for models, inputs in (
    (CAUSAL, dict(input_ids=ids, attention_mask=mask, labels=ids)),
    (MASKED, dict(input_ids=ids, attention_mask=mask, labels=ids)),
    (PAIRS, dict(input_ids=ids, attention_mask=mask, labels=ids[:, :6].contiguous())),
    (IMAGES, dict(pixel_values=pixels, labels=torch.tensor([0, 2]))),
):
    for kind, config in models:
        torch.manual_seed(0)
        report(kind(config), **inputs)

config = T.Wav2Vec2Config(
    hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3),
    num_feat_extract_layers=2, num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=2, vocab_size=20, apply_spec_augment=False,
)  # fmt: skip
torch.manual_seed(0)
report(T.Wav2Vec2ForCTC(config), input_values=torch.randn(2, 800, generator=drawn), labels=torch.randint(1, 19, (2, 4), generator=drawn))
