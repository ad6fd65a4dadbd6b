"""Training steps as ONNX files, run in ONNX Runtime against eager training."""

from __future__ import annotations

import json
import os
import warnings

import numpy as np
import onnx
import onnxruntime
import pytest
from models import GPT, ResNet, UNet, ViT
from support.onnx_files import onnx_session
from training_models import (
    MODELS,
    OPEN,
    OPTIMIZERS,
    Convolutional,
    Perceptron,
    classes,
    eager_step,
    numbers,
    prepared,
    same_states,
)

import rushlight as torch
from rushlight import nn, optim
from rushlight.backends import onnxrt
from rushlight.capture.compile.record.graph_breaks import counters
from rushlight.capture.tracer.tracer import TracerWarning
from rushlight.nn import functional as F
from rushlight.onnx import OnnxExporterError, export_training_step
from rushlight.onnx.errors import ExportInputError, UnsupportedOperatorError
from rushlight.utils.checkpoint import checkpoint

onnxruntime.set_default_logger_severity(4)


# -- steps equal eager's -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("name", MODELS)
def test_twenty_steps(name, kind, tmp_path):
    make, xs, ys = MODELS[name]
    model, x, y, stream = prepared(make, xs, ys)
    optimizer = OPTIMIZERS[kind](model.parameters())
    path = tmp_path / "step.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program = export_training_step(model, F.cross_entropy, optimizer, (x, y), path, dynamic_axes=OPEN)
    onnx.checker.check_model(str(path), full_check=True)
    assert not optimizer.state and all(each.grad is None for each in model.parameters())  # the export has trained nothing
    trainer = program.trainer()
    for _ in range(20):
        x, y = xs(7, stream), ys(7, stream)  # another batch than the traced one
        assert trainer.step(x, y) == pytest.approx(eager_step(model, optimizer, x, y), rel=1e-4)
    if kind == "sgd":  # Adam makes steps of the rounding errors of gradients that are zero, such as those of the keys' bias
        same_states(trainer, model)


@pytest.mark.parametrize("name", MODELS)
def test_compiled_training_runs_wholly_in_onnx_runtime(name):
    make, xs, ys = MODELS[name]
    losses = []
    for compiled in (False, True):
        model, x, y, stream = prepared(make, xs, ys)
        optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        run = torch.compile(model, backend="onnxrt") if compiled else model
        onnxrt._named.clear()
        before = dict(counters["aot_fallback"])
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # an op that runs outside is warned of
            losses.append([eager_step(run, optimizer, xs(4, stream), ys(4, stream)) for _ in range(6)])
        assert dict(counters["aot_fallback"]) == before
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-4)


SIZED = {
    "resnet": (ResNet, {"x": {0: "N", 2: "H", 3: "W"}}, lambda n, s: torch.randn(n, 3, 32 * s, 32), [(2, 1), (3, 2)]),
    "unet": (UNet, {"x": {0: "N", 2: "H", 3: "W"}}, lambda n, s: torch.randn(n, 3, 8 * s, 16), [(2, 1), (1, 3)]),
    "gpt": (GPT, {"tokens": {0: "N", 1: "L"}}, lambda n, s: torch.randint(1, 20, (n, s)), [(2, 8), (3, 20)]),
    "vit": (ViT, {"x": {0: "N"}}, lambda n, s: torch.randn(n, 3, 16, 16), [(2, 1), (5, 1)]),
}


@pytest.mark.parametrize("name", SIZED)
def test_other_sizes(name):
    make, axes, inputs, (first, other) = SIZED[name]
    torch.manual_seed(0)
    model = make()
    for each in model.modules():
        if isinstance(each, nn.Dropout):
            each.p = 0.0
        if isinstance(each, nn.MultiheadAttention):
            each.dropout = 0.0
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    square = lambda output: output.square().mean()
    program = export_training_step(model, square, optimizer, inputs(*first), dynamic_axes=axes)
    trainer = program.trainer()
    for _ in range(3):
        x = inputs(*other)
        assert trainer.step(x) == pytest.approx(eager_step(model, optimizer, x, None, lambda output, _: square(output)), rel=1e-4)


# -- optimizers --------------------------------------------------------------------------------------------------

RULES = {
    "sgd": lambda p: optim.SGD(p, lr=0.1),
    "maximize": lambda p: optim.SGD(p, lr=0.001, momentum=0.5, maximize=True),
    "amsgrad": lambda p: optim.Adam(p, lr=0.01, amsgrad=True, weight_decay=0.01),
    "adam with a tensor as rate": lambda p: optim.Adam(p, lr=torch.tensor(0.01)),
    "rmsprop": lambda p: optim.RMSprop(p, momentum=0.5, centered=True),
    "adagrad": lambda p: optim.Adagrad(p, lr_decay=0.1, weight_decay=0.01),
    "adadelta": optim.Adadelta,
    "adamax": optim.Adamax,
    "nadam": optim.NAdam,
    "rprop": optim.Rprop,
}


@pytest.mark.parametrize("name", RULES)
def test_optimizers(name):
    model, x, y, stream = prepared(*MODELS["custom function"])
    optimizer = RULES[name](model.parameters())
    trainer = export_training_step(model, F.cross_entropy, optimizer, (x, y)).trainer()
    for _ in range(10):
        x, y = numbers(6)(4, stream), classes(3)(4, stream)
        assert trainer.step(x, y) == pytest.approx(eager_step(model, optimizer, x, y), rel=1e-4)
    same_states(trainer, model)


def test_export_in_the_middle_of_training():
    model, x, y, stream = prepared(*MODELS["custom function"])
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, dampening=0.3)
    with pytest.raises(ExportInputError, match="take one step"):
        export_training_step(model, F.cross_entropy, optimizer, (x, y))
    eager_step(model, optimizer, x, y)
    trainer = export_training_step(model, F.cross_entropy, optimizer, (x, y)).trainer()
    for _ in range(5):
        assert trainer.step(x, y) == pytest.approx(eager_step(model, optimizer, x, y), rel=1e-4)


@pytest.mark.parametrize("make", [optim.RAdam, optim.ASGD, optim.LBFGS, optim.Adafactor])
def test_optimizers_that_cannot_be_exported(make):
    model, x, y, _ = prepared(*MODELS["custom function"])
    with pytest.raises(UnsupportedOperatorError, match=rf"{make.__name__} can't be exported.*AdamW"):
        export_training_step(model, F.cross_entropy, make(model.parameters()), (x, y))


def test_an_optimizer_with_a_step_of_its_own():
    class Odd(optim.SGD):
        def step(self, closure=None):
            return None

    model, x, y, _ = prepared(*MODELS["custom function"])
    with pytest.raises(UnsupportedOperatorError, match="Odd can't be exported"):
        export_training_step(model, F.cross_entropy, Odd(model.parameters()), (x, y))
    with pytest.raises(TypeError, match="must be an instance"):
        export_training_step(model, F.cross_entropy, object(), (x, y))


def test_learning_rates_of_groups():
    model, x, y, _ = prepared(*MODELS["custom function"])
    groups = [{"params": model.first.parameters(), "lr": 0.1}, {"params": model.second.parameters()}]
    optimizer = optim.AdamW(groups, lr=0.01)
    program = export_training_step(model, F.cross_entropy, optimizer, (x, y))
    trainer = program.trainer()
    for rate in (None, 0.02, {"learning_rate_0": 0.5}, {"learning_rate_1": 0.0}):
        before = [group["lr"] for group in optimizer.param_groups]
        for number, group in enumerate(optimizer.param_groups):
            group["lr"] = rate.get(f"learning_rate_{number}", group["lr"]) if isinstance(rate, dict) else rate or group["lr"]
        assert trainer.step(x, y, learning_rate=rate) == pytest.approx(eager_step(model, optimizer, x, y), rel=1e-4)
        for group, old in zip(optimizer.param_groups, before):
            group["lr"] = old
    same_states(trainer, model)
    with pytest.raises(ExportInputError, match="learning_rate_0, learning_rate_1"):
        trainer.step(x, y, learning_rate={"lr": 0.1})


@pytest.mark.parametrize("clip", [lambda p: nn.utils.clip_grad_norm_(p, 0.1), lambda p: nn.utils.clip_grad_value_(p, 0.01)])
def test_clipped_gradients(clip):
    model, x, y, _ = prepared(*MODELS["custom function"])
    optimizer = optim.SGD(model.parameters(), lr=1.0)
    trainer = export_training_step(model, F.cross_entropy, optimizer, (x, y), before_update=clip).trainer()
    for _ in range(5):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        clip(list(model.parameters()))
        optimizer.step()
        assert trainer.step(x, y) == pytest.approx(loss.item(), rel=1e-4)
    same_states(trainer, model)


# -- the file ----------------------------------------------------------------------------------------------------


def test_names_and_metadata_are_all_a_runner_needs(tmp_path):
    model, x, y, _ = prepared(*MODELS["batch norm"])
    optimizer = OPTIMIZERS["adamw"](model.parameters())
    path = tmp_path / "step.onnx"
    program = export_training_step(model, F.cross_entropy, optimizer, (x, y), path, outputs=True)
    loaded = onnx.load(path)
    pairs = json.loads({each.key: each.value for each in loaded.metadata_props}["rushlight.state"])
    assert set(model.state_dict()) <= set(pairs) and pairs["norm.running_mean"] == "norm.running_mean.next"
    assert {"optimizer.step", "optimizer.first.weight.exp_avg"} <= set(pairs)
    assert [each.name for each in loaded.graph.input][:2] == ["x", "target"]
    assert [each.name for each in loaded.graph.output] == ["loss", "output", *pairs.values()]
    state = program.initial_state()
    assert {name: array.shape for name, array in state.items() if name == "norm.bias"} == {"norm.bias": (6,)}
    session = onnx_session(path)
    names = [each.name for each in session.get_outputs()]
    for _ in range(3):
        found = dict(zip(names, session.run(names, {"x": x.numpy(), "target": y.numpy(), **state})))
        state = {name: found[output] for name, output in pairs.items()}
        output = model(x)
        np.testing.assert_allclose(found["output"], output.detach().numpy(), rtol=1e-3, atol=1e-5)
        loss = F.cross_entropy(output, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert found["loss"] == pytest.approx(loss.item(), rel=1e-4)


def test_nodes_know_the_users_lines_and_modules():
    model, x, y, _ = prepared(*MODELS["custom function"])
    program = export_training_step(model, F.cross_entropy, OPTIMIZERS["adamw"](model.parameters()), (x, y))
    nodes = list(program.graph.nodes())
    assert {"first", "second", "loss", "optimizer", ""} == {each.module for each in nodes}
    backward = [each for each in nodes if each.source and each.source[2] == "backward"]
    assert {each.op_type for each in backward} >= {"Abs", "Less"}  # the user's own backward
    assert {each.domain for each in nodes} == {""}


def test_what_does_not_change_is_stored():
    model, x, y, _ = prepared(*MODELS["batch norm"])
    model.first.requires_grad_(False)
    model.register_buffer("unused", torch.ones(2))
    optimizer = optim.SGD([each for each in model.parameters() if each.requires_grad], lr=0.1)
    program = export_training_step(model, F.cross_entropy, optimizer, (x, y))
    assert "first.weight" not in program.states and "norm.running_var" in program.states
    stored = [each.name for each in program.model_proto.graph.initializer]
    assert "first.weight" in stored and "unused" not in stored
    before = model.first.weight.detach().clone()
    trainer = program.trainer()
    assert trainer.step(x, y) == pytest.approx(eager_step(model, optimizer, x, y), rel=1e-4)
    assert torch.equal(model.first.weight, before)


def test_the_state_goes_back_to_a_model():
    model, x, y, _ = prepared(*MODELS["batch norm"])
    optimizer = OPTIMIZERS["adamw"](model.parameters())
    trainer = export_training_step(model, F.cross_entropy, optimizer, (x, y)).trainer()
    other = Convolutional()
    other_optimizer = OPTIMIZERS["adamw"](other.parameters())
    for _ in range(3):
        trainer.step(x, y)
        eager_step(model, optimizer, x, y)
    trainer.copy_to(other, other_optimizer)
    assert eager_step(other, other_optimizer, x, y) == pytest.approx(eager_step(model, optimizer, x, y), rel=1e-4)
    assert eager_step(other, other_optimizer, x, y) == pytest.approx(eager_step(model, optimizer, x, y), rel=1e-4)
    assert other.norm.num_batches_tracked == model.norm.num_batches_tracked


@pytest.mark.parametrize("opset", [11, 13, 15, 17, 18, 21])
@pytest.mark.parametrize("name", ["batch norm", "lstm", "gpt", "embeddings"])
def test_opsets(name, opset):
    make, xs, ys = MODELS[name]
    model, x, y, stream = prepared(make, xs, ys)
    optimizer = OPTIMIZERS["adamw"](model.parameters())
    program = export_training_step(model, F.cross_entropy, optimizer, (x, y), opset_version=opset, dynamic_axes=OPEN)
    assert [(each.domain, each.version) for each in program.model_proto.opset_import] == [("", opset)]
    trainer = program.trainer()
    for _ in range(3):
        x, y = xs(5, stream), ys(5, stream)
        assert trainer.step(x, y) == pytest.approx(eager_step(model, optimizer, x, y), rel=1e-4)


def test_external_data_and_file_objects(tmp_path):
    model, x, y, _ = prepared(*MODELS["custom function"])
    frozen = nn.Sequential(nn.Linear(6, 600).requires_grad_(False), nn.Linear(600, 6), model)
    optimizer = optim.SGD([each for each in frozen.parameters() if each.requires_grad], lr=0.1)
    export_training_step(frozen, F.cross_entropy, optimizer, (x, y), tmp_path / "step.onnx", external_data=True)
    assert sorted(os.listdir(tmp_path)) == ["step.onnx", "step.onnx.data"]
    onnx_session(tmp_path / "step.onnx")
    with open(tmp_path / "other.onnx", "wb") as file:
        export_training_step(model, F.cross_entropy, optim.SGD(model.parameters()), (x, y), file)
    onnx.checker.check_model(str(tmp_path / "other.onnx"), full_check=True)


# -- what can be given --------------------------------------------------------------------------------------------


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(3, 2), nn.Linear(3, 2)

    def forward(self, one, two, weight=None):
        found = self.left(one) + self.right(two)
        return {"sum": found if weight is None else found * weight, "other": one.detach() * 2}


def test_several_inputs_and_targets():
    torch.manual_seed(0)
    model = Pair()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    one, two, want, scale = torch.randn(4, 3), torch.randn(4, 3), torch.randn(4, 2), torch.rand(4, 1)
    loss = lambda outputs, want, scale: ((outputs["sum"] - want) * scale).square().mean()
    for batch in (((one, two), (want, scale)), (one, two, (want, scale)), ({"one": one, "two": two}, {"want": want, "scale": scale})):
        program = export_training_step(model, loss, optimizer, batch, outputs=True)
        assert program.input_names == ["one", "two", "want", "scale"]
        found, _ = program.run_step(program.initial_state(), one, two, want, scale)
        assert list(found) == ["loss", "sum", "other"]
        assert found["loss"] == pytest.approx(loss(model(one, two), want, scale).item(), rel=1e-5)
    renamed = export_training_step(model, loss, optimizer, ((one, two), (want, scale)), input_names=["a", "b"])
    assert renamed.input_names == ["a", "b", "want", "scale"]
    with pytest.raises(ExportInputError, match="4 inputs .*, and 3 were given"):
        renamed.run_step(renamed.initial_state(), one, two, want)
    with pytest.raises(ExportInputError, match="the state has no 'left.weight'"):
        renamed.run_step({}, one, two, want, scale)


def test_a_model_that_gives_its_loss():
    class Whole(Perceptron):
        def forward(self, x, y):
            logits = super().forward(x)
            return {"logits": logits, "loss": F.cross_entropy(logits, y)}

    model, x, y = Whole(), torch.randn(4, 6), torch.tensor([0, 1, 2, 0])
    program = export_training_step(model, None, optim.SGD(model.parameters(), lr=0.1), (x, y), outputs=True)
    found, _ = program.run_step(program.initial_state(), x, y)
    assert list(found) == ["loss", "logits"]
    assert found["loss"] == pytest.approx(model(x, y)["loss"].item(), rel=1e-5)


def test_a_loss_with_parameters():
    class Learned(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(()))

        def forward(self, output, target):
            return (F.mse_loss(output, target) * torch.exp(-self.scale) + self.scale).mean()

    torch.manual_seed(0)
    model, loss = nn.Linear(3, 2), Learned()
    optimizer = optim.Adam([*model.parameters(), *loss.parameters()], lr=0.1)
    x, y = torch.randn(4, 3), torch.randn(4, 2)
    program = export_training_step(model, loss, optimizer, (x, y))
    assert list(program.states)[:3] == ["weight", "bias", "loss.scale"]
    trainer = program.trainer()
    for _ in range(4):
        assert trainer.step(x, y) == pytest.approx(eager_step(model, optimizer, x, y, loss), rel=1e-4)


def test_dropout_is_drawn_by_the_runtime():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Dropout(0.4), nn.Linear(200, 1, bias=False))
    program = export_training_step(model, lambda output: output.sum(), optim.SGD(model.parameters(), lr=1.0), torch.ones(1, 200))
    state = program.initial_state()
    masks = []
    for _ in range(2):
        found, after = program.run_step(state, torch.ones(1, 200))
        mask = state["1.weight"] - after["1.weight"]  # the gradient: the mask, scaled
        np.testing.assert_allclose(np.unique(mask.round(4)), [0, 1.6667])
        assert 0.4 < (mask > 0).mean() < 0.8
        assert found["loss"] == pytest.approx((mask * state["1.weight"]).sum(), rel=1e-3, abs=1e-4)  # forward had the same
        masks.append(mask)
    assert not np.array_equal(*masks)


def test_what_a_model_keeps_from_call_to_call_is_not_touched():
    class Keeping(Perceptron):
        mask = None
        calls = 0

        def forward(self, x):
            self.calls += 1
            if self.mask is None:
                self.mask = torch.ones(x.shape[1]).tril() if x.dim() == 1 else torch.ones(x.shape[1])
                self.kept = {"mask": self.mask}
            return super().forward(x * self.mask)

    model = Keeping()
    trainer = step_of(model, dynamic_axes=OPEN).trainer()
    assert model.mask is None and model.calls == 0 and not hasattr(model, "kept")
    x, y = torch.randn(5, 6), torch.tensor([0, 1, 2, 0, 1])
    assert trainer.step(x, y) == pytest.approx(F.cross_entropy(model(x), y).item(), rel=1e-4)


def test_a_backward_that_runs_parts_of_the_model_again():
    class Checkpointed(Perceptron):
        def forward(self, x):
            return checkpoint(lambda hidden: self.second(torch.tanh(hidden)), self.first(x), use_reentrant=True)

    torch.manual_seed(0)
    model = Checkpointed()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(4, 6), torch.tensor([0, 1, 2, 0])
    program = export_training_step(model, F.cross_entropy, optimizer, (x, y))
    trainer = program.trainer()
    for _ in range(3):
        assert trainer.step(x, y) == pytest.approx(eager_step(model, optimizer, x, y), rel=1e-4)
    same_states(trainer, model)


# -- what is refused ---------------------------------------------------------------------------------------------


def step_of(model, loss=F.cross_entropy, batch=None, **options):
    batch = batch or (torch.randn(4, 6), torch.tensor([0, 1, 2, 0]))
    return export_training_step(model, loss, optim.SGD(model.parameters(), lr=0.1), batch, **options)


def test_bad_arguments():
    model = Perceptron()
    with pytest.raises(TypeError, match="takes a Module"):
        export_training_step(lambda x: x, None, None, torch.ones(2))
    with pytest.raises(TypeError, match="loss must be"):
        step_of(model, 3)
    with pytest.raises(ExportInputError, match=r"the loss has the shape \(4, 3\)"):
        step_of(model, lambda output, target: output)
    with pytest.raises(ExportInputError, match="no floating-point number"):
        step_of(model, lambda output, target: target.sum())
    with pytest.raises(ExportInputError, match="does not depend on any parameter"):
        step_of(model, lambda output, target: (target * 1.0).sum())
    with pytest.raises(ExportInputError, match="none of the model's"):
        export_training_step(model, F.cross_entropy, optim.SGD(nn.Linear(2, 2).parameters()), torch.ones(2, 6))
    with pytest.raises(ExportInputError, match="'y', which is no input; the inputs are x, target"):
        step_of(model, dynamic_axes={"y": [0]})
    with pytest.raises(ExportInputError, match="has 2 dimensions"):
        step_of(model, dynamic_axes={"x": {2: "n"}})
    with pytest.raises(ExportInputError, match="'n' is 4 in one of the example inputs and 6"):
        step_of(model, dynamic_axes={"x": {0: "n", 1: "n"}})
    with pytest.raises(ExportInputError, match="'first.bias' is the name of an input and of a parameter"):
        step_of(model, input_names=["first.bias"])
    with pytest.raises(ExportInputError, match="opset_version=7"):
        step_of(model, opset_version=7)
    with pytest.raises(ExportInputError, match="f must be a path"):
        step_of(model, f=3)
    with pytest.warns(UserWarning, match="eval mode"):
        step_of(model.eval())


def test_a_choice_by_a_value_names_the_line():
    class Choice(Perceptron):
        def forward(self, x):
            if x.sum() > 0:
                return super().forward(x)
            return super().forward(-x)

    with pytest.raises(OnnxExporterError, match=r"(?s)torch.where.*test_onnx_training.py.*in forward"):
        step_of(Choice())


def test_an_operator_without_a_form_names_the_line():
    class Singular(Perceptron):
        def forward(self, x):
            return super().forward(x) + torch.linalg.svdvals(x).sum()

    with pytest.raises(UnsupportedOperatorError, match=r"(?s)svdvals.*test_onnx_training.py.*in forward"):
        step_of(Singular())


def test_a_size_as_a_number_is_warned_of():
    class Scaled(Perceptron):
        def forward(self, x):
            return super().forward(x) * (2.0 / x.shape[0])

    with pytest.warns(TracerWarning, match=r"depends? on a dynamic size.*test_onnx_training.py.*in forward"):
        step_of(Scaled(), dynamic_axes=OPEN)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step_of(Scaled())  # where the batch is fixed, all is well


def test_nothing_is_left_behind(tmp_path):
    with pytest.raises(ExportInputError, match="can't write"):
        step_of(Perceptron(), f=tmp_path / "missing" / "step.onnx")
    assert os.listdir(tmp_path) == []
