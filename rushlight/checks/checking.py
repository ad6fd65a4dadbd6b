"""The checks of a custom Function, one function for each family."""

from __future__ import annotations

import gc
import inspect
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..autograd.differentiation import grad
from ..autograd.function import Function
from ..autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from ..core.base import TensorBase, make
from ..core.errors import ArgumentError, ValueRangeError
from ..library.custom_op import CustomOpDef, as_function
from ..library.registration import find
from ..ops.overloads import OpOverload, OpOverloadPacket
from . import CHECKS, MODES
from .modes import check_modes
from .report import FAILED, PASSED, SKIPPED, WARNED, Report
from .subject import LARGE, Subject, guess

STEP = 1e-6


def check(function: Any, *args: Any, skip: Sequence[str] = (), step: Callable[[str], None] = lambda text: None) -> Report:
    """Check a custom Function on these arguments and on variations of them (other shapes, strides and dtypes).

    Without arguments some are guessed.  ``skip`` names rows that are left out.  The report prints as a table; ``.ok`` says whether
    nothing failed.
    """
    if isinstance(function, (CustomOpDef, OpOverload, OpOverloadPacket)):
        args, function = tuple(find(function).schema.bind(args, {})), as_function(function)
    if not (inspect.isclass(function) and issubclass(function, Function)):
        raise ArgumentError(f"check() takes a custom Function, a class that derives from autograd.Function, not {function!r}")
    if not args:
        found = guess(function)
        if found is None:
            raise ArgumentError(
                f"no arguments were given, and none that {function.__name__}.forward takes could be guessed: give example arguments"
            )
        args = found
    for name in skip:
        if name not in CHECKS:
            raise ValueRangeError(f"there is no check {name!r} to skip; there are {', '.join(CHECKS)}")
    report = Report(function.__name__)
    subject = Subject(function, tuple(args))
    for name, family in FAMILIES.items():
        if name not in skip:
            step(f"checking {name}")
            try:
                family(subject, report)
            except Exception as error:  # whatever the user's code raises, where no row has said so yet
                if report.ok:
                    report.add(
                        name,
                        FAILED,
                        short(error),
                        "forward or backward raises here, though forward ran on such arguments without gradients",
                    )
            if name == "forward" and not report.ok:
                return report
            if any(row.name == "backward" and row.outcome == FAILED for row in report.rows):
                break  # what follows would say the same
    check_modes(subject, report, [each for each in MODES if each not in skip], step)
    return report


def short(error: BaseException) -> str:
    """An exception in one line."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


def arrays(values: Sequence[Any]) -> list[np.ndarray | None]:
    """Copies of the elements of tensors."""
    return [np.array(each.detach()._array) if isinstance(each, TensorBase) else None for each in values]


def same(a: Any, b: Any) -> bool:
    """Whether two lists of arrays hold the same elements."""
    return all(
        (x is None and y is None)
        or (x is not None and y is not None and x.shape == y.shape and np.array_equal(x, y, equal_nan=x.dtype.kind in "fc"))
        for x, y in zip(a, b)
    )


def changed_positions(before: Sequence[Any], after: Sequence[Any]) -> list[int]:
    """Where arrays are no longer the same."""
    return [at for at, (x, y) in enumerate(zip(before, after)) if x is not None and not same([x], [y])]


def check_forward(subject: Subject, report: Report) -> None:
    """It runs, and returns tensors."""
    args = subject.prepared("float64", grad=False)
    try:
        context, results = subject.forward(args)
    except Exception as error:
        report.add(
            "forward",
            FAILED,
            short(error),
            "forward raises on these arguments; give others (rushlight.check(MyFunction, x, ...)), or --input",
        )
        return
    subject.dirty = [at for at, each in enumerate(args) if any(each is other for other in context._dirty)]
    if not any(isinstance(each, TensorBase) for each in results):
        report.add("forward", FAILED, "it returns no tensor", "return a tensor, or a tuple with tensors in it")
        return
    shapes = ", ".join(f"{list(each.shape)}" for each in results if isinstance(each, TensorBase))
    report.add("forward", PASSED, f"gives {shapes}")


def check_marks(subject: Subject, report: Report) -> None:
    """What forward writes to is marked, and returned; what is marked is written to; outputs without gradient are marked."""
    args = subject.prepared("float64", grad=False)
    before = arrays(args)
    context, results = subject.forward(args)
    written = changed_positions(before, arrays(args))
    names = subject.names
    unmarked = [names[at] for at in written if at not in subject.dirty]
    idle = [names[at] for at in subject.dirty if at not in written]
    absent = [names[at] for at in subject.dirty if not any(args[at] is each for each in results)]
    if unmarked:
        report.add(
            "in-place marks",
            FAILED,
            f"forward writes to {', '.join(unmarked)} and does not say so",
            f"call ctx.mark_dirty({', '.join(unmarked)}) and return it, or work on a clone()",
        )
    elif absent:
        report.add(
            "in-place marks",
            FAILED,
            f"{', '.join(absent)} is marked dirty and not returned",
            "return the tensor that was written to as an output",
        )
    elif idle:
        report.add(
            "in-place marks",
            WARNED,
            f"{', '.join(idle)} is marked dirty but keeps its values",
            "leave out ctx.mark_dirty() of what forward does not write to",
        )
    else:
        report.add(
            "in-place marks",
            PASSED,
            f"{', '.join(names[at] for at in subject.dirty)} is written to, and marked" if subject.dirty else "no input is written to",
        )
    marked = [at for at, each in enumerate(results) if any(each is other for other in context._non_differentiable)]
    foreign = [each for each in context._non_differentiable if not any(each is other for other in results)]
    flat = flat_outputs(subject)
    if foreign:
        report.add(
            "non-differentiable",
            FAILED,
            "a tensor is marked that is not returned",
            "give ctx.mark_non_differentiable() the very tensors that forward returns",
        )
    elif flat and all(at in flat for at in range(len(results)) if isinstance(results[at], TensorBase)):
        report.add("non-differentiable", PASSED, "forward is piecewise constant; its gradient is one that you chose")
    elif [at for at in flat if at not in marked]:
        which = ", ".join(str(at) for at in flat if at not in marked)
        report.add(
            "non-differentiable",
            WARNED,
            f"output {which} does not change with the inputs, and is not marked",
            "call ctx.mark_non_differentiable() for it: no gradient is then asked for",
        )
    else:
        report.add(
            "non-differentiable",
            PASSED,
            f"output {', '.join(map(str, marked))} is marked" if marked else "every floating-point output depends on the inputs",
        )


def flat_outputs(subject: Subject) -> list[int]:
    """The outputs of real numbers that do not change when the inputs change a little."""
    args = subject.prepared("float64", grad=False)
    moved = [
        make(each._array + STEP * subject.stream.standard_normal(each._array.shape)) if at in subject.positions(args) else each
        for at, each in enumerate(args)
    ]
    if not subject.takes(tuple(moved)):
        return []
    first, second = (arrays(subject.outputs(*each)) for each in (args, moved))
    return [at for at, (a, b) in enumerate(zip(first, second)) if a is not None and a.dtype.kind in "fc" and a.size and same([a], [b])]


def tensors_within(value: Any, depth: int = 3) -> list[Any]:
    """The tensors in (nested) containers."""
    if isinstance(value, TensorBase):
        return [value]
    if depth and isinstance(value, dict):
        return [each for part in value.values() for each in tensors_within(part, depth - 1)]
    if depth and isinstance(value, (tuple, list, set)):
        return [each for part in value for each in tensors_within(part, depth - 1)]
    return []


def check_saved(subject: Subject, report: Report) -> None:
    """Tensors are kept by save_for_backward, not as attributes of ctx."""
    args = subject.prepared("float64", grad=False)
    context, results = subject.forward(args)
    ours = {"needs_input_grad", "saved_for_forward"}
    kept = {name: tensors_within(value) for name, value in vars(context).items() if not name.startswith("_") and name not in ours}
    kept = {name: found for name, found in kept.items() if found}
    ends = [name for name, found in kept.items() if any(each is other for each in found for other in (*args, *results))]
    if ends:
        report.add(
            "saved tensors", FAILED, f"ctx.{', ctx.'.join(ends)} holds an input or an output",
            "give it to ctx.save_for_backward(): an attribute makes a cycle that keeps memory, and a write in place goes unnoticed",
        )  # fmt: skip
    elif kept:
        report.add(
            "saved tensors", WARNED, f"ctx.{', ctx.'.join(kept)} holds a tensor made in forward",
            "ctx.save_for_backward() takes it too, and lets saved-tensor hooks and checkpointing see it",
        )  # fmt: skip
    else:
        report.add("saved tensors", PASSED, f"{len(context._to_save)} saved, none kept as an attribute")


def recorded(subject: Subject, args: tuple[Any, ...]) -> tuple[list[Any], Any]:
    """The outputs, and the node that the application left in the graph (None where none needs a gradient)."""
    found = subject.outputs(*args)
    return found, next((each.grad_fn for each in found if each.grad_fn is not None), None)


def seeds(subject: Subject, outputs: Sequence[Any]) -> list[Any]:
    """A gradient for each output."""
    return [make(subject.stream.standard_normal(each._array.shape).astype(each._array.dtype)) for each in outputs]


def raw_backward(node: Any, subject: Subject, outputs: Sequence[Any]) -> tuple[list[Any], tuple[Any, ...]]:
    """Call the user's backward as the engine does: the gradients that it was given, and what it returned."""
    given = seeds(subject, outputs)
    results = node.backward(given if getattr(node, "multiple", False) else given[0])
    return given, tuple(results)


def check_backward(subject: Subject, report: Report) -> None:
    """As many gradients as inputs, of their shapes; None only where there is none; nothing written to; the same twice."""
    args = subject.prepared("float64")
    outputs, node = recorded(subject, args)
    if node is None:
        report.add("backward", SKIPPED, "no output has a gradient")
        return
    real = [each for each in outputs if each._array.dtype.kind in "fc"]
    if len(real) != len(outputs):
        return  # of mixed outputs the engine fills in the gradients: the checks of values cover them
    watched = arrays(args)
    try:
        given, results = raw_backward(node, subject, outputs)
        before = arrays(given)
        node.backward(given if getattr(node, "multiple", False) else given[0])
        again = node.backward(given if getattr(node, "multiple", False) else given[0])
    except NotImplementedError as error:
        report.add(
            "backward", FAILED, short(error), "write backward(ctx, *gradients), which returns a gradient for every argument of forward"
        )
        return
    except Exception as error:
        report.add(
            "backward",
            FAILED,
            short(error),
            "return one gradient for each argument of forward after ctx, None for those that are no tensors",
        )
        return
    names = subject.names
    bad = [
        f"that of {names[at]} is {list(each.shape)}, the input {list(args[at].shape)}"
        for at, each in enumerate(results) if isinstance(each, TensorBase) and isinstance(args[at], TensorBase) and tuple(each.shape) != tuple(args[at].shape)
    ]  # fmt: skip
    if bad:
        report.add(
            "gradient shapes",
            FAILED,
            "; ".join(bad),
            "sum the gradient over the dimensions that forward broadcast, and reshape it to the input's shape",
        )
    else:
        report.add("gradient shapes", PASSED, "each gradient has the shape of its input")
    missing = [names[at] for at in subject.positions() if results[at] is None and depends(subject, at)]
    if missing:
        report.add(
            "None gradients",
            FAILED,
            f"backward returns None for {', '.join(missing)}, on which the output depends",
            f"return the gradient with respect to {', '.join(missing)}",
        )
    else:
        report.add("None gradients", PASSED, "None only for what has no gradient")
    if changed_positions(before, arrays(given)):
        report.add(
            "backward writes", FAILED, "backward writes to the gradient that it is given", "work on a clone(): others use that gradient too"
        )
    elif changed_positions(watched, arrays(args)):
        report.add("backward writes", FAILED, "backward writes to an input of forward", "work on a clone() of what was saved")
    elif not same(arrays(again), arrays(node.backward(given if getattr(node, "multiple", False) else given[0]))):
        report.add(
            "backward writes",
            FAILED,
            "a second backward gives something else",
            "do not change ctx or saved tensors in backward: it may run again (retain_graph=True)",
        )
    else:
        report.add("backward writes", PASSED, "nothing is changed; a second backward gives the same result")


def depends(subject: Subject, at: int) -> bool:
    """Whether an output changes with an input."""
    args = list(subject.prepared("float64", grad=False))
    first = arrays(subject.outputs(*args))
    args[at] = make(args[at]._array + 1e-4 * subject.stream.standard_normal(args[at]._array.shape))
    return not same(first, arrays(subject.outputs(*args)))


def smaller(args: tuple[Any, ...]) -> bool:
    """Whether there are few enough elements for differences."""
    return sum(each._array.size for each in args if isinstance(each, TensorBase)) <= LARGE


def check_values(subject: Subject, report: Report) -> None:
    """Gradients agree with finite differences, for several shapes."""
    if not subject.positions():
        report.add("gradients", SKIPPED, "no argument is a floating-point tensor")
        return
    flat, done = flat_outputs(subject), []
    context, results = subject.forward(subject.prepared("float64", grad=False))
    if flat and len(flat) == sum(isinstance(each, TensorBase) and each._array.dtype.kind in "fc" for each in results):
        report.add("gradients", WARNED, "forward is piecewise constant, so finite differences say nothing (a straight-through estimator?)")
        return
    for name, args in subject.shapes():
        if not smaller(args):
            if name == "as given":
                report.add(
                    "gradients", SKIPPED, f"more than {LARGE} elements: finite differences would take long", "give smaller arguments"
                )
                return
            continue
        try:
            gradcheck(subject.call, args)
        except GradcheckError as error:
            words = str(error)
            place = words[words.rfind("(largest") :] if "(largest" in words else ""
            report.add(
                "gradients", FAILED, f"shape {name}: {words.splitlines()[0].rstrip(',')} {place}".strip(),
                "backward does not compute the derivative of forward: compare the formula; check the factors and what was saved",
            )  # fmt: skip
            return
        except Exception as error:
            report.add("gradients", FAILED, f"shape {name}: {short(error)}", "backward raises for a shape that forward takes")
            return
        done.append(name)
    report.add("gradients", PASSED, f"agree with finite differences; shapes: {', '.join(done)}")


def check_second(subject: Subject, report: Report) -> None:
    """The gradient itself can be differentiated, and rightly."""
    args = subject.prepared("float64")
    if any(row.name == "gradients" and row.outcome == FAILED for row in report.rows):
        report.add("second gradients", SKIPPED, "the first gradients are wrong")
        return
    if not subject.positions() or not smaller(args) or recorded(subject, args)[1] is None:
        report.add("second gradients", SKIPPED, "there is no gradient to differentiate, or the arguments are large")
        return
    if marked_once(subject, args):
        report.add("second gradients", SKIPPED, "backward says that it is differentiable once")
        return
    try:
        gradgradcheck(subject.call, args)
    except GradcheckError as error:
        report.add(
            "second gradients", FAILED, str(error).splitlines()[0].rstrip(","),
            "write backward with differentiable operations on ctx.saved_tensors (no numpy(), detach(), .data or in-place writes), or say that it can't be "
            "differentiated again: @once_differentiable",
        )  # fmt: skip
    except Exception as error:
        report.add("second gradients", FAILED, short(error), "backward must be differentiable, or be marked with @once_differentiable")
    else:
        report.add("second gradients", PASSED, "agree with finite differences")


def marked_once(subject: Subject, args: tuple[Any, ...]) -> bool:
    """Whether backward refuses to be differentiated."""
    outputs = [each for each in subject.outputs(*args) if each.requires_grad]
    starts = [each.requires_grad_() for each in seeds(subject, outputs)]
    found = [
        each
        for each in grad(outputs, [args[at] for at in subject.positions()], starts, create_graph=True, allow_unused=True)
        if each is not None and each.requires_grad
    ]
    if not found:
        return False
    try:
        grad([each.sum() for each in found], starts, allow_unused=True)
    except RuntimeError as error:
        return "once_differentiable" in str(error)
    return False


def gradients(subject: Subject, args: tuple[Any, ...], only: Sequence[int] | None = None) -> list[Any]:
    """The gradients of the sum of all outputs with respect to the tensors."""
    wanted = [args[at] for at in (subject.positions() if only is None else only)]
    outputs = [each for each in subject.outputs(*args) if each.requires_grad]
    if not outputs:
        return []
    return list(grad([each.sum() for each in outputs], wanted, allow_unused=True))


def check_single(subject: Subject, report: Report) -> None:
    """In single precision results and gradients are of that type, and near those in double precision."""
    single, double = subject.prepared("float32"), subject.prepared("float64")
    second = gradients(subject, double)
    try:
        outputs = subject.outputs(*single)
        first = gradients(subject, single)
    except Exception as error:
        report.add(
            "float32", FAILED, short(error), "do not fix a dtype: make new tensors with dtype=x.dtype, or with zeros_like and the like"
        )
        return
    wrong = [str(at) for at, each in enumerate(outputs) if each._array.dtype == np.float64]
    kinds = [
        subject.names[at]
        for at, each in zip(subject.positions(), first)
        if each is not None and each._array.dtype != single[at]._array.dtype
    ]
    if wrong or kinds:
        what = f"output {', '.join(wrong)} is float64" if wrong else f"the gradient of {', '.join(kinds)} has another dtype than the input"
        report.add(
            "float32",
            FAILED,
            f"{what} for float32 inputs",
            "do not fix a dtype: make new tensors with dtype=x.dtype, or with zeros_like and the like",
        )
        return
    for at, a, b in zip(subject.positions(), first, second):
        if a is not None and b is not None and not np.allclose(a._array, b._array, rtol=1e-2, atol=1e-3):
            report.add(
                "float32",
                WARNED,
                f"the gradient of {subject.names[at]} is far from that in float64",
                "a formula that loses digits (a difference of near values, exp of large ones): write it in another form",
            )
            return
    report.add("float32", PASSED, "dtypes are kept, and values are close to those in float64")


def check_needs(subject: Subject, report: Report) -> None:
    """Gradients of some inputs alone are the same as among all."""
    positions = subject.positions()
    if len(positions) < 2:
        return
    whole = gradients(subject, subject.prepared("float64"))
    for order, at in enumerate(positions):
        args = tuple(
            each.detach() if where in positions and where != at else each for where, each in enumerate(subject.prepared("float64"))
        )
        try:
            alone = gradients(subject, args, [at])
        except Exception as error:
            report.add(
                "inputs one by one",
                FAILED,
                f"with a gradient for {subject.names[at]} alone: {short(error)}",
                "where ctx.needs_input_grad is False return None, and do not count on what was not saved",
            )
            return
        if whole and alone and not same(arrays(alone), arrays([whole[order]])):
            report.add(
                "inputs one by one",
                FAILED,
                f"the gradient of {subject.names[at]} is another when it is the only one",
                "check the code that depends on ctx.needs_input_grad",
            )
            return
    report.add("inputs one by one", PASSED, "each gradient is the same when it is the only one")


def check_outputs(subject: Subject, report: Report) -> None:
    """Backward works when only one of several outputs is used."""
    args = subject.prepared("float64")
    real = [at for at, each in enumerate(subject.outputs(*args)) if each.requires_grad]
    if len(real) < 2:
        return
    for at in real:
        try:
            grad(subject.outputs(*args)[at].sum(), [args[where] for where in subject.positions()], allow_unused=True)
        except Exception as error:
            report.add(
                "outputs one by one", FAILED, f"with output {at} alone: {short(error)}",
                "gradients of unused outputs are None after ctx.set_materialize_grads(False): test for None before computing with them",
            )  # fmt: skip
            return
    report.add("outputs one by one", PASSED, "backward works from each output alone")


def check_memory(subject: Subject, report: Report) -> None:
    """When the outputs are gone, so is what was kept for backward: at once, without the garbage collector."""
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        args = tuple(each.clone() if isinstance(each, TensorBase) else each for each in subject.prepared("float64"))
        outputs = subject.outputs(*args)
        held = [weakref.ref(each) for each in outputs if not any(each is other for other in args)]
        del outputs, args
        cycle = any(each() is not None for each in held)
    finally:
        if enabled:
            gc.enable()
    gc.collect()
    if any(each() is not None for each in held):
        report.add(
            "memory",
            FAILED,
            "outputs stay in memory when nothing refers to them any more",
            "a global, a class attribute or a cache holds them: hold no tensors outside of ctx",
        )
    elif cycle:
        report.add(
            "memory",
            FAILED,
            "outputs stay in memory until the garbage collector runs",
            "ctx refers to an output: give it to ctx.save_for_backward() instead of keeping it as an attribute",
        )
    else:
        report.add("memory", PASSED, "outputs and saved tensors are freed at once")


FAMILIES: dict[str, Callable[[Subject, Report], None]] = {
    "forward": check_forward, "in-place marks": check_marks, "saved tensors": check_saved, "backward": check_backward, "gradients": check_values,
    "second gradients": check_second, "float32": check_single, "inputs one by one": check_needs, "outputs one by one": check_outputs, "memory": check_memory,
}  # fmt: skip
