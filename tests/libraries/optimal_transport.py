"""Transport plans with gradients, and the array API over tensors."""

# libraries: POT array-api-compat
import array_api_compat
import numpy as np
import ot
import torch
from array_api_compat import array_namespace
from shared.reporting import show

torch.manual_seed(0)
np.random.seed(0)
x = torch.randn(12, 2, dtype=torch.float64, requires_grad=True)
y = torch.randn(10, 2, dtype=torch.float64) + 1
a, b = torch.full((12,), 1 / 12, dtype=torch.float64), torch.full((10,), 1 / 10, dtype=torch.float64)
cost = ot.dist(x, y)
show("cost", cost)
loss = ot.emd2(a, b, cost)
loss.backward()
show("emd2", loss, x.grad)
for name, found in (
    ("sinkhorn", ot.sinkhorn(a, b, cost.detach(), 0.5)),
    ("sinkhorn log", ot.sinkhorn(a, b, cost.detach(), 0.5, method="sinkhorn_log")),
    ("unbalanced", ot.unbalanced.sinkhorn_unbalanced(a, b, cost.detach(), 0.5, 1.0)),
    ("partial", ot.partial.entropic_partial_wasserstein(a, b, cost.detach(), 0.5, 0.6)),
    ("smooth", ot.smooth.smooth_ot_dual(a.numpy(), b.numpy(), cost.detach().numpy(), 1.0)),
    ("barycenter", ot.barycenter(torch.stack([a, a.flip(0)], 1), ot.dist(x, x).detach(), 1.0)),
):
    show(name, torch.as_tensor(found))
x.grad = None
sliced = ot.sliced_wasserstein_distance(x, y, n_projections=20, seed=0)
sliced.backward()
show("sliced", sliced, x.grad)
x.grad = None
value = ot.solve_sample(x, y, reg=0.5, max_iter=50).value
value.backward()
show("solve_sample", value, x.grad)
plan = ot.gromov.entropic_gromov_wasserstein(ot.dist(x, x).detach(), ot.dist(y, y), a, b, "square_loss", epsilon=0.5, max_iter=20)
show("gromov", plan)
mapped = ot.da.SinkhornTransport(reg_e=0.5).fit(Xs=x.detach(), Xt=y).transform(Xs=x.detach())
show("domain", mapped)

t = torch.arange(12.0).reshape(3, 4)
xp = array_namespace(t)
print(
    xp.__name__.rpartition(".")[2] or xp.__name__, array_api_compat.is_torch_array(t), array_api_compat.device(t), array_api_compat.size(t)
)
show("std", xp.std(t, axis=0, correction=1), xp.mean(t, axis=(0, 1)), xp.astype(t, xp.int64), xp.permute_dims(t, (1, 0)))
show("sort", xp.sort(-t, axis=1, descending=True), xp.argsort(t, axis=0, descending=True), xp.prod(t[1:], axis=1, keepdims=True))
values, counts = xp.unique_counts(xp.asarray([3, 1, 3, 2, 1]))
print(values.tolist(), counts.tolist(), xp.unique_inverse(xp.asarray([3, 1, 3])).inverse_indices.tolist(), xp.result_type(t, xp.int32))
show("linalg", xp.linalg.matrix_norm(t), xp.linalg.vector_norm(t, axis=1), xp.linalg.svdvals(t), xp.vecdot(t, t), xp.matrix_transpose(t))
print(xp.isdtype(t.dtype, "real floating"), xp.can_cast(xp.int32, xp.float64), [v.shape for v in xp.meshgrid(t[0], t[:, 0], indexing="ij")])
show(
    "others",
    xp.clip(t, 2, 7),
    xp.roll(t, 1, axis=0),
    xp.cumulative_sum(t, axis=1, include_initial=True),
    xp.take(t, xp.asarray([1, 0]), axis=1),
    xp.fft.fftn(t).abs(),
)
