"""Running scripts: regions of the gradient graph, arguments, and functions around scripting."""

from __future__ import annotations

import functools
import io
import pickle

import numpy as np
import pytest
from support.onnx_files import onnx_session

import rushlight as torch
from rushlight import jit, nn


def close(got, want):
    assert got.shape == want.shape
    assert torch.allclose(got, want, atol=1e-6)


def test_regions_record_one_node():
    @jit.script
    def run(x, y):
        return (x * y).sin().exp() + y

    x, y = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    out = run(x, y)
    assert type(out.grad_fn).__name__ == "DifferentiableGraphBackward"
    assert "differentiable" in str(run.graph_for(x, y))
    assert out.grad_fn.input_names == ("x", "y")
    (first,) = torch.autograd.grad(out.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    plain = (x * y).sin().exp() + y
    (want,) = torch.autograd.grad(plain.sum(), x, create_graph=True)
    close(first, want)
    close(second, torch.autograd.grad(want.sum(), x)[0])
    assert torch.autograd.gradcheck(run, (x.double().detach().requires_grad_(), y.double().detach().requires_grad_()))
    assert torch.autograd.gradgradcheck(run, (x.double().detach().requires_grad_(), y.double().detach().requires_grad_()))
    assert not run(x.detach(), y.detach()).requires_grad
    with torch.no_grad():
        assert not run(x, y).requires_grad
    out.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        out.sum().backward()
    z = torch.randn(3, requires_grad=True)
    made = run(z, z)
    with torch.no_grad():
        z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        made.sum().backward()


def test_lists_that_never_change_are_taken_apart():
    @jit.script
    def run(x, y):
        parts = [x * 2, y + 1]
        first = parts[0]
        return torch.cat(parts, 0).sin() + first.sum()

    x, y = torch.randn(2, requires_grad=True), torch.randn(3, requires_grad=True)
    assert not any(node.target is list for node in run.graph_for(x, y).nodes)
    close(run(x, y), torch.cat([x * 2, y + 1]).sin() + (x * 2).sum())
    assert any(node.target is list for node in run.graph.nodes)


def test_programs_are_shared_by_modules_made_alike():
    class Scaled(torch.nn.Module):
        __constants__ = ["k"]

        def __init__(self, k):
            super().__init__()
            self.k = k
            self.n = k

        def forward(self, x):
            return self.helper(x) * self.n

        def helper(self, x):
            return x * self.k

    a, b, c = (jit.script(Scaled(k)) for k in (2, 2, 3))
    assert a.graph is b.graph and a.graph is not c.graph
    x = torch.ones(1)
    b.n = 5
    assert [float(each(x)) for each in (a, b, c)] == [4.0, 10.0, 9.0]
    assert float(b.helper(x)) == 2.0
    with pytest.raises(RuntimeError, match="jit.save"):
        pickle.dumps(a)
    buffer = io.BytesIO()
    b.save(buffer)
    buffer.seek(0)
    assert float(jit.load(buffer)(x)) == 10.0


def test_traced_programs_with_choices_are_exported_with_them():

    @jit.script
    def choose(x):
        for _ in range(2):
            if x.sum() > 0:
                x = x * 2
            else:
                x = x - 1
        return x

    traced = jit.trace(lambda x: choose(x) + 1, torch.ones(2))
    program = torch.onnx.export(traced, (torch.ones(2),), input_names=["x"])
    session = onnx_session(program)
    for value in (1.0, -1.0):
        x = torch.full([2], value)
        close(torch.tensor(session.run(None, {"x": x.numpy()})[0]), traced(x))
        close(traced(x), choose(x) + 1)


class Checkpointing(nn.Module):
    """A model as libraries write them: what can't be scripted is ruled out beside an attribute, and a condition is asserted by a function."""

    def __init__(self):
        super().__init__()
        self.checkpointing = False

    def forward(self, x):
        torch._assert(x.shape[0] == 2, f"two rows, not {x.shape[0]}")
        if self.checkpointing and not jit.is_scripting():
            return not_scriptable(x, *[1])
        if jit.is_scripting() or self.checkpointing:
            x = x + 1
        elif self.checkpointing and x.sum() > 0 and not jit.is_scripting():
            x = not_scriptable(x)
        return x * 2


def not_scriptable(x, *more):
    return x


def test_is_scripting_decides_beside_other_conditions():
    scripted = jit.script(Checkpointing())
    buffer = io.BytesIO()
    jit.save(scripted, buffer)
    buffer.seek(0)
    for each in (scripted, jit.load(buffer)):
        assert torch.equal(each(torch.ones(2, 1)), torch.full((2, 1), 4.0))
        with pytest.raises(jit.Error, match="two rows, not 3"):
            each(torch.ones(3, 1))


class Named(nn.Module):
    """A method whose name begins as those of getters do, called by Modules of one class with different attributes."""

    def __init__(self, shared):
        super().__init__()
        self.shared = shared

    @property
    def scale(self) -> float:
        return 3.0

    def _get_bias(self) -> torch.Tensor:
        return torch.ones(2)

    def forward(self, x):
        return x * self.scale + self._get_bias() if self.shared else x - self._get_bias()


class Joined(nn.Module):
    """A forward with two signatures, whose implementation is annotated with one of them; it is called by other Modules."""

    @jit._overload_method
    def forward(self, x: list[torch.Tensor]) -> torch.Tensor: ...

    @jit._overload_method
    def forward(self, x: torch.Tensor) -> torch.Tensor: ...  # noqa: F811

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # noqa: F811
        parts = [x] if isinstance(x, torch.Tensor) else x
        return torch.cat(parts, 0)


class Around(nn.ModuleDict):
    def forward(self, x):
        if jit.is_tracing():
            return x
        parts = [x]
        for _, layer in self.items():
            parts.append(layer(parts))
        return parts[-1]


def test_a_forward_with_several_signatures():
    model = Around({"first-one": Joined(), "second": Joined()})
    scripted = jit.script(model)
    buffer = io.BytesIO()
    jit.save(scripted, buffer)
    buffer.seek(0)
    for each in (scripted, jit.load(buffer)):
        close(each(torch.ones(2)), torch.ones(4))


class Normed(nn.Sequential):
    """A sequence of layers under a name of its own, whose forward is inherited."""

    def __init__(self):
        super().__init__(nn.Linear(2, 2), nn.ReLU())


def test_a_sequence_under_another_name_takes_a_tensor():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = Normed()

        def forward(self, x):
            return self.first(x) * 2

    model = Model()
    scripted = jit.script(model)
    close(scripted(torch.ones(3, 2)), model(torch.ones(3, 2)))
    assert str(scripted.first.forward.schema) == "forward(__torch__.Normed self, Tensor input) -> Tensor"


def test_methods_whose_names_begin_with_get():
    model = nn.Sequential(Named(True), Named(False), Named(True))
    scripted = jit.script(model)
    close(scripted(torch.ones(2)), model(torch.ones(2)))


def test_is_scripting():
    def run(x):
        if jit.is_scripting():
            return x + 1
        return x - 1

    x = torch.zeros(1)
    assert run(x).item() == -1 and jit.script(run)(x).item() == 1


def test_arguments_are_checked():
    @jit.script
    def run(x, n: int, names: list[str]):
        return x * n

    with pytest.raises(RuntimeError, match="Expected a value of type 'Tensor' for argument 'x'"):
        run(3, 1, ["a"])
    with pytest.raises(RuntimeError, match="Expected a value of type 'int' for argument 'n'"):
        run(torch.ones(1), 1.5, ["a"])
    with pytest.raises(RuntimeError, match="argument 'names'"):
        run(torch.ones(1), 1, [1])
    with pytest.raises(RuntimeError, match="missing value for argument 'names'"):
        run(torch.ones(1), 1)
    with pytest.raises(RuntimeError, match="at most 3"):
        run(torch.ones(1), 1, ["a"], 5)
    with pytest.raises(RuntimeError, match="unknown keyword argument 'm'"):
        run(torch.ones(1), 1, ["a"], m=5)


def test_script_if_tracing():
    @jit.script_if_tracing
    def choose(x):
        if x.sum() > 0:
            return x + 1
        return x - 1

    assert choose(torch.ones(1)).item() == 2
    traced = jit.trace(lambda x: choose(x) * 2, torch.ones(1))
    assert traced(torch.ones(1)).item() == 4 and traced(-torch.ones(1)).item() == -4


def doubled(x, n: int = 2):
    for _ in range(n):
        x = x * 2
    return x


@functools.wraps(doubled)
def doubled_by_wrapper(*args, **kwargs):
    return doubled(*args, **kwargs)


doubled_by_wrapper.__original_fn = doubled
doubled_by_wrapper.__script_if_tracing_wrapper = True


def calls_doubled(x):
    return doubled_by_wrapper(x) + 1


def test_wrappers_that_libraries_write_like_script_if_tracing():
    """Scripts compile the function that the wrapper names, as they do for PyTorch's own wrapper."""
    assert jit.script(calls_doubled)(torch.ones(1)).item() == 5
    assert jit.script(doubled_by_wrapper)(torch.ones(1), 1).item() == 2


def make_scaled(factor, helper):
    def scaled(x, n: int = 2):
        for _ in range(n):
            x = helper(x) * factor
        return x

    return scaled


def halve(x):
    return x / 2


def twice(x):
    return x * 2


def test_functions_of_one_definition_share_what_is_compiled_while_their_names_mean_the_same() -> None:
    x = torch.ones(2)
    for factor, helper in ((3, halve), (3, halve), (4, halve), (3.0, halve), (-0.0, twice), (0.0, twice), (3, twice), (3, halve)):
        plain = make_scaled(factor, helper)
        scripted = jit.script(plain)
        for n in (0, 1, 3):
            for _ in range(2):  # walked, and compiled
                np.testing.assert_array_equal(np.copysign(1, scripted(x, n).numpy()), np.copysign(1, plain(x, n).numpy()))
                np.testing.assert_array_equal(scripted(x, n).numpy(), plain(x, n).numpy())


def test_a_shared_graph_is_copied_for_those_who_may_change_it() -> None:
    first, second, third = (jit.script(make_scaled(5, twice)) for _ in range(3))
    assert first._program is second._program is third._program
    graph = second.graph
    assert graph is second.graph and graph is not first._program.graph
    for node in graph.nodes:
        if node.op == "output":
            node.args = (7,)
    assert second(torch.ones(1), 1) == 7
    assert first(torch.ones(1), 1) == 10 and third(torch.ones(1), 1) == 10 and jit.script(make_scaled(5, twice))(torch.ones(1), 1) == 10


def test_lists_from_outside_are_read_each_time() -> None:
    items = [1, 2]

    def make():
        def total(x):
            for each in items:
                x = x + each
            return x

        return total

    assert jit.script(make())(torch.zeros(1)) == 3
    items.append(4)
    assert jit.script(make())(torch.zeros(1)) == 7


def test_the_first_call_says_where_an_error_comes_from() -> None:
    def fails(x, n: int):
        for i in range(n):
            if i > 8:
                x = x @ x
            x = x + 1
        return x

    scripted = jit.script(fails)
    for n in (20, 10, 9, 20):
        if n == 9:
            assert scripted(torch.zeros(2, 3), n).sum() == 54
            continue
        with pytest.raises(RuntimeError) as caught:
            scripted(torch.zeros(2, 3), n)
        assert str(caught.value).count("x = x @ x") == 1
