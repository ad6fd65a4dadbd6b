"""Every error class has a code of its own, and a row in the table of codes, of which docs/errors.md and a page each are made."""

import pytest

import rushlight
import rushlight.autograd.gradcheck
import rushlight.compiler
import rushlight.cuda
import rushlight.jit
import rushlight.model_files  # whose errors, and those of torch.export, are loaded late
import rushlight.onnx
import rushlight.utils.checkpoint
import rushlight.utils.safetensors
from rushlight.core.error_codes import CODES
from rushlight.core.errors import RushlightError


def classes(base=RushlightError):
    for each in base.__subclasses__():
        yield each
        yield from classes(each)


def test_codes_are_unique_and_documented():
    found = {
        each.__name__: each
        for each in classes()
        if each.__module__.startswith("rushlight")
        and not each.__module__.startswith("rushlight.compat")  # PyTorch's private names for them
    }
    codes = [each.code for each in found.values()]
    assert len(set(codes)) == len(codes) and set(codes) == set(CODES)
    assert all(row.meaning and row.advice and row.wrong for row in CODES.values())


def test_each_error_derives_from_what_pytorch_raises():
    for each in classes():
        if each.code in CODES:
            assert CODES[each.code].base in [base.__name__ for base in each.__mro__], each


@pytest.mark.parametrize(
    "name",
    "leaky_relu elu celu selu gelu silu softplus mish hardswish hardsigmoid logsigmoid softshrink hardshrink rrelu glu".split(),
)
def test_activations_that_have_no_integers(name):
    with pytest.raises(NotImplementedError, match="not implemented for"):
        getattr(rushlight.nn.functional, name)(rushlight.ones(2, 2, dtype=rushlight.int64))


@pytest.mark.parametrize("name", ["cross_entropy", "nll_loss"])
@pytest.mark.parametrize("kind", ["int32", "int16", "int8", "bool", "float32"])
def test_numbers_of_classes_are_int64_or_uint8(name, kind):
    loss, scores, classes = getattr(rushlight.nn.functional, name), rushlight.zeros(2, 3), rushlight.tensor([0, 1])
    with pytest.raises(RuntimeError, match="expected target dtype to be Long or Byte, but got"):
        loss(scores, classes.to(getattr(rushlight, kind)))
    assert loss(scores, classes.to(rushlight.uint8)) == loss(scores, classes)


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm", "group_norm", "instance_norm", "batch_norm"])
def test_norms_of_whole_numbers_are_refused(name):
    options = {
        "layer_norm": ((3,),),
        "rms_norm": ((3,),),
        "group_norm": (1,),
        "instance_norm": (),
        "batch_norm": (None, None, None, None, True),
    }[name]
    for x in (rushlight.arange(12).reshape(2, 2, 3), rushlight.ones(2, 2, 3, dtype=rushlight.bool)):
        with pytest.raises(NotImplementedError, match="not implemented for"):
            getattr(rushlight.nn.functional, name)(x, *options)
