"""What the canonical instructions do that go elsewhere: calls, jumps, generators, exceptions; imports and patterns too.

The form of a handler is described in `instructions.py`.
"""

from __future__ import annotations

import sys

from ..decode import NULL
from .frame import Frame, Returned, Yielded
from .generator import Generator
from .instructions import called, give, push, take
from .interpreter import Interpreter, Next, operation

ALONE = 3  # references to a value of which nobody knows but a variable: that, the loop that looks for it, and who counts


# Calls.


@operation("call")
def call(run: Interpreter, frame: Frame, argument: tuple[int, tuple[str, ...]]) -> Next:
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
    return give(run, frame, run.machine.call(frame, function, args, kwargs))


@operation("argument_tuple")
def argument_tuple(run: Interpreter, frame: Frame, has_kwargs: bool) -> Next:
    at = -2 if has_kwargs else -1
    frame.stack[at] = run.machine.call_arguments(called(frame.stack[at - 2], frame.stack[at - 1]), frame.stack[at])
    return None


@operation("call_ex")
def call_ex(run: Interpreter, frame: Frame, has_kwargs: bool) -> Next:
    kwargs = frame.stack.pop() if has_kwargs else {}
    args = frame.stack.pop()
    return give(run, frame, run.machine.call(frame, called(*take(frame, 2)), args, kwargs))


@operation("make_function")
def make_function(run: Interpreter, frame: Frame, parts: tuple[str, ...]) -> Next:
    code = frame.stack.pop()
    return push(frame, run.machine.make_function(frame, code, dict(zip(parts, take(frame, len(parts))))))


# Control.


def jump_to(frame: Frame, target: int) -> Frame:
    """Goes on at another instruction."""
    frame.index = target
    return frame


@operation("jump")
def jump(run: Interpreter, frame: Frame, target: int) -> Next:
    return jump_to(frame, target)


@operation("jump_if_true")
def jump_if_true(run: Interpreter, frame: Frame, target: int) -> Next:
    return jump_to(frame, target) if run.machine.truth(frame.stack.pop()) else None


@operation("jump_if_false")
def jump_if_false(run: Interpreter, frame: Frame, target: int) -> Next:
    return None if run.machine.truth(frame.stack.pop()) else jump_to(frame, target)


@operation("jump_if_none")
def jump_if_none(run: Interpreter, frame: Frame, target: int) -> Next:
    return jump_to(frame, target) if run.machine.is_same(frame.stack.pop(), None) else None


@operation("jump_if_not_none")
def jump_if_not_none(run: Interpreter, frame: Frame, target: int) -> Next:
    return None if run.machine.is_same(frame.stack.pop(), None) else jump_to(frame, target)


@operation("get_iter")
def get_iter(run: Interpreter, frame: Frame, argument: None) -> Next:
    return give(run, frame, run.machine.get_iter(frame.stack.pop()))


@operation("for_iter")
def for_iter(run: Interpreter, frame: Frame, target: int) -> Next:
    # The interpreter takes the StopIteration that ends the loop, from wherever it comes.
    return give(run, frame, run.machine.next(frame.stack[-1]))


@operation("return_value")
def return_value(run: Interpreter, frame: Frame, argument: None) -> Next:
    if frame.caller is not None:
        for each in frame.slots:
            if type(each) is Generator and sys.getrefcount(each) <= ALONE:
                run.machine.let_go(each)
    return run.leave(frame, frame.stack.pop())


# Generators.


@operation("return_generator")
def return_generator(run: Interpreter, frame: Frame, argument: None) -> Next:
    caller, frame.caller, frame.inherited = frame.caller, None, None
    generator = Generator(run, frame)
    return Returned(generator) if caller is None else run.deliver(caller, generator)


@operation("yield_value")
def yield_value(run: Interpreter, frame: Frame, argument: None) -> Next:
    value = frame.stack.pop()
    caller, generator = frame.caller, frame.generator
    assert generator is not None
    generator.suspend(frame)
    return Yielded(value) if caller is None else run.deliver(caller, value)


@operation("send")
def send(run: Interpreter, frame: Frame, target: int) -> Next:
    value = frame.stack.pop()
    return give(run, frame, run.machine.send(frame.stack[-1], value))


@operation("cleanup_throw")
def cleanup_throw(run: Interpreter, frame: Frame, argument: None) -> Next:
    exception = take(frame, 3)[2]
    if not isinstance(exception, StopIteration):
        return run.unwind(frame, exception, again=True)
    return push(frame, exception.value)


# Exceptions.


@operation("raise")
def raise_exception(run: Interpreter, frame: Frame, count: int) -> Next:
    if count == 0:
        handled = sys.exception()
        if handled is None:
            raise RuntimeError("No active exception to reraise")
        return run.unwind(frame, handled, again=True)
    values = take(frame, count)
    if count == 1:
        run.machine.raise_exception(*values)
    else:
        run.machine.raise_from(*values)
    return None


@operation("reraise")
def reraise(run: Interpreter, frame: Frame, argument: None) -> Next:
    return run.unwind(frame, frame.stack.pop(), again=True)


@operation("push_exception")
def push_exception(run: Interpreter, frame: Frame, argument: None) -> Next:
    exception = frame.stack.pop()
    frame.stack += [frame.handled, exception]
    frame.handled = exception
    return None


@operation("pop_exception")
def pop_exception(run: Interpreter, frame: Frame, argument: None) -> Next:
    frame.handled = frame.stack.pop()
    return None


@operation("check_exception")
def check_exception(run: Interpreter, frame: Frame, argument: None) -> Next:
    kinds = frame.stack.pop()
    return push(frame, run.machine.exception_matches(frame.stack[-1], kinds))


@operation("before_with")
def before_with(run: Interpreter, frame: Frame, argument: None) -> Next:
    manager = frame.stack.pop()
    message = f"{type(manager).__name__!r} object does not support the context manager protocol"
    enter = run.machine.load_special(manager, "__enter__")
    if enter is None:
        raise TypeError(message)
    leave = run.machine.load_special(manager, "__exit__")
    if leave is None:
        raise TypeError(f"{message} (missed __exit__ method)")
    frame.stack.append(leave)
    return give(run, frame, run.machine.call(frame, enter, (), {}))


@operation("with_except_start")
def with_except_start(run: Interpreter, frame: Frame, argument: None) -> Next:
    leave, exception = frame.stack[-4], frame.stack[-1]
    args = (type(exception), exception, exception.__traceback__)
    return give(run, frame, run.machine.call(frame, leave, args, {}))


# Imports.


@operation("import_name")
def import_name(run: Interpreter, frame: Frame, name: str) -> Next:
    level, names = take(frame, 2)
    return push(frame, run.machine.import_name(frame, name, names, level))


@operation("import_from")
def import_from(run: Interpreter, frame: Frame, name: str) -> Next:
    return push(frame, run.machine.import_from(frame.stack[-1], name))


@operation("import_star")
def import_star(run: Interpreter, frame: Frame, argument: None) -> Next:
    run.machine.import_star(frame, frame.stack.pop())
    return None


# Patterns.


def asking(name: str) -> None:
    """An operation that asks something about a subject, which stays."""

    @operation(name)
    def ask(run: Interpreter, frame: Frame, argument: None) -> Next:
        return push(frame, getattr(run.machine, name)(frame.stack[-1]))


for _name in ("get_len", "match_mapping", "match_sequence"):
    asking(_name)


@operation("match_keys")
def match_keys(run: Interpreter, frame: Frame, argument: None) -> Next:
    return push(frame, run.machine.match_keys(frame.stack[-2], frame.stack[-1]))


@operation("match_class")
def match_class(run: Interpreter, frame: Frame, positional: int) -> Next:
    subject, kind, names = take(frame, 3)
    return push(frame, run.machine.match_class(subject, kind, positional, names))
