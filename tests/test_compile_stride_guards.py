"""Compiled programs whose course follows from the strides of their inputs: a capture for one layout is not used for another."""

import pytest

import rushlight as torch


def contiguous():
    return torch.arange(12.0).reshape(3, 4)


def transposed():
    return torch.arange(12.0).reshape(4, 3).t()


def outcome(function, value):
    try:
        found = function(value)
    except Exception as error:
        return type(error).__name__
    return found.tolist() if isinstance(found, torch.Tensor) else found


PROGRAMS = {
    "view of a product": lambda x: (x * 2).view(-1),
    "view of a copy": lambda x: x.clone().view(-1),
    "view of another type": lambda x: x.to(torch.float64).view(2, 6),
    "view of zeros": lambda x: torch.zeros_like(x).view(-1),
    "view as another tensor": lambda x: (x + 1).view_as(torch.zeros(4, 3)),
    "view of wider elements": lambda x: (x + 1).view(torch.float64) * 0,
    "identity of contiguous": lambda x: x.contiguous() is x,
    "identity of computed": lambda x: (y := x + 1).contiguous() is y,
    "resized": lambda x: x.clone().resize_(2, 2) * 2,
    "resized as another tensor": lambda x: x.clone().resize_as_(torch.zeros(5)) * 2,
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_layout_has_a_capture_of_its_own(name, dynamic):
    function = PROGRAMS[name]
    for first, second in ((contiguous, transposed), (transposed, contiguous)):
        compiled = torch.compile(function, dynamic=dynamic, backend="eager" if dynamic else "inductor")
        for make in (first, first, second, second, first, second):
            assert outcome(compiled, make()) == outcome(function, make())


def test_the_order_of_strides_is_guarded_and_not_their_values():
    graphs = []
    compiled = torch.compile(lambda x: (x * 2).t().view(-1), backend=lambda g, i: graphs.append(1) or g.forward, dynamic=True)
    for rows in (3, 5, 7):
        value = torch.arange(4.0 * rows).reshape(4, rows).t()
        assert compiled(value).tolist() == (value.t() * 2).reshape(-1).tolist()
    assert len(graphs) == 1


def test_a_launched_call_asks_for_no_layout():
    compiled = torch.compile(lambda x: (x * 2).view(-1) + 1)
    for _ in range(3):
        compiled(contiguous())
    source = compiled._compiled.cache.all()[0].source
    before, launched, after = source.partition("launch(")
    assert launched and "is_contiguous" not in before and "is_contiguous" in after
