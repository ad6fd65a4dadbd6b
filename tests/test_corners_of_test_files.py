"""What test files of PyTorch 1.13 found: refusals, warnings and texts that programs match, and results at the edges."""

from __future__ import annotations

import warnings

import pytest

import rushlight as torch
import rushlight.compat
import rushlight.nn.functional as F
from rushlight.autograd import forward_ad, functional

NAN = float("nan")


@pytest.mark.parametrize("name", ["index_add_", "index_copy_", "put_", "scatter_"])
def test_writes_at_places_that_lie_in_the_target_itself_are_refused(name):
    places, expanded = torch.tensor([2, 1, 0]), torch.rand(1).expand(6)
    given = (places,) if name == "put_" else (0, places)
    with pytest.raises(RuntimeError, match="unsupported operation"):
        getattr(expanded, name)(*given, torch.rand(3))
    target = torch.rand(6)
    with pytest.raises(RuntimeError, match="unsupported operation"):
        getattr(target, name)(*given, target[:3])
    with pytest.raises(RuntimeError, match="unsupported operation"):
        getattr(places, name)(*given, places.clone())
    before = target.clone()
    getattr(target, name)(*given, torch.zeros(3))
    assert not torch.equal(target, before) or name == "index_add_"


def test_index_put_and_index_fill_into_themselves():
    y, places = torch.rand(6), torch.tensor([2, 1, 0])
    for indices, values in (((places,), y[0]), ((places,), y[:3])):
        with pytest.raises(RuntimeError, match="unsupported operation"):
            y.index_put_(indices, values)
    with pytest.raises(RuntimeError, match="unsupported operation"):
        places.index_put_((places,), places.clone())
    with pytest.raises(RuntimeError, match="unsupported operation"):
        places.index_fill_(0, places, 0)
    with pytest.warns(UserWarning, match="index_fill_ on expanded tensors"):
        torch.rand(1).expand(6).index_fill_(0, torch.tensor([1]), 1.0)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: torch.ones(3).index_fill_(0, torch.tensor([0]), 1j), RuntimeError, "complex Scalar to non-complex"),
        (
            lambda: torch.take_along_dim(torch.ones(3), torch.tensor([True]), 0),
            RuntimeError,
            "dtype of indices should be Long but got Bool",
        ),
        (lambda: torch.empty(4, 0)[:, [1, 2]], IndexError, "index is out of bounds for dimension with size 0"),
        (lambda: torch.ones(3).flip(), TypeError, 'flip\\(\\) missing 1 required positional arguments: "dims"'),
        (
            lambda: torch.nonzero(torch.ones(2), as_tuple=True, out=torch.empty(0, dtype=torch.long)),
            RuntimeError,
            "out kwarg when as_tuple",
        ),
        (lambda: torch.tensor_split(torch.ones(4), torch.tensor([1.0])), RuntimeError, "dtype of long, but got Float"),
        (lambda: torch.ones(4, dtype=torch.int16)[1:3].view(torch.int32), RuntimeError, r"self.storage_offset\(\) must be divisible by 2"),
        (lambda: torch.dot(torch.ones(2), torch.ones(2).double()), RuntimeError, "dot : expected both vectors to have same dtype"),
        (lambda: torch.addr(torch.ones(2, 2), torch.ones(2), torch.ones(2), beta=2j), RuntimeError, "cannot be converted to type float"),
        (lambda: torch.addr(torch.ones(2, 2), torch.ones(2), torch.ones(2), beta=True), RuntimeError, "Boolean beta only supported"),
        (lambda: torch.use_deterministic_algorithms(1), TypeError, "_set_deterministic_algorithms"),
        (lambda: functional.vjp(lambda a: a, [1]), TypeError, "The inputs given to vjp must be either a Tensor or a tuple of Tensors"),
        (
            lambda: functional.jacobian(lambda a: torch.rand(2), torch.ones(2), strict=True),
            RuntimeError,
            "Output 0 of the user-provided function",
        ),
        (lambda: functional.hessian(lambda a: a.sum(), torch.ones(2), strict=True), RuntimeError, "the jacobian of the user-provided"),
        (lambda: functional.hvp(lambda a: a.sum(), torch.ones(2), torch.ones(3)), RuntimeError, "v has invalid size: should be"),
        (lambda: functional.vhp(lambda a: (a, a), torch.ones(2)), RuntimeError, "The vector v can only be None"),
    ],
)
def test_refusals(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_deleting_requires_grad():
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="requires_grad must be a bool"):
        del x.requires_grad


def test_products_with_hessians_are_unchanged():
    x, v = torch.tensor([1.0, 2.0]), torch.tensor([1.0, -1.0])
    wanted = torch.tensor([6.0, -12.0])
    assert torch.equal(functional.hvp(lambda a: (a**3).sum(), x, v)[1], wanted)
    assert torch.equal(functional.vhp(lambda a: (a**3).sum(), x, v, strict=True)[1], wanted)
    assert torch.equal(functional.hessian(lambda a: (a**3).sum(), x, strict=True), torch.diag(6 * x))


def test_backward_with_create_graph_warns():
    x = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="Using backward\\(\\) with create_graph=True"):
        (x * x).sum().backward(create_graph=True)


def test_levels_of_forward_mode():
    assert forward_ad._current_level == -1
    with forward_ad.dual_level():
        assert forward_ad._current_level == 0


def test_an_out_with_elements_that_changes_its_size_warns():
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        torch.add(torch.ones(3), 1, out=torch.empty(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.add(torch.ones(3), 1, out=torch.empty(0)).shape == (3,)


def test_unique_slices_with_nan_keep_their_order():
    found, inverse, counts = torch.unique(torch.tensor([NAN, 1.0, 1.0, 2.0, NAN]), dim=0, return_inverse=True, return_counts=True)
    assert str(found.tolist()) == "[nan, 1.0, 2.0, nan]"
    assert inverse.tolist() == [0, 1, 1, 2, 3] and counts.tolist() == [1, 2, 1, 1]


def test_strides_of_sorted_and_of_empty_parts():
    x = torch.rand(2, 3, 4, 5)
    assert x[:, :, :, 1:1].stride() == (60, 20, 5, 1) and torch.empty(2, 0, 3).stride() == (3, 3, 1)
    values, places = torch.sort(torch.rand(3, 4).t())
    assert values.stride() == places.stride() == (1, 4)


def test_empty_systems_and_masked_reductions():
    assert torch.linalg.tensorsolve(torch.randn(0, 0, 1, 2, 3, 0), torch.randn(0, 0, 1)).shape == (2, 3, 0)
    assert torch.allclose(torch.masked.logsumexp(torch.ones(2, 2)), torch.tensor(2.3863), atol=1e-4)
    spread = torch.masked.std(torch.tensor([1j, 3j, 5j]), 0, unbiased=True)
    assert spread.is_complex() and torch.allclose(spread, torch.tensor(2 + 0j))


def test_a_dense_tensor_times_a_sparse_one_in_place():
    x = torch.full((2, 2), 3.0)
    assert torch.equal(x.mul_(torch.eye(2).to_sparse()), 3 * torch.eye(2)) and x[0, 0] == 3


def test_lbfgs_without_any_gradient():
    p = torch.nn.Parameter(torch.ones(3))
    assert torch.optim.LBFGS([p], 0.01, tolerance_grad=-float("inf")).step(lambda: torch.tensor([10])) == 10


def test_names_that_test_files_read(alias):
    assert torch.Storage(2).dtype is torch.float32 and not torch.profiler.itt.is_available()
    assert torch.Tensor.__rdiv__(torch.tensor(2.0), 4) == 2 and torch.tensor(3).__long__() == 3
    assert torch._debug_has_internal_overlap(torch.rand(1).expand(3)) == 1
    assert [each.item() for each in torch._aminmax(torch.arange(3))] == [0, 2]
    with warnings.catch_warnings():
        torch.jit.TracerWarning.ignore_lib_warnings()


def test_tables_of_hooks_for_all_modules_may_be_assigned():
    seen = []
    torch.nn.modules.module.register_module_forward_hook(lambda module, args, output: seen.append(module))
    torch.nn.ReLU()(torch.ones(1))
    torch.nn.modules.module._global_forward_hooks = {}
    torch.nn.ReLU()(torch.ones(1))
    assert len(seen) == 1


def test_losses_and_recurrences_of_nothing():
    assert torch.nn.functional.cross_entropy(torch.empty(3, 0), torch.empty(3, 0)).isnan()
    with pytest.raises(RuntimeError, match="Expected sequence length to be larger than 0 in RNN"):
        torch.nn.GRU(3, 4)(torch.ones(0, 5, 3))
    with pytest.raises(RuntimeError, match="0D or 1D target tensor expected"):
        torch.nn.functional.cosine_embedding_loss(torch.ones(5, 3), torch.ones(5, 3), torch.ones(5, 1))
    with pytest.raises(RuntimeError, match="1D target tensor expects 2D input tensors"):
        torch.nn.functional.cosine_embedding_loss(torch.ones(3), torch.ones(3), torch.ones(5))


def test_texts_of_freed_graphs_and_views_of_functions():
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return g

    x = torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="or directly access saved tensors after they have already been freed"):
        y.backward()
    with pytest.raises(RuntimeError, match="Output 0 of SameBackward is a view and is being modified inplace"):
        Same.apply(x * 1).add_(1)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.sum(0, 1),
        lambda x: x.argmax(0, 1),
        lambda x: x.logsumexp(0, 0),
        lambda x: torch.sort(x, 1, 1),
        lambda x: torch.isin(x, x, invert=1),
        lambda x: F.dropout(x, 0.5, "yes"),
        lambda x: F.avg_pool1d(x, 2, 1, 0, 1.0),
    ],
)
def test_a_number_is_not_taken_for_true(call):
    with pytest.raises(TypeError, match="must be bool, not"):
        call(torch.zeros(2, 3))


def test_switches_that_are_conditions_take_any_value():
    indices = F.max_pool1d(torch.arange(6.0).reshape(1, 6), 2, return_indices=1)[1]
    assert indices.tolist() == [[1, 3, 5]]


def test_squeeze_takes_dimensions_one_by_one():
    x = torch.zeros(2, 1, 1, 3)
    assert x.squeeze(1, 2).shape == (2, 3) and x.squeeze(1).shape == (2, 1, 3) and x.squeeze(dim=(1, 2)).shape == (2, 3)
    assert torch.compile(lambda x: x.squeeze(1, 2) * 2)(x).shape == (2, 3)
    assert x.squeeze_(1, 2).shape == (2, 3) and x.shape == (2, 3)


def test_copy_of_a_number():
    w = torch.ones(2, requires_grad=True)
    y = w * 2
    y.copy_(4)
    y.sum().backward()
    assert y.tolist() == [4, 4] and w.grad.tolist() == [0, 0]
    assert torch.zeros(2, dtype=torch.uint8).copy_(-1).tolist() == [255, 255]
    assert torch.zeros(2, dtype=torch.int32).copy_(2.7).tolist() == [2, 2]
    assert torch.compile(lambda x: x.clone().copy_(3) * 2)(torch.ones(2)).tolist() == [6, 6]
    with pytest.raises(TypeError, match="must be Tensor, not list"):
        w.detach().copy_([1, 2])


def test_memory_that_resize_adds_is_filled_where_algorithms_are_deterministic():
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.ones(2).resize_(4).isnan().tolist() == [False, False, True, True]
        assert torch.ones(1, dtype=torch.int16).resize_(2).tolist() == [1, 2**15 - 1]
    finally:
        torch.use_deterministic_algorithms(False)
    assert torch.ones(2).resize_(4).tolist() == [1, 1, 0, 0]
