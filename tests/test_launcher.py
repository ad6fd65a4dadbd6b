"""Launchers of compiled programs: what they check, what they make, and when they leave a call to the general way; with both trampolines."""

import gc
import sys
import threading
import weakref

import numpy as np
import pytest
from support.training import training_step

import rushlight as torch
from rushlight.backends.protocol import Launcher
from rushlight.runtime.call import trampoline
from rushlight.runtime.call.settings import settings

pytest.importorskip("llvmlite")
nn, F = torch.nn, torch.nn.functional


@pytest.fixture(autouse=True, params=["machine code", "Python"])
def trampolines(request, monkeypatch):
    """Every test runs with both."""
    monkeypatch.setattr(settings, "trampoline", request.param == "machine code")


def spied(compiled):
    """A list to which the launcher of a compiled function adds whether it took a call."""
    entry = compiled._compiled.cache.entries[None][-1]
    (inner, left), seen = entry.launcher, []

    def launch(*args):
        made = inner(*args)
        seen.append(made is not NotImplemented)
        return made

    entry.launcher = Launcher(launch, left)
    return seen


def model_and_step(lr=0.1):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    step = training_step(model, optimizer)

    return model, optimizer, step


def test_the_layout_of_objects_is_found():
    assert trampoline.OFFSETS is not None


def test_a_training_step_is_one_launch():
    x, y = torch.randn(5, 6), torch.randn(5, 1)
    model, _, step = model_and_step()
    expected = [step(x, y).item() for _ in range(6)]
    weights = [each.detach().clone() for each in model.parameters()]
    model, _, step = model_and_step()
    compiled = torch.compile(step)
    found = [compiled(x, y).item() for _ in range(3)]
    seen = spied(compiled)
    found += [compiled(x, y).item() for _ in range(3)]
    assert seen == [True] * 3
    np.testing.assert_allclose(found, expected, 1e-5)
    for mine, other in zip(model.parameters(), weights):
        assert torch.allclose(mine, other, atol=1e-6) and mine.grad is not None


def test_options_of_the_optimizer_are_seen():
    x, y = torch.randn(5, 6), torch.randn(5, 1)
    expected, found = [], []
    for results, compile in ((expected, lambda f: f), (found, torch.compile)):
        model, optimizer, step = model_and_step()
        run = compile(step)
        for number in range(8):
            if number == 4:
                optimizer.param_groups[0]["lr"] = 0.5
            if number == 6:
                optimizer.param_groups[0]["weight_decay"] = 0.1
            results.append(run(x, y).item())
    np.testing.assert_allclose(found, expected, 1e-5)


def test_a_rate_that_is_a_tensor_may_change():
    x, y = torch.randn(5, 6), torch.randn(5, 1)
    expected, found = [], []
    for results, compile in ((expected, lambda f: f), (found, torch.compile)):
        rate = torch.tensor(0.1)
        _, _, step = model_and_step(lr=rate)
        run = compile(step)
        for number in range(6):
            rate.fill_(0.1 * (number + 1))
            results.append(run(x, y).item())
    np.testing.assert_allclose(found, expected, 1e-5)


def test_parameters_in_another_list_are_seen():
    x, y = torch.randn(5, 6), torch.randn(5, 1)
    expected, found = [], []
    for results, compile in ((expected, lambda f: f), (found, torch.compile)):
        model, optimizer, step = model_and_step()
        run = compile(step)
        for number in range(6):
            if number == 3:
                optimizer.param_groups[0]["params"] = list(model.parameters())[:3] + [nn.Parameter(torch.zeros(1))]
            results.append(run(x, y).item())
    np.testing.assert_allclose(found, expected, 1e-5)


@pytest.mark.parametrize("change", ["dtype", "shape", "strides", "requires_grad", "class", "array", "number"])
def test_other_tensors_go_the_general_way(change):
    function = torch.compile(lambda x: (x * 2).tanh())
    x = torch.randn(3, 4)
    with torch.no_grad():
        for _ in range(3):
            function(x)
        seen = spied(function)
        other = {
            "dtype": lambda: x.double(), "shape": lambda: torch.randn(4, 4), "strides": lambda: torch.randn(4, 3).t(),
            "requires_grad": lambda: torch.randn(3, 4, requires_grad=True), "class": lambda: nn.Parameter(torch.randn(3, 4)),
            "array": lambda: torch.from_numpy(np.lib.stride_tricks.as_strided(np.zeros(13, np.float32).view(np.uint8)[1:49].view(np.float32), (3, 4))),
            "number": lambda: 3.0,
        }[change]  # fmt: skip
        if change == "number":
            with pytest.raises(AttributeError):
                function(other())
        else:
            given = other()
            np.testing.assert_allclose(function(given).numpy(), np.tanh(given.numpy() * 2), 1e-5)
        assert seen[0] is False
        np.testing.assert_allclose(function(x).numpy(), np.tanh(x.numpy() * 2), 1e-5)


def test_a_protected_array_is_not_written_to():
    array = np.ones(4, np.float32)
    x = torch.from_numpy(array)
    function = torch.compile(lambda t: t.add_(1))
    for _ in range(3):
        function(x)
    seen = spied(function)
    function(x)
    assert seen == [True] and array[0] == 5
    x._array.setflags(write=False)
    with pytest.raises(Exception):  # noqa: B017  # whatever eager mode says
        function(x)
    assert seen == [True, False] and array[0] == 5


def test_memory_that_is_shared_is_seen():
    def write(a, b):
        a.mul_(2)
        return b + 1

    function = torch.compile(write)
    for _ in range(3):
        function(torch.ones(4), torch.ones(4))
    base = torch.ones(8)
    found = function(base[:4], base[2:6])
    other = torch.ones(8)
    expected = write(other[:4], other[2:6])
    assert torch.equal(found, expected) and torch.equal(base, other)


def test_writes_are_counted():
    x = torch.ones(3)
    function = torch.compile(lambda t: t.mul_(2))
    for number in range(5):
        assert x._version == number
        function(x)


def test_gradients_go_through_one_node():
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(4, 5), nn.Sigmoid(), nn.Linear(5, 2))
    compiled = torch.compile(model)
    x = torch.randn(3, 4, requires_grad=True)
    for _ in range(4):
        found = torch.autograd.grad(compiled(x).sin().sum(), [x, *model.parameters()])
        expected = torch.autograd.grad(model(x).sin().sum(), [x, *model.parameters()])
        for mine, other in zip(found, expected):
            assert torch.allclose(mine, other, atol=1e-6)
    y = compiled(x)
    assert type(y.grad_fn).__name__ == "CompiledFunctionBackward" and type(y.grad_fn).__mro__[1].__name__ == "RecordedNode"
    assert y.grad_fn.next_functions[1][0].variable is x or any(
        each[0] is not None and each[0].variable is x for each in y.grad_fn.next_functions
    )
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()


def recorded(function, *args):
    """Call a compiled function until its calls are short."""
    for _ in range(3):
        function(*args).sum().backward()
    seen = spied(function)
    made = function(*args)
    assert seen == [True]
    return made


def test_what_was_kept_and_written_to_is_refused():
    function = torch.compile(lambda a, b: (a * b).tanh())
    a, b = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    made = recorded(function, a, b)
    with torch.no_grad():
        a.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        made.sum().backward()
    made = function(a, b)
    with torch.no_grad():
        made.add_(1)  # tanh keeps its result
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        made.sum().backward()


def test_gradients_of_gradients_and_of_some_outputs():
    function = torch.compile(lambda a: (a.sin(), a * a * a))
    a = torch.randn(4, requires_grad=True)
    for _ in range(4):
        one, other = function(a)
        (one.sum() + other.sum()).backward()
    a.grad = None
    one, other = function(a)
    (first,) = torch.autograd.grad(other.sum(), a, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), a)
    assert torch.allclose(first, 3 * a * a) and torch.allclose(second, 6 * a)
    one, other = function(a)
    (first,) = torch.autograd.grad(one.sum(), a)
    assert torch.allclose(first, a.cos(), atol=1e-6)


def test_inputs_with_a_history_and_views():
    function = torch.compile(lambda a, b: (a * b).exp())
    leaf, b = torch.randn(4, requires_grad=True), torch.randn(4, requires_grad=True)
    for _ in range(5):
        leaf.grad = b.grad = None
        function(leaf * 2, b).sum().backward()
        expected = torch.autograd.grad((leaf * 2 * b).exp().sum(), [leaf, b])
        assert torch.allclose(leaf.grad, expected[0]) and torch.allclose(b.grad, expected[1])
    base = torch.zeros(2, 4, requires_grad=True)
    for _ in range(3):
        whole = base * 1
        view = whole[0]
        whole[0] = leaf * 3
        leaf.grad = None
        function(view, b).sum().backward()
        assert torch.allclose(leaf.grad, torch.autograd.grad((leaf * 3 * b).exp().sum(), leaf)[0])


def test_saved_tensor_hooks_see_what_is_kept():
    function = torch.compile(lambda a: a.exp() * a)
    a = torch.randn(4, requires_grad=True)
    recorded(function, a)
    seen = []

    def pack(tensor):
        seen.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        function(a).sum().backward()
    assert seen


def test_nothing_is_kept_alive():
    function = torch.compile(lambda a: (a * 2).exp().sum())
    a = torch.randn(1000, requires_grad=True)
    for _ in range(4):
        function(a).backward()
    made = function(a)
    node = weakref.ref(made.grad_fn)
    del made
    gc.collect()
    assert node() is None
    before = sys.getrefcount(None)
    for _ in range(200):
        function(a).backward()
        a.grad = None
    if sys.version_info < (3, 12):  # from there on None is not counted
        assert abs(sys.getrefcount(None) - before) < 50


def test_references_are_counted_right():
    x = torch.randn(8)
    function = torch.compile(lambda t: (t + 1, t * 2))
    with torch.no_grad():
        for _ in range(4):
            function(x)
            function(torch.randn(3))
        gc.collect()  # what compiling left refers to the dtype, too
        before = sys.getrefcount(x), sys.getrefcount(x._array), sys.getrefcount(x._array.dtype)
        for _ in range(100):
            function(x)
            function(torch.randn(3))
        made = function(x)
        counts = sys.getrefcount(made[0]), sys.getrefcount(made[0]._array)
        after = sys.getrefcount(x), sys.getrefcount(x._array), sys.getrefcount(x._array.dtype)
    assert before[:2] == after[:2] and abs(before[2] - after[2]) < 20
    assert counts == (2, 2)


def test_threads_call_one_program():
    function = torch.compile(lambda t: (t @ t).tanh().sum())
    matrices = [torch.randn(128, 128) for _ in range(4)]
    with torch.no_grad():
        expected = [function(each).item() for each in matrices]
        function(matrices[0])
    wrong = []

    def work(number):
        with torch.no_grad():
            for _ in range(50):
                if abs(function(matrices[number]).item() - expected[number]) > 1e-3:
                    wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_sizes_that_alternate():
    function = torch.compile(lambda t: (t * 2).sum(0), dynamic=True)
    for size in (3, 5, 3, 5, 7, 3, 5):
        x = torch.randn(size, 2, requires_grad=True)
        made = function(x)
        assert torch.allclose(made, (x * 2).sum(0))
        made.sum().backward()
        assert torch.equal(x.grad, torch.full((size, 2), 2.0))


def test_hooks_and_methods_of_modules_are_seen():
    torch.manual_seed(2)
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    compiled = torch.compile(model)
    x = torch.randn(2, 3)
    for _ in range(4):
        compiled(x).sum().backward()
    handle = model[0].register_forward_hook(lambda module, given, result: result + 1)
    assert torch.allclose(compiled(x), (model[0](x)).relu())
    handle.remove()
    model[1].forward = lambda t: t * 5
    assert torch.allclose(compiled(x), model[0](x) * 5)
    del model[1].forward
    assert torch.allclose(compiled(x), model[0](x).relu())
    model[0].weight = nn.Parameter(torch.zeros(3, 3))
    assert torch.allclose(compiled(x), model[0].bias.relu().expand(2, 3))

    class Other(nn.ReLU):
        def forward(self, t):
            return t - 1

    model[1].__class__ = Other
    assert torch.allclose(compiled(x), model[0](x) - 1)
