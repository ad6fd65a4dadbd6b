"""What the canonical instructions do that go elsewhere: calls, jumps, generators, exceptions; imports and patterns too.

The form of a handler is described in `instructions.py`.
"""

from __future__ import annotations

import sys

from ..decode import NULL
from .frame import Frame, Inline, Returned, Yielded
from .generator import InterpretedGenerator
from .instructions import called, give, push, take
from .interpreter import BytecodeInterpreter, Next, operation

ALONE = 3  # references to a value of which nobody knows but a variable: that, the loop that looks for it, and who counts


# Calls.


@operation("call")
def call(run: BytecodeInterpreter, frame: Frame, argument: tuple[int, tuple[str, ...]]) -> Next:
    count, names = argument
    args = take(frame, count)
    first, second = take(frame, 2)
    function = called(first, second)
    if first is not NULL and second is not NULL:
        args.insert(0, second)
    kwargs = {}
    if names:
        kwargs = dict(zip(names, args[-len(names) :]))
        del args[-len(names) :]
    return give(run, frame, run.semantics.call(frame, function, args, kwargs))


@operation("argument_tuple")
def argument_tuple(run: BytecodeInterpreter, frame: Frame, has_kwargs: bool) -> Next:
    at = -2 if has_kwargs else -1
    frame.stack[at] = run.semantics.call_arguments(called(frame.stack[at - 2], frame.stack[at - 1]), frame.stack[at])
    return None


@operation("call_ex")
def call_ex(run: BytecodeInterpreter, frame: Frame, has_kwargs: bool) -> Next:
    kwargs = frame.stack.pop() if has_kwargs else {}
    args = frame.stack.pop()
    return give(run, frame, run.semantics.call(frame, called(*take(frame, 2)), args, kwargs))


@operation("make_function")
def make_function(run: BytecodeInterpreter, frame: Frame, parts: tuple[str, ...]) -> Next:
    code = frame.stack.pop()
    return push(frame, run.semantics.make_function(frame, code, dict(zip(parts, take(frame, len(parts))))))


# Control.


def jump_to(frame: Frame, target: int) -> Frame:
    """Continues at another instruction."""
    frame.index = target
    return frame


@operation("jump")
def jump(run: BytecodeInterpreter, frame: Frame, target: int) -> Next:
    return jump_to(frame, target)


@operation("jump_if_true")
def jump_if_true(run: BytecodeInterpreter, frame: Frame, target: int) -> Next:
    following = frame.bytecode.instructions[frame.index + 1]
    asks = run.semantics.asserted if following.op == "load_const" and following.argument is AssertionError else run.semantics.truth
    found = asks(frame.stack.pop())
    return run.enter(frame, found) if type(found) is Inline else jump_to(frame, target) if found else None


@operation("jump_if_false")
def jump_if_false(run: BytecodeInterpreter, frame: Frame, target: int) -> Next:
    found = run.semantics.truth(frame.stack.pop())
    return run.enter(frame, found) if type(found) is Inline else None if found else jump_to(frame, target)


@operation("jump_if_none")
def jump_if_none(run: BytecodeInterpreter, frame: Frame, target: int) -> Next:
    return jump_to(frame, target) if run.semantics.is_same(frame.stack.pop(), None) else None


@operation("jump_if_not_none")
def jump_if_not_none(run: BytecodeInterpreter, frame: Frame, target: int) -> Next:
    return None if run.semantics.is_same(frame.stack.pop(), None) else jump_to(frame, target)


@operation("get_iter")
def get_iter(run: BytecodeInterpreter, frame: Frame, argument: None) -> Next:
    return give(run, frame, run.semantics.get_iter(frame.stack.pop()))


@operation("for_iter")
def for_iter(run: BytecodeInterpreter, frame: Frame, target: int) -> Next:
    # The interpreter takes the StopIteration that ends the loop, from wherever it comes.
    return give(run, frame, run.semantics.next(frame.stack[-1]))


@operation("return_value")
def return_value(run: BytecodeInterpreter, frame: Frame, argument: None) -> Next:
    if frame.caller is not None:
        for each in frame.slots:
            if type(each) is InterpretedGenerator and sys.getrefcount(each) <= ALONE:
                run.semantics.release_generator(each)
    return run.leave(frame, frame.stack.pop())


# Generators.


@operation("return_generator")
def return_generator(run: BytecodeInterpreter, frame: Frame, argument: None) -> Next:
    caller, frame.caller, frame.inherited = frame.caller, None, None
    generator = InterpretedGenerator(run, frame)
    return Returned(generator) if caller is None else run.deliver(caller, generator)


@operation("yield_value")
def yield_value(run: BytecodeInterpreter, frame: Frame, argument: None) -> Next:
    value = frame.stack.pop()
    caller, generator = frame.caller, frame.generator
    assert generator is not None
    generator.suspend(frame)
    return Yielded(value) if caller is None else run.deliver(caller, value)


@operation("send")
def send(run: BytecodeInterpreter, frame: Frame, target: int) -> Next:
    value = frame.stack.pop()
    return give(run, frame, run.semantics.send(frame.stack[-1], value))


@operation("cleanup_throw")
def cleanup_throw(run: BytecodeInterpreter, frame: Frame, argument: None) -> Next:
    exception = take(frame, 3)[2]
    if not isinstance(exception, StopIteration):
        return run.unwind(frame, exception, again=True)
    return push(frame, exception.value)


# Exceptions.


@operation("raise")
def raise_exception(run: BytecodeInterpreter, frame: Frame, count: int) -> Next:
    if count == 0:
        handled = sys.exception()
        if handled is None:
            raise RuntimeError("No active exception to reraise")
        return run.unwind(frame, handled, again=True)
    values = take(frame, count)
    if count == 1:
        run.semantics.raise_exception(*values)
    else:
        run.semantics.raise_from(*values)
    return None


@operation("reraise")
def reraise(run: BytecodeInterpreter, frame: Frame, argument: None) -> Next:
    return run.unwind(frame, frame.stack.pop(), again=True)


@operation("push_exception")
def push_exception(run: BytecodeInterpreter, frame: Frame, argument: None) -> Next:
    exception = frame.stack.pop()
    frame.stack += [frame.handled, exception]
    frame.handled = exception
    return None


@operation("pop_exception")
def pop_exception(run: BytecodeInterpreter, frame: Frame, argument: None) -> Next:
    frame.handled = frame.stack.pop()
    return None


@operation("check_exception")
def check_exception(run: BytecodeInterpreter, frame: Frame, argument: None) -> Next:
    kinds = frame.stack.pop()
    return push(frame, run.semantics.exception_matches(frame.stack[-1], kinds))


@operation("before_with")
def before_with(run: BytecodeInterpreter, frame: Frame, argument: None) -> Next:
    manager = frame.stack.pop()
    message = f"{type(manager).__name__!r} object does not support the context manager protocol"
    enter = run.semantics.load_special(manager, "__enter__")
    if enter is None:
        raise TypeError(message)
    leave = run.semantics.load_special(manager, "__exit__")
    if leave is None:
        raise TypeError(f"{message} (missed __exit__ method)")
    frame.stack.append(leave)
    return give(run, frame, run.semantics.call(frame, enter, (), {}))


@operation("with_except_start")
def with_except_start(run: BytecodeInterpreter, frame: Frame, argument: None) -> Next:
    leave, exception = frame.stack[-4], frame.stack[-1]
    args = (type(exception), exception, exception.__traceback__)
    return give(run, frame, run.semantics.call(frame, leave, args, {}))


# Imports.


@operation("import_name")
def import_name(run: BytecodeInterpreter, frame: Frame, name: str) -> Next:
    level, names = take(frame, 2)
    return push(frame, run.semantics.import_name(frame, name, names, level))


@operation("import_from")
def import_from(run: BytecodeInterpreter, frame: Frame, name: str) -> Next:
    return push(frame, run.semantics.import_from(frame.stack[-1], name))


@operation("import_star")
def import_star(run: BytecodeInterpreter, frame: Frame, argument: None) -> Next:
    run.semantics.import_star(frame, frame.stack.pop())
    return None


# Patterns.


def asking(name: str) -> None:
    """An operation that asks something about a subject, which stays."""

    @operation(name)
    def ask(run: BytecodeInterpreter, frame: Frame, argument: None) -> Next:
        return push(frame, getattr(run.semantics, name)(frame.stack[-1]))


for _name in ("get_len", "match_mapping", "match_sequence"):
    asking(_name)


@operation("match_keys")
def match_keys(run: BytecodeInterpreter, frame: Frame, argument: None) -> Next:
    return push(frame, run.semantics.match_keys(frame.stack[-2], frame.stack[-1]))


@operation("match_class")
def match_class(run: BytecodeInterpreter, frame: Frame, positional: int) -> Next:
    subject, kind, names = take(frame, 3)
    return push(frame, run.semantics.match_class(subject, kind, positional, names))
