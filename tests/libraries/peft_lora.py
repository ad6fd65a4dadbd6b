# libraries: peft transformers
"""peft: LoRA on a small GPT-2 and on plain modules; training, merging, saving and loading."""

import tempfile

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
base = GPT2LMHeadModel(
    GPT2Config(vocab_size=60, n_positions=16, n_embd=32, n_layer=2, n_head=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
)
state = {name: value.clone() for name, value in base.state_dict().items()}
config = LoraConfig(r=4, lora_alpha=8, target_modules=["c_attn"], lora_dropout=0.0, task_type="CAUSAL_LM", fan_in_fan_out=True)
model = get_peft_model(base, config)
model.print_trainable_parameters()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.01)
ids = torch.randint(0, 60, (2, 12))
for step in range(4):
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, f"{loss.item():.4f}")
model.eval()
logits = model(input_ids=ids).logits
with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    fresh = GPT2LMHeadModel(base.config)
    fresh.load_state_dict(state)
    loaded = PeftModel.from_pretrained(fresh, folder).eval()
    print(torch.allclose(loaded(input_ids=ids).logits, logits, atol=1e-5))
merged = model.merge_and_unload()
print(torch.allclose(merged(input_ids=ids).logits, logits, atol=1e-4), f"{logits.sum().item():.3f}")
