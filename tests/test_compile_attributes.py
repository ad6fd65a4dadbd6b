"""Attributes that users' classes look up in Python, attributes that tensors lack, and functions that suspend, in compiled programs."""

import asyncio
import copy
import pickle
import sys

import pytest

import rushlight as torch
from rushlight.capture.compile.record.graph_breaks import Unsupported
from rushlight.compat.dynamo.testing import rand_strided, same
from rushlight.compat.inductor.compile_fx import compile_fx


def test_an_attribute_that_a_tensor_lacks_is_guarded() -> None:
    def function(x):
        return x + (2 if hasattr(x, "mark") else 1), getattr(x, "scale", 1.0)

    compiled = torch.compile(function, fullgraph=True)
    marked = torch.ones(2)
    marked.mark, marked.scale = None, 3.0
    for x in (torch.ones(2), marked, torch.ones(2), marked):
        found, wanted = compiled(x), function(x)
        assert found[0].tolist() == wanted[0].tolist() and found[1] == wanted[1]


def test_a_module_with_getattribute_is_called() -> None:
    class Special(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factor = 3
            self.weight = torch.nn.Parameter(torch.full((2,), 2.0))

        def __getattribute__(self, name):
            return torch.tensor([1.0, 2.0]) if name == "special" else super().__getattribute__(name)

        def forward(self, x):
            return self.factor * x + self.special * self.weight

    module, x = Special(), torch.ones(2)
    compiled = torch.compile(lambda module, x: module(x), fullgraph=True)
    for _ in range(2):
        assert compiled(module, x).tolist() == module(x).tolist() == [5.0, 7.0]
    module.factor = 4
    assert compiled(module, x).tolist() == [6.0, 8.0]


def test_getattr_is_asked_after_getattribute() -> None:
    class Renamed:
        names = {"first": "one"}

        def __getattribute__(self, name):
            if name == "absent":
                raise AttributeError(name)
            return object.__getattribute__(self, object.__getattribute__(self, "names").get(name, name))

        def __getattr__(self, name):
            if name == "absent":
                return 5
            raise AttributeError(name)

    def function(x, value):
        return x * value.first * value.absent, hasattr(value, "nothing")

    value = Renamed()
    value.one = 2.0
    compiled = torch.compile(function, fullgraph=True)
    for _ in range(2):
        found = compiled(torch.ones(2), value)
        assert found[0].tolist() == [10.0, 10.0] and found[1] is False
    value.one = 3.0
    assert compiled(torch.ones(2), value)[0].tolist() == [15.0, 15.0]


def test_a_capture_does_not_ask_users_objects_for_attributes() -> None:
    asked = []

    class Prefixed:
        def __setattr__(self, name, value):
            super().__setattr__(f"own_{name}", value)

        def __getattr__(self, name):
            asked.append(name)
            return self.__dict__[f"own_{name}"]

    def function(value):
        value.y = value.x + 1

    value = Prefixed()
    value.x = torch.ones(2)
    compiled = torch.compile(function, fullgraph=True)
    compiled(value)
    compiled(value)
    assert set(asked) <= {"x"} and list(value.__dict__) == ["own_x", "own_y"] and value.__dict__["own_y"].tolist() == [2.0, 2.0]


def test_generators_and_coroutines_run_as_they_are() -> None:
    def rows(x):
        for each in x * 2:
            yield each + 1

    async def later(x):
        return x + 1

    x = torch.arange(3)
    compiled = torch.compile(rows)
    for _ in range(2):
        assert [each.item() for each in compiled(x)] == [1, 3, 5]
    assert asyncio.run(torch.compile(later)(x)).tolist() == [1, 2, 3]
    with pytest.raises(Unsupported, match="generator"):
        torch.compile(rows, fullgraph=True)(x)


def test_lazy_modules_are_initialized_by_their_first_compiled_call() -> None:
    module = torch.nn.Sequential(torch.nn.LazyLinear(3), torch.nn.ReLU(), torch.nn.LazyLinear(2))
    compiled, x = torch.compile(module, fullgraph=True), torch.ones(4, 5)
    first, second = compiled(x), compiled(x)
    assert module[0].weight.shape == (3, 5) and torch.allclose(first, module(x)) and torch.allclose(second, first)


def test_compiled_modules_are_saved_and_copied() -> None:
    module = torch.compile(torch.nn.Linear(2, 2), backend="eager", fullgraph=True)
    x = torch.ones(1, 2)
    wanted = module(x)
    for other in (pickle.loads(pickle.dumps(module)), copy.deepcopy(module)):
        assert type(other) is type(module) and other.weight is not module.weight and torch.equal(other(x), wanted)
    assert "weight" in dir(module) and "_orig_mod" in dir(module)


def test_an_argument_may_be_called_self() -> None:
    assert torch.compile(lambda **given: given["self"] + 1)(self=torch.ones(1)).item() == 2.0


def test_vmap_and_compile_by_their_public_names() -> None:
    def rows(x):
        return torch.vmap(lambda row: (row + 1, row.sum()), out_dims=(1, 0))(x)

    def gradients(x):
        return torch.vmap(torch.func.grad(lambda row: row.sin().sum()))(x)

    def twice(x):
        return torch.compile(lambda y: y * 2)(x) + 1

    x = torch.arange(6.0).reshape(2, 3)
    for function in (rows, gradients, twice):
        found, wanted = torch.compile(function, fullgraph=True)(x), function(x)
        for a, b in zip(found, wanted):
            assert torch.allclose(a, b)


def test_the_exception_that_is_handled() -> None:
    def function(x):
        seen = []
        try:
            raise ValueError("outer")
        except ValueError as error:
            seen.append(sys.exc_info()[1] is error)
            try:
                raise KeyError("inner")
            except KeyError:
                seen.append(sys.exc_info()[0])
            seen.append(type(sys.exception()))
        return x + 1, [*seen, sys.exc_info()]

    compiled = torch.compile(function, backend="eager", fullgraph=True)
    for _ in range(2):
        assert compiled(torch.ones(1))[1] == [True, KeyError, ValueError, (None, None, None)]


def test_types_of_tensors_by_name() -> None:
    def function(x):
        return x.type(torch.float64) if x.type() == "torch.FloatTensor" else x

    assert torch.compile(function, fullgraph=True)(torch.ones(2)).dtype is torch.float64


def test_a_subclass_may_define_its_shape_by_size() -> None:
    class Sized(torch.Tensor):
        @property
        def shape(self):
            return self.size()

    assert tuple(torch.ones(2, 3).as_subclass(Sized).shape) == (2, 3)


def test_an_operator_that_writes_to_keyword_arguments() -> None:
    library = torch.library.Library("compile_attributes", "FRAGMENT")
    library.define("accumulate_(Tensor(a!) a, Tensor[] b, SymInt c, *, Tensor(b!)? d, SymInt e=2) -> ()")

    def accumulate(a, b, c, d, e=2):
        a.add_(b[0] * c * e)
        if d is not None:
            d.add_(b[1])

    library.impl("accumulate_", accumulate, "CompositeExplicitAutograd")

    def function(a, b, d):
        torch.ops.compile_attributes.accumulate_(a, (b, b + 1), 4, d=d)
        return a * 2

    compiled = torch.compile(function, fullgraph=True)
    for d in (torch.zeros(2), None, torch.ones(2)):
        args, same = [(torch.ones(2), torch.ones(2), None if d is None else d.clone()) for _ in range(2)]
        assert compiled(*args).tolist() == function(*same).tolist() and args[0].tolist() == same[0].tolist()
        assert d is None or args[2].tolist() == same[2].tolist()


def test_names_that_back_ends_and_tests_import() -> None:
    compiled = torch.compile(lambda x: x.sin() + 1, backend=lambda gm, examples: compile_fx(gm, examples))
    x = rand_strided((3, 4), (1, 3))
    assert x.stride() == (1, 3) and same(compiled(x), x.sin() + 1)
    weight = x.clone().requires_grad_()
    compiled(weight).sum().backward()
    assert same(weight.grad, x.cos()) and not same(weight.grad, x)
