"""Exceptions and `with`.  (See bytecode_programs.py.)"""

# The code is odd on purpose.
# ruff: noqa

from __future__ import annotations

import contextlib
import sys
import traceback

from bytecode_programs import Countdown, Manager, Point, Unhelpful, note, program


# Exceptions.


@program((0,), (1,), ("x",), (None,))
def try_forms(a):
    try:
        note("try")
        result = 10 / a
    except ZeroDivisionError as error:
        note(error.args)
        result = "zero"
    except (TypeError, ValueError):
        result = "type"
        if a is None:
            raise
    else:
        note("else")
    finally:
        note("finally")
    return result


@program((0,), (1,), (2,), (3,))
def returns_and_finally(a):
    for i in range(3):
        try:
            note(i)
            if a == 0:
                return "try"
            if a == 1 and i == 1:
                break
            if a == 2:
                continue
            raise ValueError(a)
        except ValueError:
            if i == 2:
                return note("except")
        finally:
            note("finally")
            if a == 3 and i == 1:
                return "finally"
    return "end"


@program()
def exception_variable():
    error = "before"
    try:
        raise KeyError("k")
    except KeyError as error:
        note(error.args)
    try:
        return error
    except UnboundLocalError as unbound:
        return unbound.args


@program()
def context_chain():
    try:
        try:
            1 / 0
        except ZeroDivisionError:
            try:
                [][1]
            except IndexError:
                raise KeyError("last")
    except KeyError as error:
        note((type(error.__context__), type(error.__context__.__context__)))
        raise


@program()
def cause_chain():
    try:
        int("x")
    except ValueError as error:
        raise RuntimeError("told") from error


@program()
def cause_none():
    try:
        int("x")
    except ValueError:
        raise RuntimeError("told") from None


@program((1,), (int,), (ValueError,), (ValueError("v"),), (None,))
def raise_anything(what):
    raise what


@program((1,), (KeyError,), (KeyError("c"),), (None,))
def raise_from_anything(cause):
    raise ValueError("v") from cause


@program()
def raise_nothing():
    raise


@program()
def raise_again_in_callee():
    def again():
        note(sys.exc_info()[0])
        raise

    try:
        1 / 0
    except ZeroDivisionError:
        again()


@program()
def handled_exception_is_visible():
    note(sys.exception())
    try:
        1 / 0
    except ZeroDivisionError:
        note((sys.exception(), traceback.format_exc().splitlines()[-1]))
        try:
            {}["x"]
        except KeyError:
            note(sys.exc_info()[1])
        note(sys.exc_info()[1])
    return sys.exc_info()


@program()
def same_exception_twice():
    error = ValueError("one")
    for _ in range(2):
        try:
            raise error
        except ValueError as caught:
            note((caught is error, caught.__context__))
    try:
        try:
            raise error
        except ValueError:
            raise KeyError from error
    except KeyError as other:
        try:
            raise error
        except ValueError:
            note((error.__context__ is other, other.__context__))
    raise error


@program((ValueError,), ((TypeError, ValueError),), ((),), (3,), ((ValueError, 3),), ("x",))
def catch_anything(kinds):
    try:
        raise ValueError("v")
    except kinds:
        return "caught"


@program()
def nested_finally():
    try:
        try:
            try:
                note("body")
                raise ValueError("inner")
            finally:
                note("first")
        finally:
            note("second")
            try:
                raise KeyError("passing")
            except KeyError:
                note("swallowed")
    except ValueError as error:
        return error.args, error.__context__


@program()
def finally_replaces():
    try:
        raise ValueError("lost")
    finally:
        raise KeyError("seen")


@program()
def finally_returns():
    for _ in range(2):
        try:
            raise ValueError("lost")
        finally:
            break
    try:
        return note("first")
    finally:
        return note("second")


@program((0,), (1,))
def assertion(a):
    assert a, note("message")
    assert a
    return "passed"


@program()
def error_in_handler():
    try:
        raise ValueError
    except ValueError as error:
        note(error)
        undefined_name


@program()
def error_in_condition():
    if Unhelpful():
        return 1


@program()
def error_in_property():
    try:
        Unhelpful().value
    except LookupError as error:
        note(error)
    return Unhelpful().value


@program((2,), (0,))
def errors_through_calls(n):
    def one(a):
        try:
            return two(a)
        finally:
            note("one")

    def two(a):
        with Manager("two"):
            return three(a)

    def three(a):
        return 4 / a

    return one(n)


@program()
def exception_attributes():
    class Special(Exception):
        def __init__(self, code):
            super().__init__(f"code {code}")
            self.code = code

    try:
        raise Special(7)
    except Special as error:
        error.add_note("more")
        note((error.code, error.args, error.__notes__))
        raise


@program()
def exits():
    try:
        raise SystemExit(3)
    except Exception:
        note("not here")
    except BaseException as error:
        return error.code


@program()
def generator_stop_in_loop():
    for value in Countdown(2):
        try:
            raise StopIteration(value)
        except StopIteration as stop:
            note(stop.value)
    raise StopIteration("out")


# With.


@program((False, None), (True, None), (False, "enter"), (False, "exit"), (True, "enter"))
def with_statement(swallow, fail):
    with Manager("a") as a, Manager("b", swallow, fail) as b:
        note((a, b))
        raise ValueError("body")
    return "after"


@program((0,), (1,), (2,), (3,))
def with_and_control(a):
    for i in range(3):
        with Manager(i):
            if a == 0:
                return "returned"
            if a == 1:
                continue
            if a == 2:
                break
    return "end"


@program((3,), (object(),))
def with_nothing(value):
    with value:
        pass


@program()
def with_half_a_manager():
    class Half:
        def __enter__(self):
            return 1

    with Half():
        pass


@program((True,), (False,))
def with_contextlib(fail):
    @contextlib.contextmanager
    def managed(name):
        note("open")
        try:
            yield name
        except KeyError as error:
            note(error)
        finally:
            note("close")

    with managed("m") as m, contextlib.suppress(IndexError):
        note(m)
        if fail:
            raise KeyError("k")
        [][0]
    with managed("n"):
        raise LookupError("out")


@program()
def with_targets():
    point, data = Point(0, 0), {}
    with Manager("x") as point.x, Manager((1, 2)) as (a, b), Manager("k") as data["k"]:
        return point.x, a, b, data


@program()
def with_inside_handler():
    try:
        with Manager("outer"):
            try:
                1 / 0
            except ZeroDivisionError:
                with Manager("inner", swallow=True):
                    raise KeyError("x")
                note(sys.exc_info()[0])
                raise
    except ZeroDivisionError as error:
        return error.__context__


@program()
def exit_stack():
    with contextlib.ExitStack() as stack:
        names = [stack.enter_context(Manager(i, swallow=i == 1)) for i in range(3)]
        stack.callback(note, "callback")
        raise ValueError(names)
    return names
