"""Corners of tensors, operators and modules that PyTorch's own tests look into."""

from __future__ import annotations

import gc
import sys
import warnings

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn

# -- layouts -----------------------------------------------------------------------------------------------------

LAST = torch.channels_last
KEPT = {
    "conv2d": lambda x: F.conv2d(x, torch.ones(3, 4, 3, 3)),
    "conv2d_1x1": lambda x: F.conv2d(x, torch.ones(3, 4, 1, 1)),
    "conv_transpose2d": lambda x: F.conv_transpose2d(x, torch.ones(4, 3, 3, 3)),
    "weight": lambda x: F.conv2d(x.contiguous(), torch.ones(4, 4, 3, 3).contiguous(memory_format=LAST)),
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "indices": lambda x: F.max_pool2d(x, 2, return_indices=True)[1],
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 2),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 2),
    "max_unpool2d": lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
    "nearest": lambda x: F.interpolate(x, scale_factor=2.0),
    "bilinear": lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"),
    "bicubic": lambda x: F.interpolate(x, scale_factor=2.0, mode="bicubic"),
    "pad": lambda x: F.pad(x, (1, 1)),
    "reflect": lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x, 2),
    "channel_shuffle": lambda x: F.channel_shuffle(x, 2),
    "group_norm": lambda x: F.group_norm(x, 2),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "flip": lambda x: x.flip(1),
    "relu": torch.relu,
}
LOST = {
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(2),
    "circular": lambda x: F.pad(x, (1, 1, 1, 1), mode="circular"),
    "masked_fill": lambda x: x.masked_fill(x > 0, 0.0),
    "tril": torch.tril,
    "logsigmoid": F.logsigmoid,
}


@pytest.mark.parametrize("name", KEPT)
def test_channels_last_is_kept(name):
    x = torch.randn(2, 4, 6, 6)
    found = KEPT[name](x.contiguous(memory_format=LAST))
    assert found.is_contiguous(memory_format=LAST) and not found.is_contiguous()
    if name != "weight":
        plain = KEPT[name](x)
        assert plain.is_contiguous() and torch.allclose(plain, found, atol=1e-5)
    if name in ("max_pool2d", "pad", "nearest"):
        assert KEPT[name](x.to("meta").contiguous(memory_format=LAST)).stride() == found.stride()


@pytest.mark.parametrize("name", LOST)
def test_results_that_are_contiguous(name):
    x = torch.randn(2, 4, 6, 6)
    found = LOST[name](x.contiguous(memory_format=LAST))
    assert found.is_contiguous() and torch.allclose(found, LOST[name](x))


def test_channels_last_in_three_dimensions():
    x = torch.randn(2, 4, 4, 4, 4).contiguous(memory_format=torch.channels_last_3d)
    for f in (lambda: F.conv3d(x, torch.ones(3, 4, 2, 2, 2)), lambda: F.max_pool3d(x, 2), lambda: F.interpolate(x, scale_factor=2.0)):
        assert f().is_contiguous(memory_format=torch.channels_last_3d)
    assert F.avg_pool3d(x, 2).is_contiguous()


def test_a_compiled_convolution_of_channels_last():
    x = torch.randn(2, 4, 6, 6).contiguous(memory_format=LAST)
    layers = nn.Sequential(nn.Conv2d(4, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.GroupNorm(1, 3))
    assert torch.allclose(torch.compile(layers)(x), layers(x), atol=1e-5)


def test_ravel_is_contiguous_and_resize_as_keeps_strides():
    assert torch.zeros(6)[::2].ravel().stride() == (1,)
    x = torch.empty(2, 3).t()
    assert x.resize_as_(x).stride() == (1, 3)
    assert torch.empty(5, 0).view(torch.uint8).shape == (5, 0)


# -- batches of nothing ------------------------------------------------------------------------------------------

EMPTY = {
    "group_norm": (lambda: nn.GroupNorm(2, 4)(torch.ones(0, 4, 2, 2)), (0, 4, 2, 2)),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2)(torch.rand(0, 3, 8)), (0, 3, 8)),
    "attention": (lambda: nn.MultiheadAttention(8, 2)(*[torch.rand(0, 2, 8)] * 3)[0], (0, 2, 8)),
    "lstm": (lambda: nn.LSTM(2, 2)(torch.rand(3, 0, 2))[0], (3, 0, 2)),
    "gru": (lambda: nn.GRU(2, 2)(torch.rand(3, 0, 2))[0], (3, 0, 2)),
    "fractional": (lambda: nn.FractionalMaxPool2d(3, output_size=2)(torch.ones(0, 16, 50, 32)), (0, 16, 2, 2)),
}


@pytest.mark.parametrize("name", EMPTY)
def test_empty_batches(name):
    call, shape = EMPTY[name]
    assert call().shape == shape


def test_an_empty_batch_has_no_statistics():
    norm = nn.BatchNorm2d(3)
    norm(torch.ones(0, 3, 2, 2))
    assert norm.running_var.tolist() == [1.0] * 3 and norm.running_mean.tolist() == [0.0] * 3


def test_the_gradient_of_an_empty_product():
    a, b = torch.ones(2, 0, 3, requires_grad=True), torch.ones(3, 0, requires_grad=True)
    (a @ b).sum().backward()
    assert b.grad.shape == (3, 0)


# -- overlapping memory ------------------------------------------------------------------------------------------


def test_writes_to_memory_that_elements_share():
    x = torch.arange(6).view(2, 3)
    x[1] = x[1][0]
    assert x.tolist() == [[0, 1, 2], [3, 3, 3]]
    x[:] = x[1]
    assert x.tolist() == [[3, 3, 3]] * 2
    y = torch.rand(1).expand(6)
    y.fill_(2)
    y.masked_fill_(torch.ones(6, dtype=torch.bool), 3.0)
    y.index_fill_(0, torch.tensor([0]), 4.0)
    assert y.tolist() == [4.0] * 6
    assert torch.empty_strided((4, 3, 2), (10, 0, 3)).fill_(1.0).sum() == 24
    for write in (
        lambda: y.index_add_(0, torch.tensor([0, 1]), torch.ones(2)),
        lambda: y.add_(1),
        lambda: torch.addcmul(y, y, y, out=y),
        lambda: x[1].copy_(x[1][0]),
        lambda: torch.add(x.view(-1)[1:], 1, out=x.view(-1)[:-1]),
    ):
        with pytest.raises(RuntimeError, match="unsupported operation"):
            write()


# -- old ways to call --------------------------------------------------------------------------------------------


def test_numbers_between_the_tensors():
    one, two = torch.ones(2), torch.full((2,), 2.0)
    with pytest.warns(UserWarning, match="deprecated"):
        assert torch.add(one, 3, two).tolist() == [7.0, 7.0]
    with pytest.warns(UserWarning, match="deprecated"):
        assert torch.addcmul(one, 2, one, two).tolist() == [5.0, 5.0]
    with pytest.warns(UserWarning, match="deprecated"):
        assert one.clone().addcmul_(2, one, two).tolist() == [5.0, 5.0]
    with pytest.warns(UserWarning, match="deprecated"):
        assert torch.addmm(2, torch.ones(2, 2), 3, torch.eye(2), torch.eye(2)).tolist() == [[5.0, 2.0], [2.0, 5.0]]
    with pytest.raises(TypeError, match="positional"):
        torch.add(one, two, one)


def test_the_old_order_of_embedding_bag():
    weight, index = torch.eye(3), torch.tensor([[0, 1], [2, 2]])
    with pytest.warns(UserWarning, match="order"):
        assert torch.equal(F.embedding_bag(weight, index), F.embedding_bag(index, weight))


# -- checks of arguments -----------------------------------------------------------------------------------------

REFUSED = {
    "nonzero": (RuntimeError, lambda: torch.nonzero(torch.tensor([1.0, 0]), out=torch.empty(1, 1))),
    "hstack": (TypeError, lambda: torch.hstack(torch.ones(3))),
    "resize": (RuntimeError, lambda: torch.ones(2).resize_(2**62, 2**10)),
    "device": (RuntimeError, lambda: torch.device(-1)),
    "size": (TypeError, lambda: torch.Size([1.0])),
    "size of tensors": (TypeError, lambda: torch.Size(torch.ones(3))),
    "deterministic": (TypeError, lambda: torch.use_deterministic_algorithms("true")),
    "base class": (TypeError, lambda: type("Float", (torch.FloatTensor,), {})),
    "embedding": (RuntimeError, lambda: F.embedding(torch.tensor([0]), torch.tensor(1.0))),
    "embedding_bag": (RuntimeError, lambda: F.embedding_bag(torch.tensor([[5]]), torch.ones(2, 2))),
    "bce": (RuntimeError, lambda: F.binary_cross_entropy(torch.tensor([1.5]), torch.tensor([1.0]))),
    "gaussian": (ValueError, lambda: F.gaussian_nll_loss(torch.ones(2), torch.ones(2), torch.tensor([1.0, -1.0]))),
    "to": (RuntimeError, lambda: nn.Linear(1, 1).to("cpu", copy=True)),
    "ctc": (TypeError, lambda: F.ctc_loss(torch.randn(5, 3).log_softmax(1), torch.tensor([1]), 5, 1)),
    "ctc lengths": (RuntimeError, lambda: F.ctc_loss(torch.randn(5, 1, 3).log_softmax(2), torch.tensor([1, 2]), [5], [1])),
    "group_norm": (ValueError, lambda: F.group_norm(torch.rand(1, 10), 10)),
    "sum": (RuntimeError, lambda: torch.sum(torch.ones(2), 0, out=torch.empty(()), dtype=torch.float64)),
    "data": (RuntimeError, lambda: delattr(torch.ones(1), "data")),
    "float": (RuntimeError, lambda: float(torch.tensor(1.5j))),
}


@pytest.mark.parametrize("name", REFUSED)
def test_arguments_that_are_refused(name):
    error, call = REFUSED[name]
    with pytest.raises(error):
        call()


# -- values ------------------------------------------------------------------------------------------------------


def test_small_things_about_tensors():
    assert list(reversed(torch.arange(3)))[0] == 2 and torch.arange(3).__reversed__().tolist() == [2, 1, 0]
    z = torch.ones(2, dtype=torch.complex64)
    z.real = 0
    assert z.tolist() == [0j, 0j]
    assert sys.getsizeof(torch.empty(100).storage()) > sys.getsizeof(torch.empty(10).storage())
    assert torch.zeros(2, dtype=torch.uint8).fill_(-100).tolist() == [156, 156]
    assert torch.bernoulli(torch.ones(4), out=torch.empty(4, dtype=torch.int64)).tolist() == [1] * 4
    assert torch.isclose(torch.ones(2), torch.ones(2), torch.tensor(1), torch.tensor(1)).all()
    assert F.logsigmoid(torch.ones(2), out=torch.empty(2)).shape == (2,)
    assert torch.asarray(torch.utils.dlpack.to_dlpack(torch.ones(2))).tolist() == [1.0, 1.0]
    assert torch.tensor([5], dtype=torch.uint8).sum_to_size(()).dtype == torch.int64


def test_lists_of_arrays_are_slow():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        torch.tensor([np.array([0]), np.array([1])])
    assert len(seen) == 1


def test_storages():
    storage = torch.ones(3).storage()
    assert storage.double().dtype is torch.float64 and storage.long().tolist() == [1, 1, 1]
    assert torch.ByteStorage.from_buffer(b"\x01\x02").tolist() == [1, 2]
    assert torch.TypedStorage(3, dtype=torch.float, device="cpu").size() == 3


def test_parameters():
    parameter = nn.Parameter(torch.ones(2))
    with torch.no_grad():
        parameter.set_(torch.zeros(3))
    assert parameter.shape == (3,) and parameter.requires_grad
    with pytest.raises(RuntimeError, match="leaf"):
        parameter.set_(torch.zeros(2))
    layer = nn.Linear(2, 2)
    before = layer.weight._version
    with torch.no_grad():
        layer._apply(lambda t: t.add_(1))
    assert layer.weight._version == before + 1
    lazy = nn.parameter.UninitializedParameter()
    lazy.materialize(10)
    assert lazy.shape == (10,)


def test_loading_leaves_no_cycles():
    layers = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    state = layers.state_dict()
    gc.collect()
    layers.load_state_dict(state)
    assert gc.collect() == 0


def test_changed_indices_of_max_pooling():
    x = torch.randn(1, 1, 4, 4, requires_grad=True)
    found, indices = F.max_pool2d(x, 2, return_indices=True)
    indices.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        found.sum().backward()


def test_losses_of_one_sample():
    assert F.multi_margin_loss(torch.randn(5), torch.tensor(2), reduction="none").shape == ()
    assert F.multilabel_margin_loss(torch.randn(()), torch.tensor(0), reduction="none").shape == ()
    assert nn.PReLU()(torch.tensor(1.0)).shape == ()
    assert F.hinge_embedding_loss(torch.tensor(-4.0), torch.tensor(-7.5)) == 1  # a target that is neither 1 nor -1 counts for both


def test_powers_of_integers_with_negative_exponents():
    found = torch.tensor([1, -1, -1, 2, 0]) ** torch.tensor([-3, -3, -2, -1, -1])
    assert found.tolist() == [1, -1, 1, 0, 0]


def test_other_operators():
    assert torch.linalg.vander(torch.tensor(2.0), N=2).tolist() == [[1.0, 2.0]]
    assert torch.gradient(torch.tensor([1.0, 2.0, 4.0]), spacing=None)[0].tolist() == [1.0, 1.5, 2.0]
    assert torch.gather(torch.tensor([[1, 2]]), 1, torch.tensor([[1]], dtype=torch.uint8)).tolist() == [[2]]
    half = torch.full((4,), 300.0, dtype=torch.float16)
    assert F.rms_norm(half, (4,)).tolist() == [1.0] * 4  # whose square is no float16


def test_gradients_by_the_whole_factor():
    factor = torch.tensor([[2.0, 0.0], [1.0, 3.0]], dtype=torch.float64, requires_grad=True)
    torch.cholesky_inverse(factor).sum().backward()
    step = torch.zeros(2, 2, dtype=torch.float64)
    step[0, 1] = 1e-6

    def inverse(whole):
        return torch.linalg.inv(whole @ whole.T).sum()

    expected = (inverse(factor.detach() + step) - inverse(factor.detach() - step)) / 2e-6
    assert torch.allclose(factor.grad[0, 1], expected)


def test_a_long_permutation():
    torch.manual_seed(0)
    found = torch.randperm(200_000)
    assert torch.equal(found.sort().values, torch.arange(200_000))
    assert found[:5].tolist() == [136044, 60971, 145651, 148153, 100743]  # PyTorch's


# -- names -------------------------------------------------------------------------------------------------------


def test_losses_with_numbers_for_reductions():
    x, y = torch.tensor([0.5, -1.0]), torch.tensor([1.0, 0.0])
    assert torch.equal(
        torch.binary_cross_entropy_with_logits(x, y, None, None, 2), F.binary_cross_entropy_with_logits(x, y, reduction="sum")
    )
    assert torch.equal(torch.kl_div(x, y, 0), F.kl_div(x, y, reduction="none"))
    assert torch.equal(torch.hinge_embedding_loss(x, y), F.hinge_embedding_loss(x, y, reduction="none"))
    with pytest.raises(RuntimeError, match="reduction"):
        torch.kl_div(x, y, 3)


def test_the_rows_of_maxima_in_bags():
    weight = torch.tensor([[1.0, 5.0], [3.0, 2.0], [2.0, 9.0], [0.0, 0.0]])
    indices = torch.tensor([0, 1, 2, 3, 1, 0])
    _, _, _, rows = torch.embedding_bag(weight, indices, torch.tensor([0, 3, 3, 5]), False, 2)
    assert rows.tolist() == [[1, 2], [0, 0], [1, 1], [0, 0]]
    _, _, _, rows = torch.embedding_bag(weight, indices, torch.tensor([0, 3, 3, 5]), False, 2, padding_idx=1)
    assert rows.tolist() == [[2, 2], [0, 0], [3, 3], [0, 0]]
    _, _, sizes, rows = torch.embedding_bag(weight, indices, torch.tensor([0, 3, 5]), False, 2, include_last_offset=True)
    assert rows.tolist() == [[1, 2], [1, 1]] and sizes.tolist()[:2] == [3, 2]


def test_embedding_bag_with_its_bags():
    result, bags, sizes, _ = torch.embedding_bag(torch.eye(3), torch.tensor([0, 1, 2]), torch.tensor([0, 2]))
    assert result.tolist() == [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]] and bags.tolist() == [0, 0, 1] and sizes.tolist() == [2, 1]


def test_hashes_are_exclusive_ors():
    assert torch.hash_tensor(torch.tensor([1, 2, 7])).item() == 1 ^ 2 ^ 7
    assert torch.hash_tensor(torch.tensor([[1, 2], [3, 4]]), 0).tolist() == [1 ^ 3, 2 ^ 4]


def test_files_as_tensors(tmp_path):
    path = str(tmp_path / "values")
    torch.from_file(path, True, 3, dtype=torch.float64).fill_(2)
    assert torch.from_file(path, False, 3, dtype=torch.float64).tolist() == [2.0] * 3


def test_diagonals_and_memory():
    x = torch.zeros(3, 3)
    assert x.fill_diagonal_(2.0).sum() == 6 and x.is_set_to(x) and not x.is_set_to(x.clone()) and not x.is_set_to(x.t())
    tall = torch.zeros(7, 3).fill_diagonal_(1, wrap=True)
    assert tall.nonzero().tolist() == [[0, 0], [1, 1], [2, 2], [4, 0], [5, 1], [6, 2]]
    assert torch.zeros(2, 2, 2).fill_diagonal_(1).sum() == 2
    assert torch.zeros(2, 3, 4).dim_order() == (0, 1, 2) and torch.zeros(2, 3).t().dim_order() == (1, 0)


def test_orders_of_dimensions_that_are_ambiguous() -> None:
    formats = [torch.contiguous_format, torch.channels_last]
    assert torch.zeros(2, 2).expand(2, 2, 2).dim_order() == (0, 1, 2)
    assert torch.zeros(2, 3).expand(4, 2, 3).permute(1, 0, 2).dim_order() == (0, 1, 2)
    assert torch.zeros(2, 3).dim_order(ambiguity_check=True) == (0, 1)
    for ambiguous in (torch.zeros(1, 2, 3, 4), torch.zeros(2, 1), torch.zeros(2, 0, 3)):
        with pytest.raises(RuntimeError, match="cannot map to exact one"):
            ambiguous.dim_order(ambiguity_check=True)
    with pytest.raises(RuntimeError, match="unique dim order.$"):
        torch.zeros(2, 2).expand(2, 2, 2).dim_order(ambiguity_check=True)
    assert torch.zeros(3).expand(3).dim_order(ambiguity_check=True) == (0,)
    assert torch.zeros(1, 2, 3, 4).dim_order(ambiguity_check=formats) == (0, 1, 2, 3)
    with pytest.raises(RuntimeError, match="cannot map to exact one of the given memory formats"):
        torch.zeros(2, 1, 3, 4).dim_order(ambiguity_check=formats)
    with pytest.raises(TypeError, match="must be a bool or a list of memory formats"):
        torch.zeros(2).dim_order(ambiguity_check=[1])
    with pytest.raises(AttributeError, match="sparse"):
        torch.eye(2).to_sparse().dim_order()


def test_what_nodes_saved():
    a = torch.ones(2, requires_grad=True)
    node = (a * 3).grad_fn
    assert node._saved_other == 3 and node._saved_self is None
    assert {"_saved_self", "_saved_other", "_raw_saved_self", "_raw_saved_other"} <= set(dir(node))
    assert "_saved_self_sym_sizes" in dir(a.sum(0).grad_fn) and a.sum(0).grad_fn._saved_self_sym_sizes == (2,)


def test_warnings():
    with pytest.warns(UserWarning, match="uint8"):
        assert torch.arange(3)[torch.tensor([1, 0, 1], dtype=torch.uint8)].tolist() == [0, 2]
    with pytest.warns(UserWarning, match="uint8"):
        torch.where(torch.tensor([1, 0], dtype=torch.uint8), torch.ones(2), torch.zeros(2))
    with pytest.warns(UserWarning, match="dimension other than 2"):
        assert torch.ones(2, 3, 4).T.shape == (4, 3, 2)
    y = torch.ones(2, requires_grad=True) * 2
    with pytest.warns(UserWarning, match="not a leaf"):
        assert y.grad is None
    y.retain_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert y.grad is None


def test_size_is_added_to_tuples_alone():
    class Any:
        def __add__(self, other):
            return 42

        __radd__ = __add__

    size = torch.Size([1, 2])
    assert size + (3,) == torch.Size([1, 2, 3]) and (3,) + size == torch.Size([3, 1, 2])
    assert size + Any() == 42 and Any() + size == 42
    with pytest.raises(TypeError, match=r"can only concatenate tuple \(not list\) to torch.Size"):
        size + [3]
    with pytest.raises(TypeError):
        [3] + size


def test_order_of_dimensions_that_is_ambiguous_is_refused_where_asked_for():
    formats = [torch.contiguous_format, torch.channels_last]
    assert torch.ones(2, 2, 1, 2).dim_order() == (0, 1, 2, 3)
    assert torch.ones(2, 2, 1, 2).dim_order(ambiguity_check=formats) == (0, 1, 2, 3)
    for tensor in (torch.ones(2, 2, 1, 2), torch.ones(2, 2).expand(3, 2, 2), torch.ones(1, 2)):
        with pytest.raises(RuntimeError, match="unique dim order"):
            tensor.dim_order(ambiguity_check=True)
    for wrong in ("x", ["x"]):
        with pytest.raises(TypeError, match="ambiguity_check"):
            torch.ones(2).dim_order(ambiguity_check=wrong)


def test_subclass_that_is_no_class_of_tensors_is_refused():
    with pytest.raises(TypeError, match="does not inherit from Tensor"):
        torch.ones(2).as_subclass(int)
    with pytest.raises(TypeError, match="cls must be a type"):
        torch.ones(2).as_subclass(object())
