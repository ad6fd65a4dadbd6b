"""compile: what ``super()`` finds in a base class is guarded."""

import pytest

import rushlight as torch


class Base:
    factor = 4

    def add(self, x):
        return x + 10

    @staticmethod
    def plain(x):
        return x + 1

    @property
    def doubled(self):
        return 2 * Base.factor


class Child(Base):
    def value(self, x):
        return super().factor * x

    def method(self, x):
        return super().add(x)

    def static(self, x):
        return super().plain(x)

    def computed(self, x):
        return super(Child, self).doubled * x  # noqa: UP008

    def by_name(self, x):
        return getattr(super(), "factor") * x  # noqa: B009

    @classmethod
    def of_class(cls, x):
        return super().factor * x


CHANGES = {"factor": 5, "add": lambda self, x: x + 20, "plain": staticmethod(lambda x: x + 5), "doubled": property(lambda self: 7)}


@pytest.mark.parametrize("name", ["value", "method", "static", "computed", "by_name", "of_class"])
def test_changes_of_the_base_class(name, monkeypatch):
    program = getattr(Child(), name)
    compiled = torch.compile(program, fullgraph=True)
    x = torch.ones(2)
    for _ in range(3):
        assert torch.equal(compiled(x), program(x))
    for attribute, changed in CHANGES.items():
        monkeypatch.setattr(Base, attribute, changed)
        assert torch.equal(compiled(x), program(x)), attribute


def test_a_class_in_between_gets_the_attribute(monkeypatch):
    class Middle(Base):
        pass

    class Last(Middle):
        def value(self, x):
            return super().factor * x

    program = Last().value
    compiled = torch.compile(program)
    x = torch.ones(2)
    assert torch.equal(compiled(x), program(x))
    Middle.factor = 9
    assert torch.equal(compiled(x), program(x))
