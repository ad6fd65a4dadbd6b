"""torchaudio's Python half: spectrograms, filters, features, masking, resampling, models."""

# libraries: torchaudio
import math

import torch
import torchaudio
import torchaudio.functional as F
import torchaudio.transforms as T
from torchaudio.models import Conformer, ConvTasNet


def show(name, value):
    value = value.detach()
    value = torch.view_as_real(value) if value.is_complex() else value.float()
    print(f"{name}: {tuple(value.shape)} {value.abs().mean():.4f} {value.abs().max():.4f}")


torch.manual_seed(0)
time = torch.arange(4000) / 8000
wave = torch.stack([torch.sin(2 * math.pi * 440 * time), 0.3 * torch.sin(2 * math.pi * 1000 * time)])
show("spectrogram", T.Spectrogram(n_fft=256)(wave))
show("mel", T.MelSpectrogram(8000, n_fft=256, n_mels=20)(wave))
show("mfcc", T.MFCC(8000, n_mfcc=8, melkwargs={"n_fft": 256, "n_mels": 20})(wave))
show("lfcc", T.LFCC(8000, n_lfcc=8, speckwargs={"n_fft": 256})(wave))
show("decibels", T.AmplitudeToDB()(T.Spectrogram(n_fft=256)(wave)))
show("griffin-lim", T.GriffinLim(n_fft=256, n_iter=4, rand_init=False)(T.Spectrogram(n_fft=256)(wave)))
show("resampled", T.Resample(8000, 6000)(wave))
show("low pass", F.lowpass_biquad(wave, 8000, 700.0))
show("filtfilt", F.filtfilt(wave, torch.tensor([1.0, -0.5]), torch.tensor([1.0, 0.3])))
show("overdrive", F.overdrive(wave[:, :500]))
show("contrast", F.contrast(wave, 60))
show("deltas", F.compute_deltas(T.MelSpectrogram(8000, n_fft=256, n_mels=20)(wave)))
show("mu law", T.MuLawDecoding()(T.MuLawEncoding()(wave)))
show(
    "stretch",
    F.phase_vocoder(
        torch.stft(wave, 256, return_complex=True, window=torch.hann_window(256)), 1.3, torch.linspace(0, math.pi * 64, 129)[:, None]
    ),
)
show("fbank", torchaudio.compliance.kaldi.fbank(wave[:1] * 100, sample_frequency=8000, num_mel_bins=12, dither=0.0))
show("masked", T.FrequencyMasking(10)(T.MelSpectrogram(8000, n_fft=256, n_mels=20)(wave)[None]))
show("convolved", F.fftconvolve(wave, torch.randn(2, 100)))
show("noise", F.add_noise(wave, torch.randn_like(wave), torch.tensor([10.0, 5.0])))

tasnet = ConvTasNet(
    num_sources=2,
    enc_kernel_size=8,
    enc_num_feats=16,
    msk_kernel_size=3,
    msk_num_feats=8,
    msk_num_hidden_feats=16,
    msk_num_layers=2,
    msk_num_stacks=1,
)
out = tasnet(wave[:, None, :800])
out.square().mean().backward()
show("tasnet", out)
show("tasnet gradient", tasnet.encoder.weight.grad)
conformer = Conformer(16, 4, 32, 2, 7).eval()
show("conformer", conformer(torch.randn(2, 9, 16), torch.tensor([9, 6]))[0])
print("edit distance", F.edit_distance("kitten", "sitting"))
