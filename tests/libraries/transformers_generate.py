"""Generation with transformers: greedy, beams, sampling, with and without a key/value cache, a static cache, an encoder-decoder."""

import torch
import transformers as T

SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, vocab_size=99, num_key_value_heads=2)
torch.manual_seed(0)
gpt = T.GPT2LMHeadModel(T.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=99, n_positions=64, initializer_range=0.4)).eval()
llama = T.LlamaForCausalLM(T.LlamaConfig(**SMALL, initializer_range=0.4)).eval()
for model in (gpt, llama):
    ids = torch.randint(3, 99, (2, 5))
    common = dict(max_new_tokens=12, pad_token_id=0, eos_token_id=None)
    print(model.generate(ids, do_sample=False, **common).tolist())
    print(model.generate(ids, do_sample=False, use_cache=False, **common).tolist())
    print(model.generate(ids, do_sample=False, num_beams=3, num_return_sequences=2, **common).tolist())
    torch.manual_seed(11)
    print(model.generate(ids, do_sample=True, top_k=20, top_p=0.9, temperature=0.7, **common).tolist())
    print(model.generate(ids, do_sample=False, repetition_penalty=1.5, no_repeat_ngram_size=2, **common).tolist())
    out = model.generate(ids, do_sample=False, return_dict_in_generate=True, output_scores=True, **common)
    print(len(out.scores), f"{torch.stack(out.scores).logsumexp(-1).mean().item():.4f}")
print(llama.generate(ids, do_sample=False, cache_implementation="static", **common).tolist())

torch.manual_seed(1)
t5 = T.T5ForConditionalGeneration(
    T.T5Config(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=99, decoder_start_token_id=0)
).eval()
ids = torch.randint(3, 99, (2, 7))
print(t5.generate(ids, max_new_tokens=8, do_sample=False).tolist())
print(t5.generate(ids, max_new_tokens=8, num_beams=2).tolist())
