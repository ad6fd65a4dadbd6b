"""Random sizes and tensors for benchmarks: parameters are drawn until the tensors that they describe are within their bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ...core.dtypes import dtype as DType
from ...core.dtypes import finfo, float32, iinfo
from ...core.random import default_generator
from ...ops.random.sampling import rand, randint, randn_like
from ...ops.shape.concat import cat
from ...ops.sparse.create import sparse_coo_tensor

_TRIES = 1000  # draws of parameters before it is said that their bounds leave nothing


class ParameterAlias:
    """A value of a parameter that stands for the value of another one."""

    def __init__(self, alias_to: str) -> None:
        self.alias_to = alias_to

    def __repr__(self) -> str:
        return f"ParameterAlias[alias_to: {self.alias_to}]"


class FuzzedParameter:
    """A number that is drawn anew for each set of tensors.

    ``distribution`` is "uniform" or "loguniform" between ``minval`` and ``maxval`` (both included), or a dict of values and their
    probabilities.  A ``strict`` one is drawn once for a set, and stays when the others are drawn again because a tensor is out of bounds.
    """

    def __init__(
        self, name: str, minval: int | float | None = None, maxval: int | float | None = None,
        distribution: str | dict[Any, float] | None = None, strict: bool = False,
    ) -> None:  # fmt: skip
        if isinstance(distribution, dict):
            if any(each < 0 for each in distribution.values()):
                raise AssertionError("Probabilities cannot be negative")
            if abs(sum(distribution.values()) - 1) > 1e-5:
                raise AssertionError("Distribution is not normalized")
            for bound, value in (("minval", minval), ("maxval", maxval)):
                if value is not None:
                    raise AssertionError(f"When passing a custom distribution, '{bound}' must be None")
        elif distribution not in ("loguniform", "uniform"):
            raise AssertionError(f"Unknown distribution: {distribution}")
        self._name, self._minval, self._maxval, self._distribution = name, minval, maxval, distribution
        self.strict = strict

    @property
    def name(self) -> str:
        """What tensors call it."""
        return self._name

    def sample(self, state: np.random.RandomState) -> Any:
        """Its next value."""
        low: Any = self._minval
        high: Any = self._maxval
        if isinstance(self._distribution, dict):
            values = list(self._distribution)
            return values[state.choice(np.arange(len(values)), p=tuple(self._distribution.values()))]
        if self._distribution == "loguniform":
            return min(max(int(2 ** state.uniform(low=np.log2(low), high=np.log2(high))), low), high)
        if isinstance(low, int) and isinstance(high, int):
            return int(state.randint(low=low, high=high + 1))
        return state.uniform(low=low, high=high)


class FuzzedTensor:
    """A tensor whose sizes are numbers or names of parameters.

    It is a part of a larger one where ``steps`` are given, and has its dimensions in another order in memory with the probability
    ``1 - probability_contiguous``.  ``dim_parameter`` names a parameter that says how many of the sizes there are.
    """

    def __init__(
        self, name: str, size: tuple[str | int, ...], steps: tuple[str | int, ...] | None = None, probability_contiguous: float = 0.5,
        min_elements: int | None = None, max_elements: int | None = None, max_allocation_bytes: int | None = None,
        dim_parameter: str | None = None, roll_parameter: str | None = None, dtype: DType = float32, cuda: bool = False,
        tensor_constructor: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        self._name, self._size, self._steps = name, size, steps
        self._probability_contiguous = probability_contiguous
        self._min_elements, self._max_elements, self._max_allocation_bytes = min_elements, max_elements, max_allocation_bytes
        self._dim_parameter = dim_parameter
        self._dtype, self._cuda = dtype, cuda
        self._tensor_constructor = tensor_constructor

    @property
    def name(self) -> str:
        """What the set of tensors calls it."""
        return self._name

    @staticmethod
    def default_tensor_constructor(size: tuple[int, ...], dtype: DType, **kwargs: Any) -> Any:
        """Numbers from 0 to 1, or whole ones from 1 to 126."""
        if dtype.is_floating_point or dtype.is_complex:
            return rand(size, dtype=dtype)
        return randint(1, 127, size, dtype=dtype)

    def _sizes(self, params: dict[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Its size, its steps, and the size of the tensor that it is a part of."""
        dims = len(self._size) if self._dim_parameter is None else params[self._dim_parameter]

        def resolved(values: Iterable[Any]) -> tuple[int, ...]:
            found = tuple(params.get(each, each) for each in values)[:dims]
            return found + (1,) * (dims - len(found))

        size, steps = resolved(self._size), resolved(self._steps or ())
        return size, steps, tuple(each * step for each, step in zip(size, steps))

    def satisfies_constraints(self, params: dict[str, Any]) -> bool:
        """Whether the tensor that these parameters describe is within its bounds."""
        size, _, whole = self._sizes(params)
        elements = math.prod(size)
        if elements < 0:
            raise AssertionError("Computed number of elements is negative")
        kind = finfo if self._dtype.is_floating_point or self._dtype.is_complex else iinfo
        width = 1 if self._dtype.itemsize == 1 else kind(self._dtype).bits // 8
        return (
            (self._max_elements is None or elements <= self._max_elements)
            and (self._min_elements is None or elements >= self._min_elements)
            and (self._max_allocation_bytes is None or math.prod(whole) * width <= self._max_allocation_bytes)
        )

    def _make_tensor(self, params: dict[str, Any], state: np.random.RandomState) -> tuple[Any, dict[str, Any]]:
        """The tensor, and what there is to say of it."""
        size, steps, whole = self._sizes(params)
        made = (self._tensor_constructor or self.default_tensor_constructor)(size=whole, dtype=self._dtype, **params)
        if self._cuda:
            made = made.cuda()
        rows = np.arange(len(size))
        order = rows
        if state.rand() > self._probability_contiguous:
            while len(size) > 1 and np.array_equal(order, rows):
                order = state.permutation(made.dim())
            made = made.permute(tuple(order.tolist())).contiguous().permute(tuple(np.argsort(order).tolist()))
        tensor = made[tuple(slice(0, each * step, step) for each, step in zip(size, steps))]
        return tensor, {
            "numel": int(tensor.numel()), "order": order, "steps": steps, "is_contiguous": tensor.is_contiguous(), "dtype": str(self._dtype),
        }  # fmt: skip


class FuzzedSparseTensor(FuzzedTensor):
    """A sparse tensor (COO) whose ``density``, ``sparse_dim`` and ``coalesced`` are parameters of these names."""

    def __init__(
        self, name: str, size: tuple[str | int, ...], min_elements: int | None = None, max_elements: int | None = None,
        dim_parameter: str | None = None, sparse_dim: str | None = None, nnz: str | None = None, density: str | None = None,
        coalesced: str | None = None, dtype: DType = float32, cuda: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            name, size, min_elements=min_elements, max_elements=max_elements, dim_parameter=dim_parameter, dtype=dtype, cuda=cuda
        )
        self._sparse_dim = sparse_dim

    @staticmethod
    def sparse_tensor_constructor(size: Any, dtype: DType, sparse_dim: int, nnz: int, is_coalesced: bool) -> Any:
        """A tensor with ``nnz`` random places; one that is not coalesced has each of them twice."""
        size = [size] * sparse_dim if isinstance(size, (int, float)) else list(size)
        if all(each <= 0 for each in size[:sparse_dim]) and nnz:
            raise AssertionError("invalid arguments")
        values = FuzzedTensor.default_tensor_constructor((nnz, *size[sparse_dim:]), dtype)
        places = rand(sparse_dim, nnz)
        for row, length in zip(places, size):
            row.mul_(length)
        places = places.long()
        if not is_coalesced:
            values, places = cat([values, randn_like(values)], 0), cat([places, places], 1)
        made = sparse_coo_tensor(places, values, tuple(size))
        return made.coalesce() if is_coalesced else made

    def _make_tensor(self, params: dict[str, Any], state: np.random.RandomState) -> tuple[Any, dict[str, Any]]:
        size, _, _ = self._sizes(params)
        density = params["density"]
        count = math.ceil(sum(size) * density)
        if count > sum(size):
            raise AssertionError("nnz cannot exceed total number of elements")
        dims = min(params["sparse_dim"] if self._sparse_dim else len(size), len(size))
        tensor = self.sparse_tensor_constructor(size, self._dtype, dims, count, params["coalesced"])
        if self._cuda:
            tensor = tensor.cuda()
        return tensor, {
            "numel": int(tensor.numel()), "shape": tensor.size(), "is_coalesced": tensor.is_coalesced(), "density": density,
            "sparsity": 1.0 - density, "sparse_dim": tensor.sparse_dim(), "dense_dim": tensor.dense_dim(),
            "is_hybrid": len(size) > tensor.sparse_dim(), "dtype": str(self._dtype),
        }  # fmt: skip


class Fuzzer:
    """Sets of random tensors: the same ones for the same seed.

    ``constraints`` are functions of the parameters (a dict); a set of parameters for which one gives False is drawn again.
    """

    def __init__(
        self, parameters: list[Any], tensors: list[Any], constraints: list[Callable[..., bool]] | None = None, seed: int | None = None,
    ) -> None:  # fmt: skip
        self._seed = int(np.random.RandomState().randint(0, 2**32 - 1, dtype=np.int64)) if seed is None else seed
        self._parameters = _flat(parameters, FuzzedParameter)
        self._tensors = _flat(tensors, FuzzedTensor)
        self._constraints = constraints or ()
        overlap = {each.name for each in self._parameters} & {each.name for each in self._tensors}
        if overlap:
            raise ValueError(f"Duplicate names in parameters and tensors: {overlap}")
        self._rejections = self._total_generated = 0

    def take(self, n: int) -> Iterator[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
        """``n`` sets: the tensors by name, their properties by name, and the parameters."""
        state = np.random.RandomState(self._seed)
        default_generator.manual_seed(int(state.randint(low=0, high=2**63, dtype=np.int64)))
        for _ in range(n):
            params = self._generate(state)
            made = {each.name: each._make_tensor(params, state) for each in self._tensors}
            yield {name: each[0] for name, each in made.items()}, {name: each[1] for name, each in made.items()}, params

    @property
    def rejection_rate(self) -> float:
        """The share of sets of parameters that were drawn again."""
        return self._rejections / self._total_generated if self._total_generated else 0.0

    def _generate(self, state: np.random.RandomState) -> dict[str, Any]:
        """Parameters within all bounds."""
        strict: dict[str, Any] = {}
        for _ in range(_TRIES):
            params: dict[str, Any] = {}
            for each in self._parameters:
                if each.strict and each.name not in strict:
                    strict[each.name] = each.sample(state)
                params[each.name] = strict[each.name] if each.strict else each.sample(state)
            params = _without_aliases(params)
            self._total_generated += 1
            if all(each(params) for each in self._constraints) and all(each.satisfies_constraints(params) for each in self._tensors):
                return params
            self._rejections += 1
        raise ValueError("Failed to generate a set of valid parameters.")


def _flat(values: Iterable[Any], kind: type) -> tuple[Any, ...]:
    """The values, with those in lists among them."""
    return tuple(inner for each in values for inner in ([each] if isinstance(each, kind) else each))


def _without_aliases(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters, each alias replaced by what it stands for."""
    resolved = dict(params)
    for name in params:
        seen = {name}
        while isinstance(value := resolved[name], ParameterAlias):
            if value.alias_to in seen:
                raise ValueError(f"ParameterAlias cycle detected\n{params}")
            seen.add(value.alias_to)
            resolved[name] = resolved[value.alias_to]
    return resolved
