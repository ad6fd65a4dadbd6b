"""Guards that the virtual machine evaluates: whatever changes between two calls of a compiled training step is seen, and so is what comes back."""

import gc
import threading
import weakref

import numpy as np
import pytest

import rushlight as torch
from rushlight.runtime.call import guard_compiler, guard_vm
from rushlight.runtime.call.settings import settings

pytest.importorskip("llvmlite")
nn, F = torch.nn, torch.nn.functional
BEFORE, AFTER = 9, 9  # calls: the guards are left to native code after a few
NATIVE = pytest.mark.parametrize("evaluator", ["virtual machine"], indirect=True)


@pytest.fixture(autouse=True, params=["virtual machine", "Python"])
def evaluator(request, monkeypatch):
    """Every test runs with both evaluators of guards, but for those of the virtual machine itself."""
    monkeypatch.setattr(settings, "guard_vm", request.param == "virtual machine")


class Program:
    """A model, its optimizer, and a step that reads a few things besides."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)
        self.scale, self.to_none, self.flags = 1.0, True, [1, 2]
        self.seen: list[float] = []
        model, optimizer, loss_of = self.model, self.optimizer, F.mse_loss

        def step(x, y, settings):
            optimizer.zero_grad(set_to_none=settings.to_none)
            loss = loss_of(model(x), y) * settings.scale
            if len(settings.flags) > 2:
                loss = loss + 1
            loss.backward()
            optimizer.step()
            return loss

        def rebind(other):
            nonlocal loss_of
            loss_of = other

        self.step, self.rebind = step, rebind


def other_weight(p):
    p.model[0].weight = nn.Parameter(torch.full((8, 4), 0.1))


def other_parameters(p):
    p.optimizer.param_groups[0]["params"] = list(p.model.parameters())[:2]


def add_group(p):
    p.optimizer.param_groups[0]["params"].pop()
    p.optimizer.add_param_group({"params": [p.model[3].bias], "lr": 0.5})


def set_class(p):
    class Other(nn.Tanh):
        def forward(self, x):
            return x * 0.5

    p.model[2].__class__ = Other


def change_class(p):
    p.patched = (nn.Tanh, nn.Tanh.forward)
    nn.Tanh.forward = lambda self, x: x * 0.5


def hook_all(p):
    p.handle = nn.modules.module.register_module_forward_hook(lambda module, args, out: out * 2 if isinstance(module, nn.Tanh) else None)


def swap(p):
    p.model._modules["2"], p.model._modules["3"] = p.model._modules["3"], p.model._modules["2"]
    p.model[2] = nn.Identity()


def old_gradient(p):
    p.to_none = False
    p.model[0].weight.grad = torch.ones(8, 4)


CHANGES = {
    "another parameter": other_weight,
    "data": lambda p: setattr(p.model[0].weight, "data", torch.full((8, 4), 0.2)),
    "a written parameter": lambda p: p.model[0].weight.data.fill_(0.3),
    "strides": lambda p: setattr(p.model[0].weight, "data", torch.arange(32.0).reshape(4, 8).t() / 32),
    "no gradient": lambda p: p.model[0].weight.requires_grad_(False),
    "evaluation": lambda p: p.model.eval(),
    "evaluation of a part": lambda p: p.model[1].eval(),
    "momentum of a norm": lambda p: setattr(p.model[1], "momentum", 0.5),
    "forward hook": lambda p: p.model[2].register_forward_hook(lambda module, args, out: out * 2),
    "forward pre-hook": lambda p: p.model.register_forward_pre_hook(lambda module, args: (args[0] * 2,)),
    "backward hook": lambda p: p.model[3].register_full_backward_hook(lambda module, given, out: (given[0] * 2,)),
    "hook of all modules": hook_all,
    "hook of a parameter": lambda p: p.model[0].weight.register_hook(lambda gradient: gradient * 2),
    "hook after a gradient": lambda p: p.model[0].weight.register_post_accumulate_grad_hook(
        lambda each: setattr(each, "grad", each.grad.mul_(2))
    ),
    "hook of the optimizer": lambda p: p.optimizer.register_step_pre_hook(lambda *args: p.seen.append(7.0)),
    "rate": lambda p: p.optimizer.param_groups[0].update(lr=0.2),
    "rate as a tensor": lambda p: p.optimizer.param_groups[0].update(lr=torch.tensor(0.2)),
    "weight decay": lambda p: p.optimizer.param_groups[0].update(weight_decay=0.1),
    "momentum": lambda p: p.optimizer.param_groups[0].update(momentum=0.9),
    "maximize": lambda p: p.optimizer.param_groups[0].update(maximize=True),
    "fewer parameters": other_parameters,
    "two groups": add_group,
    "gradients filled with zeros": lambda p: setattr(p, "to_none", False),
    "gradients that add up": old_gradient,
    "a layer": lambda p: p.model.__setitem__(2, nn.ReLU()),
    "one layer more": lambda p: p.model.append(nn.Tanh()),
    "the order of layers": swap,
    "a class": set_class,
    "a method of a class": change_class,
    "a method of an instance": lambda p: setattr(p.model[2], "forward", lambda x: x * 0.5),
    "the loss": lambda p: p.rebind(F.l1_loss),
    "a number": lambda p: setattr(p, "scale", 2.0),
    "an equal number": lambda p: setattr(p, "scale", float("1.0")),
    "a list": lambda p: p.flags.append(3),
    "another list": lambda p: setattr(p, "flags", [5, 6]),
    "no bias": lambda p: p.model[3].register_parameter("bias", None),
}


def trained(change, compile):
    program = Program()
    step = compile(program.step)
    torch.manual_seed(1)
    x, y = torch.randn(6, 4), torch.randn(6, 1)
    losses = []
    try:
        for number in range(BEFORE + AFTER):
            if number == BEFORE:
                CHANGES[change](program)
            losses.append(step(x, y, program).item())
    finally:
        if hasattr(program, "patched"):
            program.patched[0].forward = program.patched[1]
        if hasattr(program, "handle"):
            program.handle.remove()
    gradients = [None if each.grad is None else each.grad.numpy().copy() for each in program.model.parameters()]
    return losses + program.seen, gradients, [each.detach().numpy().copy() for each in program.model.parameters()]


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_is_seen(change):
    expected = trained(change, lambda f: f)
    kept = []

    def compile(function):
        kept.append(torch.compile(function))
        return kept[0]

    found = trained(change, compile)
    np.testing.assert_allclose(found[0], expected[0], 1e-4, 1e-5)
    for mine, theirs in zip(found[1] + found[2], expected[1] + expected[2], strict=True):
        assert (mine is None) is (theirs is None)
        if mine is not None:
            np.testing.assert_allclose(mine, theirs, 1e-3, 1e-5)


def steady(count=BEFORE):
    """A compiled step of a plain model that native code guards, with how often it did."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    x, y = torch.randn(6, 4), torch.randn(6, 1)
    compiled = torch.compile(step)
    for _ in range(count):
        compiled(x, y)
    return model, optimizer, compiled, (x, y)


@pytest.fixture
def native_checks(monkeypatch):
    """Whether each call was guarded by native code alone: a list that the calls of what is compiled from here on add to."""
    seen, original = [], guard_compiler.CompiledGuards.function

    def function(self, variables):
        inner = original(self, variables)

        def check(slots):
            found = inner(slots)
            seen.append(found is not NotImplemented)
            return found

        return check

    monkeypatch.setattr(guard_compiler.CompiledGuards, "function", function)
    return seen


@NATIVE
def test_guards_are_left_to_native_code(native_checks):
    assert guard_vm.available()
    model, optimizer, compiled, given = steady()
    native_checks.clear()
    for _ in range(3):
        compiled(*given)
    assert native_checks == [True] * 3
    optimizer.param_groups[0]["lr"] = 0.01  # the guards take it, and note it
    for _ in range(3):
        compiled(*given)
    assert native_checks[3:] == [False, True, True]
    assert len(compiled._compiled.cache.entries[None]) == 1


@NATIVE
def test_what_is_refused_often_is_looked_at_anew(native_checks):
    model, _, compiled, given = steady()
    model.__dict__["_modules"] = dict(model.__dict__["_modules"])  # another dict with the same layers
    model[0].in_features = int("4" + "000") // 1000  # an equal number is another object, and left to the guards
    for _ in range(BEFORE):
        compiled(*given)
    native_checks.clear()
    compiled(*given)
    assert native_checks == [True] and len(compiled._compiled.cache.entries[None]) == 1


@NATIVE
def test_modes_and_threads_are_seen(native_checks):
    model, _, compiled, given = steady(20)
    native_checks.clear()
    results = []

    def run():
        with torch.no_grad():
            try:
                compiled(*given)
            except RuntimeError as error:
                results.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert len(results) == 1 and "grad" in results[0]
    compiled(*given)
    assert native_checks[-1]
    torch.set_default_dtype(torch.float64)
    try:
        assert compiled(*given).dtype is torch.float32
    finally:
        torch.set_default_dtype(torch.float32)


def test_many_threads_call_one_step():
    _, _, compiled, given = steady(20)
    failed = []

    def work():
        try:
            for _ in range(300):
                assert np.isfinite(compiled(*given).item())
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failed


# -- gradients that are used again -----------------------------------------------------------------------------------


def test_a_gradient_that_nobody_has_is_used_again():
    model, _, compiled, given = steady()
    before = [id(each.grad) for each in model.parameters()]
    compiled(*given)
    assert [id(each.grad) for each in model.parameters()] == before


@pytest.mark.parametrize("who", ["tensor", "array", "view", "alias", "numpy view", "memoryview", "weak", "attribute", "list", "storage"])
def test_a_gradient_that_somebody_has_is_left_alone(who):
    model, _, compiled, given = steady()
    weight = model[0].weight
    expected = weight.grad.numpy().copy()
    holders = {
        "tensor": lambda: weight.grad, "array": lambda: weight.grad._array, "view": lambda: weight.grad[0], "alias": lambda: weight.grad.detach(),
        "numpy view": lambda: weight.grad._array[1:], "memoryview": lambda: memoryview(weight.grad._array), "weak": lambda: weakref.ref(weight.grad),
        "attribute": lambda: setattr(weight.grad, "mark", 7), "list": lambda: [weight.grad], "storage": lambda: weight.grad.untyped_storage(),
    }  # fmt: skip
    held, before = holders[who](), id(weight.grad)
    compiled(*given)
    if who in ("weak", "attribute"):
        assert not hasattr(weight.grad, "mark") and (who != "weak" or held() is None)
    else:
        assert id(weight.grad) != before or who in ("array", "numpy view", "memoryview", "storage")
        found = {
            "tensor": lambda: held.numpy(), "array": lambda: held, "view": lambda: held.numpy(), "alias": lambda: held.numpy(), "numpy view": lambda: held,
            "memoryview": lambda: np.asarray(held), "list": lambda: held[0].numpy(), "storage": lambda: np.array(held.tolist(), np.uint8).view(np.float32).reshape(8, 4),
        }[who]()  # fmt: skip
        part = {"view": expected[0], "numpy view": expected[1:]}.get(who, expected)
        np.testing.assert_array_equal(found, part)
    assert not np.array_equal(weight.grad.numpy(), expected)


def test_gradients_of_other_kinds_are_replaced():
    model, _, compiled, given = steady()
    weight = model[0].weight
    for other in (None, torch.ones(4, 8).t(), torch.ones(8, 4, dtype=torch.float32)[:, :], torch.zeros(8, 4).requires_grad_(True)):
        weight.grad = other
        loss = compiled(*given)
        assert weight.grad is not other and weight.grad.is_contiguous() and not weight.grad.requires_grad and loss.item() > 0


def test_nothing_is_kept_alive():
    model, optimizer, compiled, _ = steady(40)
    reference = weakref.ref(model)
    del model, optimizer, compiled
    gc.collect()
    assert reference() is None


def test_memory_does_not_grow():
    _, _, compiled, given = steady(50)
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(2000):
        compiled(*given)
    gc.collect()
    assert len(gc.get_objects()) - before < 50


# -- when parameters are updated ----------------------------------------------------------------------------------------


def steps_of(compiled):
    backend = compiled._compiled.cache.entries[None][-1].executable
    return [str(each) for each in backend.used.forward.last.schedule.steps]


def test_parameters_are_updated_while_gradients_are_in_the_cache():
    _, _, compiled, _ = steady()
    steps = steps_of(compiled)
    last = max(at for at, each in enumerate(steps) if "matmul" in each)
    updates = [at for at, each in enumerate(steps) if "sub_" in each]
    assert len(updates) == 4 and any(at < last for at in updates)


def test_a_parameter_is_not_updated_before_all_have_read_it():
    """It is used again at the end, when its first gradient has long been there."""

    def trained(compile):
        torch.manual_seed(0)
        first, second = nn.Linear(8, 8), nn.Linear(8, 8)
        optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1, momentum=0.5)
        x = torch.randn(5, 8)

        def step():
            optimizer.zero_grad()
            loss = first(second(first(x).tanh()).tanh()).square().sum()
            loss.backward()
            optimizer.step()
            return loss, first.weight.sum(), second.weight.grad * first.weight.detach()

        run = compile(step)
        for _ in range(7):
            run()
        return [each.detach().numpy() for each in (*run(), *first.parameters(), *second.parameters())]

    for mine, theirs in zip(trained(torch.compile), trained(lambda f: f)):
        np.testing.assert_allclose(mine, theirs, 1e-4, 1e-5)


def test_an_index_out_of_range_leaves_parameters_alone():
    torch.manual_seed(0)
    table, layer = nn.Embedding(5, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*table.parameters(), *layer.parameters()], lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = layer(table(x)).square().sum()
        loss.backward()
        optimizer.step()
        return loss

    compiled = torch.compile(step)
    for _ in range(9):
        compiled(torch.tensor([0, 1]))
    before = [each.detach().numpy().copy() for each in (*table.parameters(), *layer.parameters())]
    with pytest.raises(IndexError):
        compiled(torch.tensor([0, 7]))
    for mine, each in zip(before, (*table.parameters(), *layer.parameters())):
        np.testing.assert_array_equal(mine, each.detach().numpy())
    assert compiled(torch.tensor([0, 1])).item() >= 0


@NATIVE
def test_dicts_whose_changes_are_not_counted(monkeypatch, native_checks):
    """As in later Pythons: every key is asked for in every check."""
    monkeypatch.setattr(guard_vm, "has_versions", lambda: False)
    model, _, compiled, given = steady()
    native_checks.clear()
    compiled(*given)
    model[1].register_forward_hook(lambda module, args, out: out * 2)
    compiled(*given)
    assert native_checks[0] and len(native_checks) > 1 and not any(native_checks[1:])


def test_where_objects_have_an_unknown_layout(monkeypatch):
    monkeypatch.setattr(guard_vm, "available", lambda: False)
    model, _, compiled, given = steady(20)
    assert compiled._compiled.cache.entries[None][-1].run.__name__ == "segment"
    assert compiled(*given).item() > 0
