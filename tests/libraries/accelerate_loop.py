# libraries: accelerate
"""accelerate: prepared model, optimizer and loader; accumulation, clipping, gathering, a saved state."""

import tempfile

import torch
from accelerate import Accelerator, init_empty_weights
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

set_seed(0)
accelerator = Accelerator(gradient_accumulation_steps=2, cpu=True)
x = torch.randn(64, 4)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
schedule = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=10)
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16)
model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
for epoch in range(3):
    for inputs, target in loader:
        with accelerator.accumulate(model):
            loss = torch.nn.functional.mse_loss(model(inputs), target)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    print(epoch, f"{loss.item():.5f} {schedule.get_last_lr()[0]:.5f}")
print(accelerator.device, accelerator.num_processes, accelerator.is_main_process, accelerator.gather(loss.detach()).shape)
with tempfile.TemporaryDirectory() as folder:
    before = model[0].weight.detach().clone()
    accelerator.save_state(folder)
    with torch.no_grad():
        model[0].weight.zero_()
    accelerator.load_state(folder)
    print(torch.equal(before, model[0].weight), accelerator.unwrap_model(model) is model)
with init_empty_weights():
    print(torch.nn.Linear(3, 3).weight.device)
