# libraries: diffusers
"""diffusers: a small UNet with a scheduler: training steps, and a sampled image."""

import torch
from diffusers import AutoencoderKL, DDIMScheduler, DDPMScheduler, UNet2DModel

torch.manual_seed(0)
unet = UNet2DModel(sample_size=16, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(16, 32), norm_num_groups=8,
                   down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"))  # fmt: skip
scheduler = DDPMScheduler(num_train_timesteps=100)
optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-3)
images = torch.randn(2, 3, 16, 16)
for step in range(2):
    noise, times = torch.randn_like(images), torch.randint(0, 100, (2,))
    loss = torch.nn.functional.mse_loss(unet(scheduler.add_noise(images, noise, times), times).sample, noise)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, f"{loss.item():.4f}")
sampler = DDIMScheduler(num_train_timesteps=100)
sampler.set_timesteps(4)
sample = torch.randn(1, 3, 16, 16)
unet.eval()
with torch.no_grad():
    for time in sampler.timesteps:
        sample = sampler.step(unet(sample, time).sample, time, sample).prev_sample
print(tuple(sample.shape), f"{sample.mean().item():.4f} {sample.std().item():.4f}")
torch.manual_seed(1)
vae = AutoencoderKL(block_out_channels=(16,), norm_num_groups=8, latent_channels=4, sample_size=16).eval()
with torch.no_grad():
    latent = vae.encode(images).latent_dist.mode()
    print(tuple(latent.shape), f"{latent.sum().item():.4f} {vae.decode(latent).sample.mean().item():.5f}")
