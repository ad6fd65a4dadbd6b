"""`torch.utils._pytree`: nested containers by PyTorch's names."""

from __future__ import annotations

from collections import OrderedDict, namedtuple

import pytest

import rushlight
from rushlight.compat import pytree
from rushlight.utils import trees

Point = namedtuple("Point", "x y")


def test_flatten_and_unflatten() -> None:
    tree = {"a": [1, (2, None)], "b": Point(3, OrderedDict(z=4))}
    leaves, spec = pytree.tree_flatten(tree)
    assert leaves == [1, 2, None, 3, 4] and spec.num_leaves == 5
    again = pytree.tree_unflatten([each and each * 10 for each in leaves], spec)
    assert again == {"a": [10, (20, None)], "b": Point(30, OrderedDict(z=40))} and isinstance(again["b"], Point)
    assert pytree.tree_structure(again) == spec
    assert repr(pytree.tree_structure([1, (2,)])) == "TreeSpec(list, None, [*, TreeSpec(tuple, None, [*])])"
    with pytest.raises(ValueError, match="holds 5"):
        spec.unflatten([1])


def test_maps() -> None:
    assert pytree.tree_map(lambda a, b: a + b, [1, {"x": 2}], [10, {"x": 20}]) == [11, {"x": 22}]
    assert pytree.tree_map_only(int, lambda each: -each, [1, "a", (2.0, 3)]) == [-1, "a", (2.0, -3)]
    assert pytree.tree_map(len, [(1, 2), (3,)], is_leaf=lambda each: isinstance(each, tuple)) == [2, 1]
    assert pytree.tree_any(lambda each: each == 2, [1, [2]]) and not pytree.tree_all(lambda each: each == 2, [1, [2]])
    assert pytree._broadcast_to_and_flatten((0, None), pytree.tree_structure(((1, 2), 3))) == [0, 0, None]


def test_paths() -> None:
    found, _ = pytree.tree_flatten_with_path({"a": [1, Point(2, 3)]})
    assert [(pytree.keystr(path), leaf) for path, leaf in found] == [("['a'][0]", 1), ("['a'][1].x", 2), ("['a'][1].y", 3)]
    assert pytree.key_get({"a": [1, Point(2, 3)]}, found[1][0]) == 2


def test_registered_classes_are_containers_everywhere() -> None:
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    pytree.register_pytree_node(Pair, lambda each: ([each.a, each.b], None), lambda values, _: Pair(*values))
    assert pytree.tree_leaves([Pair(1, [2, 3])]) == [1, 2, 3]
    assert trees.flatten(Pair(1, 2))[0] == [1, 2]
    with pytest.raises(ValueError, match="already registered"):
        pytree.register_pytree_node(Pair, lambda each: ([], None), lambda values, _: None)


def test_structures_as_text() -> None:
    spec = pytree.tree_structure({"a": [1, (2, 3)]})
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec


def test_a_size_is_a_tuple_of_leaves() -> None:
    """pyro's provenance maps over what methods of tensors return."""
    leaves, spec = pytree.tree_flatten(rushlight.Size((2, 3)))
    assert leaves == [2, 3] and type(pytree.tree_unflatten(leaves, spec)) is tuple
