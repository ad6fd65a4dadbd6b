"""Generators.  (See bytecode_programs.py.)"""

# The code is odd on purpose.
# ruff: noqa

from __future__ import annotations

import itertools
import sys

from bytecode_programs import Manager, note, program


# Generators.


@program((3,), (0,))
def simple_generator(n):
    def numbers():
        note("start")
        for i in range(n):
            yield i
        note("end")

    return list(numbers()), [*numbers()], sum(numbers()), tuple(i for i in numbers())


@program()
def generator_send():
    def echo():
        received = yield "ready"
        while received != "stop":
            note(received)
            received = yield received * 2
        return "result"

    g = echo()
    note(next(g))
    note(g.send(1))
    note(g.send("ab"))
    try:
        g.send("stop")
    except StopIteration as stop:
        note(stop.value)
    return list(g)


@program()
def generator_throw():
    def careful():
        while True:
            try:
                yield "waiting"
            except ValueError as error:
                note(error)
                yield "caught"
            finally:
                note("round")

    g = careful()
    next(g)
    note(g.throw(ValueError("v")))
    note(next(g))
    try:
        g.throw(KeyError("k"))
    except KeyError as error:
        note(error)
    return next(g, "finished")


@program((1,), (0,))
def generator_throw_at_start(started):
    def g():
        try:
            yield 1
        except ValueError:
            yield 2

    it = g()
    if started:
        next(it)
    return it.throw(ValueError("v")), list(it)


@program()
def generator_close():
    def g():
        try:
            yield 1
            yield 2
        finally:
            note("closed")

    a, b, c = g(), g(), g()
    next(a)
    a.close()
    b.close()
    next(c)
    del c
    note("deleted")
    return list(a), list(b)


@program()
def generator_ignores_close():
    def g():
        try:
            yield 1
        except GeneratorExit:
            yield 2

    it = g()
    next(it)
    it.close()


@program()
def generator_closing_value():
    def g():
        try:
            yield 1
        except GeneratorExit:
            return "value"

    it = g()
    next(it)
    return it.close(), it.close()


@program()
def generator_raises():
    def g():
        yield 1
        raise LookupError("in generator")

    for value in g():
        note(value)


@program()
def generator_stop_iteration():
    def g():
        yield next(iter([]))

    try:
        list(g())
    except RuntimeError as error:
        note((error.args, type(error.__cause__), type(error.__context__)))
        raise


@program()
def generator_stop_iteration_in_loop():
    def g():
        yield 1
        raise StopIteration("raised")

    for value in g():
        note(value)


@program()
def yield_from_forms():
    def inner():
        received = yield 1
        note(received)
        yield 2
        return "inner result"

    def outer():
        result = yield from inner()
        note(result)
        yield from [3, 4]
        yield from "xy"
        return (yield from (i for i in range(2)))

    g = outer()
    out = [next(g), g.send("sent")]
    while True:
        try:
            out.append(next(g))
        except StopIteration as stop:
            return out, stop.value


@program()
def yield_from_throw():
    def inner():
        try:
            yield 1
        except ValueError as error:
            note(error)
            yield "handled"
        return "done"

    def outer():
        result = yield from inner()
        note(result)
        try:
            yield from [5, 6]
        except KeyError:
            yield "outer"

    g = outer()
    next(g)
    out = [g.throw(ValueError("v")), next(g)]
    out.append(g.throw(KeyError("k")))
    g.close()
    return out


@program()
def yield_from_throw_returns():
    def inner():
        try:
            yield 1
        except ValueError:
            return "returned"

    def outer():
        yield (yield from inner())
        yield "more"

    g = outer()
    next(g)
    return g.throw(ValueError), list(g)


@program()
def yield_from_throw_then_error():
    def inner():
        try:
            yield 1
        except ValueError:
            return "returned"

    def outer():
        yield from inner()
        note(sys.exception())
        raise KeyError("after")

    g = outer()
    next(g)
    g.throw(ValueError)


@program()
def yield_from_close():
    def inner():
        try:
            yield 1
        finally:
            note("inner closed")

    def outer():
        try:
            yield from inner()
        except GeneratorExit:
            note("outer exit")
            raise

    g = outer()
    next(g)
    g.close()
    h = outer()
    next(h)
    try:
        h.throw(GeneratorExit("by hand"))
    except GeneratorExit as error:
        return error.args


@program()
def yield_from_not_iterable():
    def g():
        yield from 5

    return list(g())


@program()
def yield_from_custom():
    class Receiver:
        def __iter__(self):
            return self

        def __next__(self):
            return note("next")

        def send(self, value):
            note(value)
            if value == 3:
                raise StopIteration("enough")
            return value

    def g():
        return (yield from Receiver())

    it = g()
    next(it)
    it.send(2)
    try:
        it.send(3)
    except StopIteration as stop:
        return stop.value


@program()
def generator_running():
    def g():
        try:
            next(it)
        except ValueError as error:
            yield str(error)
        yield it.gi_running

    it = g()
    return list(it), it.gi_running


@program()
def generator_send_early():
    def g():
        yield 1

    it = g()
    try:
        it.send(5)
    except TypeError as error:
        note(error)
    return next(it)


@program()
def generator_and_handling():
    def g():
        try:
            raise KeyError("in generator")
        except KeyError:
            note(sys.exc_info()[1])
            yield 1
            note(sys.exc_info()[1])
            yield 2
        note(sys.exc_info()[1])
        yield 3

    it = g()
    next(it)
    note(sys.exc_info()[1])
    try:
        raise ValueError("outside")
    except ValueError:
        next(it)
        note(sys.exc_info()[1])
        next(it)
    try:
        raise IndexError("outer")
    except IndexError:
        for _ in g():
            break
        note(sys.exc_info()[1])
        try:
            it.throw(LookupError("thrown"))
        except LookupError as error:
            return error.__context__


@program()
def throw_while_handling():
    def g():
        try:
            raise KeyError("in generator")
        except KeyError:
            yield 1

    it = g()
    next(it)
    try:
        it.throw(LookupError("thrown"))
    except LookupError as error:
        return repr(error.__context__)


@program()
def generator_with_context():
    def g():
        with Manager("in generator"):
            yield 1
            yield 2

    for value in g():
        note(value)
        break
    note("after")
    it = g()
    next(it)
    it.throw(ValueError("thrown"))


@program()
def infinite_generator():
    def naturals(n=0):
        while True:
            yield n
            n += 1

    def primes(numbers):
        p = next(numbers)
        yield p
        yield from primes(n for n in numbers if n % p)

    return list(itertools.islice(primes(naturals(2)), 6)), [a for a, _ in zip(naturals(), range(3))]


@program()
def generator_closure():
    state = 0

    def g():
        nonlocal state
        while state < 3:
            state += 1
            yield state

    it = g()
    next(it)
    state += 1
    return list(it), state


@program()
def generator_methods():
    class Tree:
        def __init__(self, value, *children):
            self.value, self.children = value, children

        def __iter__(self):
            yield self.value
            for child in self.children:
                yield from child

    return list(Tree(1, Tree(2, Tree(3)), Tree(4)))


@program()
def generator_expression_laziness():
    values = [1, 2, 3]
    g = (note(v) * factor for v in note(values))
    factor = 10
    values.append(4)
    return next(g), list(g)


@program((None,))
def generator_expression_error(values):
    g = (note(v) for v in values)
    return list(g)


@program()
def generator_is_a_generator():
    def g():
        yield

    import collections.abc
    import inspect

    it = g()
    return (
        inspect.isgenerator(it),
        isinstance(it, collections.abc.Generator),
        it.__name__,
        it.__qualname__,
        iter(it) is it,
    )
