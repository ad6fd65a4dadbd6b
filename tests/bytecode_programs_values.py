"""Expressions, names, loops and comprehensions.  (See bytecode_programs.py.)"""

# The code is odd on purpose.
# ruff: noqa

from __future__ import annotations

from bytecode_programs import Countdown, LOG, Noisy, Point, Unhelpful, note, program

counter = 0


# Expressions.


@program((1, 2), (5, 0), ("a", 3), (-3, 1))
def arithmetic(a, b):
    note(a * b)
    return a + b, a - b, a // b, a % b, a**b, -a, +a, ~a, a << b, a >> b, a & b, a | b, a ^ b, a / b


@program((7, 2), (2.5, 2), ([1], 2))
def in_place(a, b):
    a += a
    note(a)
    a *= b
    note(a)
    a -= b
    a /= b
    a //= 1
    a **= 2
    a %= 100
    return a


@program((12, 5))
def in_place_bits(a, b):
    a <<= b
    a |= 3
    a ^= 9
    a &= 0xFFF
    a >>= 1
    return a


@program()
def matrix_product():
    class M:
        def __matmul__(self, other):
            return "product", other

        def __imatmul__(self, other):
            return "in place", other

    m = M()
    first = m @ 2
    m @= 3
    return first, m


@program((1, 2, 3), (3, 2, 1), (2, 2, 2))
def chained_comparison(a, b, c):
    return a < note(b) < c, a <= b <= c, a == b != c, not a > b, a is b, a is not c


@program((Noisy("a"), Noisy("b")), (Noisy(""), Noisy("b")))
def noisy_comparison(a, b):
    if a < b < a:
        note("yes")
    return (a and b), (a or b), not a, bool(a < b), (a == b), (a in [b, a]), ("a" in a), ("z" not in a)


@program((0,), (1,), ("",), ([0],))
def truth(a):
    note(a and "and")
    note(a or "or")
    if not a and note(1):
        return "empty"
    elif a and not note(0):
        return "full"
    while a:
        return "loop"
    return a if a else "else"


@program((3,), (None,), (0,))
def none_tests(a):
    if a is None:
        return "none"
    b = a if a is not None else 5
    while a is not None and a > 0:
        a = a - 1 if a > 1 else None
    return b, a


@program(([1, 2, 3],), ((4, 5, 6, 7),), ("word",))
def slices(a):
    return a[1:], a[:2], a[::2], a[-1], a[1:3], a[:], a[0:3:2], a[slice(1, None)]


@program()
def slice_stores():
    a = list(range(8))
    a[1:3] = "xyz"
    a[::3] = note([0] * len(a[::3]))
    del a[0]
    del a[-2:]
    a[0], a[1] = a[1], a[0]
    return a


@program((Noisy("n"),))
def subscripts(n):
    n[1] = n[2]
    n[1:2] += "x"
    del n["k"]
    n[1:2, ...] = 0
    del n[3:4]
    return n[n[0] : n[1]], n.attribute


@program((3,), ("text",), (2.5,), (Noisy("z"),))
def format_strings(a):
    width = 8
    return (
        f"{a}",
        f"{a!r:>{width}}|{a!s}|{a!a:^10}",
        f"{a=}",
        f"x{a:{width}}y{{}}",
        f"{'nested ' + f'{a}'}",
        f"{1.5:.3f}{a!r}",
    )


@program((1,))
def containers(a):
    return [a, 2], (a, 2), {a, 2}, {a: 2, "b": a}, {"k": a, "l": a}, [], (), {}, [1, 2, 3], {1, 2, 3}


@program(([1, 2], {"x": 1}))
def starred_containers(a, b):
    return [0, *a, 3, *a], (*a, *"hi"), {*a, 9}, {**b, "y": 2, **{"x": note(5)}}, [*b], (*a,)


@program((1,), ("ab",), (None,))
def bad_list_star(a):
    return [note(0), *a]


@program((1,), ("ab",), ([(1, 2)],))
def bad_dict_star(a):
    return {"k": note(0), **a}


@program((1,))
def bad_set_star(a):
    return {note(0), *a}


@program(([1, 2, 3],), ((1, 2),), ("abcd",), (5,), (None,), ({1: 2, 3: 4, 5: 6},))
def unpack_three(a):
    x, y, z = a
    return x, y, z


@program(([1],), ([1, 2],), ("abcd",), (range(6),), (7,), (Unhelpful(),))
def unpack_starred(a):
    x, *y, z = a
    note(y)
    *p, q = a
    r, *s = a
    return x, y, z, p, q, r, s


@program(((1, (2, [3, 4])),), ((1, 2),))
def unpack_nested(a):
    (x, (y, [z, w])) = a
    [p, q] = x, y
    return x, y, z, w, p, q


@program((Countdown(2),), (Countdown(3),), (Countdown(4),))
def unpack_iterator(a):
    x, y, z = a
    return x, y, z, list(a)


@program((3,))
def multiple_targets(n):
    a = b = c = [n]
    a += [1]
    d, e = f = (n, n + 1)
    i, values = 0, [5, 6]
    i, values[i] = 1, 7
    return a, b is c, d, e, f, values


@program((5,), (15,))
def walrus(n):
    if (m := n * 2) > 20:
        return m
    while (n := n - 1) > 2:
        note(n)
    found = [last := value for value in range(n)]
    return m, n, found, last, any((hit := value) > 1 for value in (0, 1, 2, 3)), hit


@program()
def evaluation_order():
    def f(*args, **kwargs):
        return note((args, kwargs))

    note("target")
    d = {note("k1"): note("v1"), note("k2"): note("v2")}
    d[note("key")] = note("value")
    f(note(1), *[note(2)], note(3), k=note(4), **{"l": note(5)})
    return note(1) + note(2) * note(3), note("a") if note(0) else note("b"), d


# Names.


@program((1,))
def unbound_local(flag):
    if not flag:
        x = 1
    note("before")
    return x


@program((0,), (1,))
def delete_local(flag):
    x = 1
    del x
    if flag:
        del x
    x = 2
    return x


@program()
def deleted_is_unbound():
    for x in [1, 2]:
        pass
    del x
    try:
        x
    except UnboundLocalError as error:
        note((error.args, error.name))
    try:
        undefined_name
    except NameError as error:
        return error.args, error.name


@program()
def global_variable():
    global counter, fresh
    counter += 1
    fresh = counter
    note(fresh)
    del fresh
    counter -= 1
    try:
        del fresh
    except NameError as error:
        return error.args, "fresh" in globals()


@program((3,))
def closures(n):
    total = 0

    def add(value):
        nonlocal total
        total += value
        return lambda: (total, n, value)

    probes = [add(value) for value in range(n)]
    n = 10
    return [probe() for probe in probes], total


@program()
def closure_without_value():
    def inner():
        return later

    try:
        inner()
    except NameError as error:
        note((type(error), error.args))
    later = 1
    first = inner()
    del later
    try:
        later
    except UnboundLocalError as error:
        note(error.args)
    try:
        del later
    except UnboundLocalError as error:
        note(error.args)
    inner()
    return first


@program((4,))
def shared_argument(n):
    def set_it(value):
        nonlocal n
        n = value

    set_it(note(n) + 1)
    return n


@program()
def late_binding():
    functions = [lambda: i for i in range(3)]
    others = [lambda i=i: i for i in range(3)]
    return [f() for f in functions], [f() for f in others]


@program()
def nested_three_deep():
    a = 1

    def one():
        b = 2

        def two():
            nonlocal b
            c = 3
            b += a

            def three():
                return a, b, c

            return three

        return two()(), b

    return one()


@program((2,))
def local_scope(x):
    def inner(y):
        note(sorted(locals()))
        return x + y

    y = 3
    found = locals()
    return (
        sorted(found),
        found["x"],
        vars()["y"],
        dir(),
        eval("y + 1"),
        inner(1),
        "note" in globals(),
        vars(Point(1, 2)),
    )


@program()
def execute():
    scope: dict = {"n": 3}
    exec("m = n + 1", scope)
    return scope["m"], eval("a * 2", {"a": 4}), eval("LOG is not None")


# Loops.


@program((0,), (3,), (12,))
def loops(n):
    total = 0
    for i in range(n):
        if i == 2:
            continue
        if i > 8:
            note("break")
            break
        total += i
    else:
        note("else")
    while n > 0:
        n -= 5
        if n == 2:
            break
    else:
        note("while else")
    return total, n


@program()
def nested_loops():
    found = []
    for a in range(4):
        for b in range(4):
            if b == a:
                break
            if (a + b) % 2:
                continue
            found.append((a, b))
        else:
            found.append("none")
    return found


@program((Countdown(3),), (Noisy("seq"),), (3,), (Unhelpful(),))
def loop_over(values):
    for count, value in enumerate(values):
        note(value)
        if count > 3:
            break


@program((3,))
def loop_over_class_iterator(n):
    total = []
    for value in Countdown(n):
        total.append(value)
    return total, list(Countdown(2)), sum(Countdown(4))


@program()
def loop_variable_targets():
    out, holder = [], Point(0, 0)
    for holder.x, (a, *b) in [(1, "xyz"), (2, [4])]:
        out.append((holder.x, a, b))
    data = {}
    for data["k"] in range(3):
        pass
    return out, data


@program()
def dictionary_changes():
    d = {1: 2, 3: 4}
    for key in d:
        note(key)
        d[key * 10] = 0


# Comprehensions.


@program((4,))
def comprehensions(n):
    return (
        [i * j for i in range(n) for j in range(i) if (i + j) % 2],
        {i % 2 for i in range(n)},
        {i: [j for j in range(i)] for i in range(n)},
        list(i for i in range(n) if i),
        [[a, b] for a, *b in ["xyz", "uv"]],
        [(lambda: i)() for i in range(n)],
        sum(i for i in range(n)),
    )


@program()
def comprehension_scopes():
    x = "outer"
    inner = [x for x in range(3)]
    cells = [lambda: x for _ in range(2)]
    y = [lambda: z for z in range(3)]
    [q for q in [1]]
    note(x)
    x = "changed"
    return inner, [c() for c in cells], [f() for f in y]


@program()
def comprehension_restores():
    i = "kept"
    try:
        [note(1 / i) for i in (1, 0)]
    except ZeroDivisionError:
        note(i)
    [i for i in range(3)]
    f = lambda: i
    [i for i in range(3)]
    return i, f(), len([i for i in range(2)] + [0])


@program()
def comprehension_unbound():
    [w for w in range(2)]
    try:
        return w
    except NameError as error:
        return type(error)


@program((None,), ([[1, 2], [3]],))
def comprehension_errors(rows):
    return [note(value) for row in rows for value in row if 6 / (value - 3)]


@program()
def comprehension_in_class():
    size = 3

    class A:
        values = [i * size for i in range(size)]
        names = {name: size for name in "ab"}
        own = [v for v in values]

    return A.values, A.names, A.own
