"""A protein language model, and learned image compression."""

# libraries: fair-esm compressai
import esm
import torch
from compressai.entropy_models import EntropyBottleneck, GaussianConditional
from compressai.layers import GDN, MaskedConv2d
from compressai.losses import RateDistortionLoss
from compressai.models import FactorizedPrior, JointAutoregressiveHierarchicalPriors, ScaleHyperprior
from shared.reporting import show

torch.manual_seed(0)
model = esm.ESM2(num_layers=2, embed_dim=32, attention_heads=4, alphabet="ESM-1b").eval()
alphabet = esm.data.Alphabet.from_architecture("ESM-1b")
convert = alphabet.get_batch_converter()
labels, texts, tokens = convert([("one", "MKTVRQERLKSIVRILERSKEPVSGAQ"), ("two", "KALTARQQEVFDLIRD<mask>ISQTGM")])
print(labels, tuple(tokens.shape), tokens.sum().item())
out = model(tokens, repr_layers=[0, 2], return_contacts=True)
show("esm2", out["logits"], out["representations"][2], out["contacts"])
loss = torch.nn.functional.cross_entropy(out["logits"].flatten(0, 1), tokens.flatten())
loss.backward()
show("loss", loss, model.embed_tokens.weight.grad)

torch.manual_seed(0)
images = torch.rand(1, 3, 64, 64)
criterion = RateDistortionLoss(lmbda=0.01)
for kind in (FactorizedPrior, ScaleHyperprior, JointAutoregressiveHierarchicalPriors):
    net = kind(8, 12)
    optimizer = torch.optim.Adam([p for n, p in net.named_parameters() if not n.endswith("quantiles")], 1e-3)
    for _ in range(2):
        optimizer.zero_grad()
        found = criterion(net(images), images)
        found["loss"].backward()
        optimizer.step()
    auxiliary = net.aux_loss()
    auxiliary.backward()
    show(kind.__name__, found["loss"], found["bpp_loss"], auxiliary)
    net.eval()
    print(net.update(force=True))
    again = kind.from_state_dict(net.state_dict()).eval()
    show("loaded", again(images)["x_hat"])
bottleneck = EntropyBottleneck(4)
values, likelihoods = bottleneck(torch.randn(2, 4, 5, 5))
show("bottleneck", values, likelihoods)
gaussian = GaussianConditional([0.1, 1.0, 4.0])
values, likelihoods = gaussian(torch.randn(2, 4, 5, 5), torch.rand(2, 4, 5, 5) + 0.2)
show("gaussian", values, likelihoods, gaussian.build_indexes(torch.rand(2, 4)))
show(
    "layers",
    GDN(4)(torch.randn(1, 4, 6, 6)),
    GDN(4, inverse=True)(torch.randn(1, 4, 6, 6)),
    MaskedConv2d(3, 4, 5, padding=2)(torch.randn(1, 3, 6, 6)),
)
