"""Random numbers: tensors drawn from a generator, with PyTorch's streams.

What draws into a new row-major tensor does so in its order.  What fills a tensor that is there (``uniform_``), or one
made like another (``rand_like``), is filled in memory order, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import random as streams
from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive, table
from ...core.devices import device_of, is_array, on_device
from ...core.dtypes import BY_NUMPY, legacy_name
from ...core.errors import ArgumentError, DtypeError, OperationError, ShapeError
from ...core.families import broadcast_shapes, same
from ..create.factories import allocate, like_spec, new_spec, number, numpy_dtype, whole_number, zeros_like
from ..pointwise.binary import underivable
from ..shape.memory import element_strides, is_contiguous, like_strides
from . import sampling_onnx as forms

Number = int | float | complex | bool
_INT64 = np.dtype(np.int64)
_FACTORY: dict[str, Any] = {"vjp": {}, "factory": True, "exact": True}
_LIKE: dict[str, Any] = {**_FACTORY, "method": False, "out": False}


def stream_of(generator: Any, xp: Any = np) -> streams.Generator:
    """The generator a user passed, or the default one of the device that an array module is for."""
    if xp is not np:
        own = getattr(xp, "default_generator", None)
        if own is not None:
            default = own()
            if generator is None:
                return default
            if generator.device.type != default.device.type:
                raise OperationError(f"Expected a '{default.device.type}' device type for generator but found '{generator.device.type}'")
    if generator is None:
        return streams.default_generator
    if not isinstance(generator, streams.Generator):
        raise ArgumentError(f"argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    return generator


def in_memory_order(array: Any, *others: Any) -> tuple[Any, ...]:
    """Arrays of one shape with their dimensions in the memory order of the first."""
    if is_contiguous(array):
        return (array, *others)
    strides = element_strides(array)
    order = sorted(range(array.ndim), key=lambda dim: -strides[dim])
    return tuple(each.transpose(order) for each in (array, *others))


def _zero(g: Any) -> Any:
    """The gradient of what numbers were drawn around, or written over: none reaches it, which PyTorch says by zeros."""
    return zeros_like(g)


# -- new tensors -------------------------------------------------------------------------------------------------


@primitive(
    meta=lambda size, generator, *rest: new_spec(size, *rest),
    kernel=lambda xp, size, generator, *rest: _uniform(stream_of(generator, xp), new_spec(size, *rest)),
    **_FACTORY,
    onnx={9: forms.rand_form},
)
def rand(
    *size: int, generator: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Uniform numbers in [0, 1)."""


def _uniform(stream: Any, spec: Spec) -> Any:
    return stream.uniform(spec.shape, spec.dtype)


def _normal(stream: Any, spec: Spec) -> Any:
    return stream.normal(spec.shape, spec.dtype)


@primitive(
    meta=lambda size, generator, *rest: new_spec(size, *rest),
    kernel=lambda xp, size, generator, *rest: _normal(stream_of(generator, xp), new_spec(size, *rest)),
    **_FACTORY,
    onnx={9: forms.randn_form},
)
def randn(
    *size: int, generator: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Normal numbers of mean 0 and variance 1."""


def _integer_range(name: str, low: Any, high: Any) -> tuple[int, int]:
    """``randint(5, ...)`` gives its one bound as ``low``."""
    if high is None:
        low, high = 0, low
    if high is None:
        raise ArgumentError(f"{name}() missing 1 required positional argument: 'high'")
    return whole_number(0 if low is None else low, "low"), whole_number(high, "high")


def _randint(low: Any, high: Any, size: Any, generator: Any, dtype: Any, *rest: Any) -> tuple[Spec, int, int]:
    if size is None and isinstance(high, (tuple, list)):  # randint(high, size)
        high, size = None, high
    if not isinstance(size, (tuple, list)):
        raise ArgumentError(f"randint(): argument 'size' must be tuple of ints, not {type(size).__name__}")
    return new_spec(size, BY_NUMPY[numpy_dtype(dtype, _INT64)], *rest), *_integer_range("randint", low, high)


def _draw_integers(xp: Any, generator: Any, spec: Spec, low: int, high: int) -> Any:
    return stream_of(generator, xp).integers(spec.shape, spec.dtype, low, high)


@primitive(
    meta=lambda *values: _randint(*values)[0],
    kernel=lambda xp, *values: _draw_integers(xp, values[3], *_randint(*values)),
    **_FACTORY,
    onnx={9: forms.randint_form},
)
def randint(
    low: Any = None, high: Any = None, size: Any = None, *, generator: Any = None, dtype: Any = None,
    layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Integers in [low, high): ``randint(high, size)``, whose ``low`` is 0, or ``randint(low, high, size)``."""


def _permutation_spec(n: Any, generator: Any, dtype: Any, *rest: Any) -> Spec:
    return new_spec((whole_number(n, "n"),), BY_NUMPY[numpy_dtype(dtype, _INT64)], *rest)


@primitive(
    meta=_permutation_spec,
    kernel=lambda xp, n, generator, dtype, *rest: stream_of(generator, xp).permutation(whole_number(n, "n"), numpy_dtype(dtype, _INT64)),
    **_FACTORY,
    onnx={9: forms.randperm_form},
)
def randperm(
    n: int, *, generator: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """The integers from 0 to ``n - 1`` in random order."""


# -- filling: each op draws for an array in memory order; its in-place form is the public one ---------------------


def _filling(draw: Callable[..., Any]) -> dict[str, Any]:
    """Facets of a filling op.  ``draw(stream, array, shape, ...)`` gives numbers for a shape in memory order."""

    def write(xp: Any, input: Any, *values: Any) -> None:
        *parameters, generator = values
        arrays = [each for each in parameters if is_array(each)]
        if arrays:
            spread = iter(in_memory_order(input, *(xp.broadcast_to(each, input.shape) for each in arrays))[1:])
            parameters = [next(spread) if is_array(each) else each for each in parameters]
        target = in_memory_order(input)[0]
        target[...] = on_device(draw(stream_of(generator, xp), input, target.shape, *parameters), device_of(target))

    def kernel(xp: Any, input: Any, *values: Any) -> Any:
        result = allocate(xp.empty, Spec(input.shape, input.dtype, like_strides(input)))
        write(xp, result, *values)
        return result

    return {
        "meta": lambda input, *values: Spec(input.shape, input.dtype, like_strides(input)), "kernel": kernel,
        "in_place_kernel": write,
        "vjp": {"input": _zero}, "exact": True, "in_place": True, "namespace": None, "method": False, "out": False,
    }  # fmt: skip


@primitive(
    **_filling(lambda stream, array, shape, from_, to: stream.uniform(shape, array.dtype, number(from_, "from"), number(to, "to"))),
    public_name="uniform",
    onnx={9: forms.uniform_fill_form},
)
def uniform_fill(input: Tensor, from_: float = 0, to: float = 1, *, generator: Any = None) -> Tensor:
    """Uniform numbers in [from, to) in the shape of ``input``; ``uniform_`` writes them there."""


@primitive(
    **_filling(lambda stream, array, shape, mean, std: stream.normal(
        shape, array.dtype, number(mean, "mean"), number(std, "std"), is_contiguous(array)
    )),
    public_name="normal",
    onnx={9: forms.normal_fill_form},
)  # fmt: skip
def normal_fill(input: Tensor, mean: float = 0, std: float = 1, *, generator: Any = None) -> Tensor:
    """Normal numbers in the shape of ``input``; ``normal_`` writes them there."""


def _bernoulli_fill(stream: Any, array: Any, shape: Any, p: Any) -> Any:
    return stream.bernoulli(shape, array.dtype, p if is_array(p) else number(p, "p"))


@primitive(**_filling(_bernoulli_fill), public_name="bernoulli", onnx={9: forms.bernoulli_fill_form})
def bernoulli_fill(input: Tensor, p: Tensor | Number = 0.5, *, generator: Any = None) -> Tensor:
    """Ones with probability ``p``, else zeros, in the shape of ``input``; ``bernoulli_`` writes them there."""


@primitive(
    **_filling(lambda stream, array, shape, lambd: stream.exponential(shape, array.dtype, number(lambd, "lambd"))),
    public_name="exponential",
    onnx={9: forms.exponential_fill_form},
)
def exponential_fill(input: Tensor, lambd: float = 1, *, generator: Any = None) -> Tensor:
    """Exponential numbers of a rate in the shape of ``input``; ``exponential_`` writes them there."""


@primitive(
    **_filling(lambda stream, array, shape, p: stream.geometric(shape, array.dtype, number(p, "p"))),
    public_name="geometric",
    onnx={9: forms.geometric_fill_form},
)
def geometric_fill(input: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """How many trials a first success takes, in the shape of ``input``; ``geometric_`` writes it there."""


@primitive(
    **_filling(
        lambda stream, array, shape, median, sigma: stream.cauchy(shape, array.dtype, number(median, "median"), number(sigma, "sigma"))
    ),
    public_name="cauchy",
    onnx={9: forms.cauchy_fill_form},
)
def cauchy_fill(input: Tensor, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Tensor:
    """Numbers of a Cauchy distribution in the shape of ``input``; ``cauchy_`` writes them there."""


@primitive(
    **_filling(lambda stream, array, shape, mean, std: stream.log_normal(shape, array.dtype, number(mean, "mean"), number(std, "std"))),
    public_name="log_normal",
    onnx={9: forms.log_normal_fill_form},
)
def log_normal_fill(input: Tensor, mean: float = 1, std: float = 2, *, generator: Any = None) -> Tensor:
    """Exponentials of normal numbers in the shape of ``input``; ``log_normal_`` writes them there."""


def _random_fill(stream: Any, array: Any, shape: Any, from_: Any, to: Any) -> Any:
    if from_ is None and to is None:
        return stream.integers_full(shape, array.dtype)
    from_ = 0 if from_ is None else from_
    return stream.integers(shape, array.dtype, whole_number(from_, "from"), None if to is None else whole_number(to, "to"))


@primitive(**_filling(_random_fill), public_name="random", onnx={9: forms.random_fill_form})
def random_fill(input: Tensor, from_: int | None = None, to: int | None = None, *, generator: Any = None) -> Tensor:
    """Integers in [from, to), or of the type's whole range, in the shape of ``input``; ``random_`` writes them."""


def _like_kernel(draw: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that makes a tensor like another and fills it in memory order."""

    def kernel(xp: Any, input: Any, *values: Any) -> Any:
        *parameters, generator = values[:-6]
        result = allocate(xp.empty, like_spec(input, *values[-6:]))
        target = in_memory_order(result)[0]
        target[...] = on_device(draw(stream_of(generator, xp), result, target.shape, *parameters), device_of(target))
        return result

    return kernel


def _like_meta(input: Any, *values: Any) -> Spec:
    return like_spec(input, *values[-6:])


@primitive(
    meta=_like_meta,
    kernel=_like_kernel(lambda stream, array, shape: stream.uniform(shape, array.dtype)),
    **_LIKE,
    onnx={9: forms.rand_like_form},
)
def rand_like(
    input: Tensor, *, generator: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Uniform numbers in [0, 1) in the shape of another tensor."""


@primitive(
    meta=_like_meta,
    kernel=_like_kernel(lambda stream, array, shape: stream.normal(shape, array.dtype, contiguous=is_contiguous(array))),
    **_LIKE,
    onnx={9: forms.randn_like_form},
)
def randn_like(
    input: Tensor, *, generator: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Normal numbers of mean 0 and variance 1 in the shape of another tensor."""


@primitive(
    meta=_like_meta,
    kernel=_like_kernel(
        lambda stream, array, shape, low, high: stream.integers(shape, array.dtype, *_integer_range("randint_like", low, high))
    ),
    **_LIKE,
    onnx={9: forms.randint_like_form},
)
def randint_like(
    input: Tensor, low: Any = None, high: Any = None, *, generator: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Integers from ``low`` (0) up to, but not including, ``high`` in the shape of another tensor."""


# -- distributions given by tensors ------------------------------------------------------------------------------


def _normal_spec(mean: Any, std: Any, generator: Any) -> Spec:
    dtype = mean.dtype if hasattr(mean, "ndim") and not isinstance(mean, np.generic) else std.dtype
    if getattr(std, "dtype", dtype).kind == "c" and hasattr(std, "ndim"):
        raise DtypeError("normal expects standard deviation to be non-complex")
    return Spec(broadcast_shapes([each.shape for each in (mean, std) if hasattr(each, "shape")]), dtype)


def _normal_around(xp: Any, mean: Any, std: Any, generator: Any) -> Any:
    spec = _normal_spec(mean, std, generator)
    mean, std = (each if is_array(each) else number(each, "mean") for each in (mean, std))
    return stream_of(generator, xp).normal(spec.shape, spec.dtype, mean, std)


@primitive(
    meta=_normal_spec,
    kernel=_normal_around,
    vjp={"mean": _zero, "std": lambda g: zeros_like(g)},
    exact=True,
    namespace=None,
    method=False,
    out=False,
    node_name="NormalBackward3",
    onnx={9: forms.normal_around_form},
)
def normal_around(mean: Tensor | Number, std: Tensor | Number, *, generator: Any = None) -> Tensor:
    """Normal numbers with a mean and a standard deviation for each."""


@primitive(
    meta=lambda mean, std, size, generator, *rest: new_spec(size, *rest),
    kernel=lambda xp, mean, std, size, generator, *rest: stream_of(generator, xp).normal(
        new_spec(size, *rest).shape, new_spec(size, *rest).dtype, number(mean, "mean"), number(std, "std")
    ),
    namespace=None,
    **{**_FACTORY, "out": False},
    onnx={9: forms.normal_of_size_form},
)
def normal_of_size(
    mean: float, std: float, size: Any, *, generator: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Normal numbers of one mean and standard deviation."""


@composite(out=True)
def normal(
    mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Normal numbers: ``mean`` and ``std`` are tensors or, with a ``size``, both numbers."""
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        if size is None:
            return normal_around(mean, std, generator=generator)
        mean, std = number(mean, "mean"), number(std, "std")
    if size is None:
        raise ArgumentError("normal() received an invalid combination of arguments: two numbers need a 'size'")
    return normal_of_size(
        mean, std, tuple(size), generator=generator, dtype=dtype, layout=layout, device=device,
        requires_grad=requires_grad,
        pin_memory=pin_memory,
    )  # fmt: skip


def _bernoulli(xp: Any, input: Any, p: Any, generator: Any) -> Any:
    stream = stream_of(generator, xp)
    return stream.bernoulli(input.shape, input.dtype, on_device(input, stream.device) if p is None else number(p, "p"))


@primitive(
    meta=lambda input, p, generator: Spec(input.shape, input.dtype),
    kernel=_bernoulli,
    vjp={"input": _zero},
    exact=True,
    out="any type",
    onnx={9: forms.bernoulli_form},
)
def bernoulli(input: Tensor, p: float | None = None, *, generator: Any = None) -> Tensor:
    """Ones with the probabilities in ``input`` (or with probability ``p``), else zeros."""


def _multinomial_spec(input: Any, num_samples: Any, replacement: bool, generator: Any) -> Spec:
    if input.ndim not in (1, 2):
        raise ShapeError("prob_dist must be 1 or 2 dim")
    return Spec((*input.shape[:-1], whole_number(num_samples, "num_samples")), _INT64)


@primitive(
    meta=_multinomial_spec,
    kernel=lambda xp, input, num_samples, replacement, generator: stream_of(generator, xp).multinomial(
        input, whole_number(num_samples, "num_samples"), bool(replacement)
    ),
    vjp={},
    exact=True,
    onnx={9: forms.multinomial_form},
)
def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Categories drawn from each row of (unnormalised) probabilities."""


@primitive(
    meta=same,
    kernel=lambda xp, input, generator: stream_of(generator, xp).poisson(input),
    vjp={"input": _zero},
    exact=True,
    method=False,
    out=False,
    onnx="ONNX draws no Poisson numbers",
)
def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """A Poisson number for each rate."""


def _binomial_spec(count: Any, prob: Any, generator: Any) -> Spec:
    if prob.dtype != count.dtype:
        raise DtypeError(f"Found dtype {legacy_name(prob.dtype)} but expected {legacy_name(count.dtype)}")
    return Spec(broadcast_shapes([count.shape, prob.shape]), count.dtype)


@primitive(
    meta=_binomial_spec,
    kernel=lambda xp, count, prob, generator: stream_of(generator, xp).binomial(count, prob),
    vjp={"count": underivable("binomial"), "prob": underivable("binomial")},  # a count of successes moves in steps
    exact=True,
    method=False,
    out=False,
    onnx="ONNX draws no binomial numbers",
)
def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """A binomial number for each count of trials and probability of success."""


def _gamma_gradient(g: Any, input: Any, result: Any) -> Any:
    return g * table["_standard_gamma_grad"].call(input, result)


def _dirichlet_gradient(g: Any, input: Any, result: Any) -> Any:
    """A concentration moves its own probability, and all others by what that one takes from them, in proportion."""
    total = input.sum(-1, True)
    return table["_dirichlet_grad"].call(result, input, total) * (g - (result * g).sum(-1, True))


@primitive(
    meta=same,
    kernel=lambda xp, input, generator: stream_of(generator, xp).standard_gamma(input),
    vjp={"input": _gamma_gradient},
    exact=True,
    method=False,
    out=False,
    onnx="ONNX draws no gamma numbers",
)
def _standard_gamma(input: Tensor, generator: Any = None) -> Tensor:
    """A gamma number of scale 1 for each concentration."""


@primitive(
    meta=same,
    kernel=lambda xp, input, generator: stream_of(generator, xp).dirichlet(input),
    vjp={"input": _dirichlet_gradient},
    exact=True,
    method=False,
    out=False,
    onnx="ONNX draws no Dirichlet numbers",
)
def _sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """Probabilities drawn for each row of concentrations."""
