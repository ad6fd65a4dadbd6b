"""The recorder's semantics of containers and iterators: each operation is guarded or recorded before it is performed."""

from __future__ import annotations

import collections
import functools
import inspect
import operator
from typing import Any

from ....core.base import TensorBase
from ....core.missing import is_own
from ....core.symbolic import is_symbolic
from ..decode import NULL
from ..guards.guards import CONTAINERS, PRIMITIVES
from ..vm import operator_forms
from ..vm.frame import Frame, Inline, bind
from ..vm.generator import InterpretedGenerator
from .base import SideEffect
from .callables import BLIND, HANDING_ON, MUTATORS, READERS, iterates_in_python, python_method, python_methods
from .callbacks import InterpretedCallback, RecordingInterpreter
from .graph_breaks import Break
from .symbolic_numbers import checked_index
from .values import ValueRecorder, is_plain_key, settled

_ITERATED = frozenset("extend extendleft update difference_update intersection_update symmetric_difference_update subtract".split())
# Methods that inspect their first arguments alone: how many.
_INSPECTED = {"append": 0, "appendleft": 0, "insert": 1, "__setitem__": 1, "setdefault": 1, "pop": 1}
# What makes a text of an object, each with what asks the next one.
_TEXTS = (("__format__", object.__format__), ("__str__", object.__str__), ("__repr__", None))
# Methods of lists and deques whose first argument is a place, or a number of places.
_PLACED = frozenset("insert pop rotate __setitem__ __delitem__ __imul__".split())


class ContainerRecorder(ValueRecorder):
    """Records operations on containers and iterators."""

    def guard_shallow(self, value: Any = ()) -> None:
        """Guard what native code may read of an iterable whose elements it passes on: keys are compared, other elements are not looked at."""
        if type(value) not in (list, tuple, dict, set, frozenset, collections.deque, collections.OrderedDict):
            self.guard_contents(value)
            return
        self.guard_elements(value)
        if not isinstance(value, (list, tuple, collections.deque)):
            self.guard_contents(*value)

    # -- items -----------------------------------------------------------------------------------------------------

    def plain_index(self, key: Any) -> Any:
        """An index into a sequence or tensor: an ``__index__`` of the user's, also of a bound of a slice, is interpreted."""
        if isinstance(key, slice) and any(python_method(each, "__index__") for each in (key.start, key.stop, key.step)):
            return slice(*map(self.plain_index, (key.start, key.stop, key.step)))
        if type(key) is tuple and any(isinstance(each, slice) or python_method(each, "__index__") for each in key):
            return tuple(map(self.plain_index, key))
        if isinstance(key, (int, TensorBase)) or (method := self.special(key, "__index__")) is None:
            return key
        found = InterpretedCallback(self, method)(key)
        if not isinstance(found, int):
            raise TypeError(f"__index__ returned non-int (type {type(found).__name__})")
        return found

    def get_item(self, container: Any, key: Any) -> Any:
        if isinstance(container, TensorBase):
            key = self.plain_index(key)
            self.guard_contents(key)
            return container[checked_index(self, self.tracer.shape_of(container), key)]
        special = self.special(container, "__getitem__")
        if special is not None:
            return Inline(special, (container, key), {})
        if isinstance(container, type):
            return operator.getitem(container, key)  # type: ignore[call-overload]
        if isinstance(container, (list, tuple, str, bytes, range, collections.deque)):
            key = self.plain_index(key)
            self.specialize(key)
            if isinstance(key, TensorBase):
                raise Break("value", name="an index")
        elif isinstance(container, dict):
            self.specialize(key)
            self.guard_contents(key)
            missing = self.special(container, "__missing__")
            if (missing is not None or isinstance(container, collections.defaultdict)) and not self.contains(container, key):
                return Inline(
                    *((operator_forms.missing_item, (container, key), {}) if missing is None else (missing, (container, key), {}))
                )
        source = self.sources.get(id(container))
        if source is None:
            if not isinstance(container, (*CONTAINERS, str, bytes, range)):
                self.guard_contents(container)
            return container[key]
        self.guards.type(source, container)
        if id(container) in self.snapshots:
            self.refuse_mutated(f"a {type(container).__name__}")
            changed = self.mutated_keys.get(id(container))
            if changed is None or not is_plain_key(key) or key not in container:
                self.guard_elements(container)
            elif key not in changed:
                self.guard_value(self.new_source.item(source, key, container), container[key])
            return container[key]
        if id(container) in self.expanded:
            return container[key]
        if isinstance(container, (list, tuple)) and isinstance(key, int) and not is_symbolic(key):
            self.guards.length(source, container, container)
            return self.read_value(self.new_source.item(source, int(key)), container[key])
        if isinstance(container, dict) and is_plain_key(key) and key in container:
            return self.read_value(self.new_source.item(source, key, container), container[key])
        self.guard_contents(container)
        return container[key]

    def set_item(self, container: Any, key: Any, value: Any) -> Any:
        special = self.special(container, "__setitem__")
        if special is not None:
            return Inline(special, (container, key, value), {})
        if isinstance(container, (TensorBase, list, collections.deque)):
            key = self.plain_index(key)
        if isinstance(container, TensorBase):
            self.guard_contents(key)
            container[checked_index(self, self.tracer.shape_of(container), key)] = value
            return None
        self.specialize(key)
        self.guard_contents(key)
        if not self.is_side_effect(container, "an item"):
            container[key] = value
            return None
        if not isinstance(container, (list, dict, collections.deque)):
            raise Break("native", name=f"an item of a {type(container).__name__}")
        if not isinstance(container, dict):
            self.guard_elements(container)
        if isinstance(key, slice):
            value = settled(value)
        self.change(
            container, operator.setitem, key, value, key=key if isinstance(container, dict) and isinstance(key, (str, int)) else NULL
        )
        return None

    def delete_item(self, container: Any, key: Any) -> Any:
        special = self.special(container, "__delitem__")
        if special is not None:
            return Inline(special, (container, key), {})
        if isinstance(container, (list, collections.deque)):
            key = self.plain_index(key)
        self.specialize(key)
        self.guard_contents(container, key)
        if not self.is_side_effect(container, "an item"):
            del container[key]
            return None
        if not isinstance(container, (list, dict, collections.deque)):
            raise Break("native", name=f"an item of a {type(container).__name__}")
        self.change(container, operator.delitem, key)
        return None

    def container_method(self, kind: type, owner: Any, name: str, function: Any, args: Any, kwargs: Any) -> Any:
        """A method of a list, dict, set or deque."""
        if (
            name == "get"
            and kind is dict
            and len(args) in (1, 2)
            and is_plain_key(args[0])
            and type(owner).__module__ in ("builtins", "collections")
        ):
            if id(owner) in self.sources and id(owner) not in self.expanded:  # one key is looked at, and not all of them
                found = self.contains(owner, args[0])
                return self.get_item(owner, args[0]) if found else args[1] if len(args) == 2 else None
        if name not in MUTATORS[kind]:
            if name not in READERS and id(owner) in self.sources:
                raise Break("native", name=f"{kind.__name__}.{name}")
            if name in HANDING_ON:
                self.guard_elements(owner)
                self.guard_contents(*args[:1])
            else:
                self.guard_contents(owner, *args, *kwargs.values())
                self.specialize(owner)
            self.specialize(*args, *kwargs.values())
            return function(*args, **kwargs)
        for each in args[: _INSPECTED.get(name)]:
            self.guard_shallow(each) if name in _ITERATED else self.guard_contents(each)
        if kind is dict and name != "update" or kind is set:
            self.specialize(*args[: 1 if kind is dict else None])
        if name in ("sort", "remove"):
            self.specialize(owner, *args, kwargs.get("reverse"))
        elif name in _PLACED and kind is not dict:
            self.specialize(*args[:1])
        if not self.is_side_effect(owner, name):
            if name in ("sort", "remove"):
                self.guard_contents(owner)
            elif name == "__setitem__" and isinstance(owner, dict):
                self.guard_contents(*dict.keys(owner))  # which may be compared
            return function(*args, **kwargs)
        if name not in BLIND:
            self.guard_elements(owner)
        if name == "sort":  # its result is an effect; the key is not called again
            self.guard_contents(owner)
            self.snapshot(owner)
            function(*args, **kwargs)
            self.effects.append(SideEffect(operator.setitem, owner, slice(None), list(owner)))
            return None
        if name in _ITERATED:
            args = tuple([settled(each) for each in args])
        method = getattr(native_owner(type(owner), name) or kind, name)
        if kwargs and name == "update":
            for each in (*args, dict(kwargs)):
                self.change(owner, method, each)
            return None
        if kwargs:
            self.specialize(*kwargs.values())
            method = functools.partial(method, **kwargs)  # move_to_end(key, last=False)
        return self.change(owner, method, *args)

    def new_instance(self, function: Any, args: Any, kwargs: Any) -> Any:
        """A call of the ``__new__`` of a builtin class."""
        kind = args[0] if args else None
        if function is not object.__new__ and not (
            isinstance(kind, type) and issubclass(kind, (tuple, list, dict, set, str, int, float, BaseException))
        ):
            raise Break("builtin", name="__new__")
        if isinstance(kind, type) and issubclass(kind, tuple) and len(args) > 1:
            args = (kind, self.as_iterable(args[1]), *args[2:])
        return self.track_fresh(function(*args, **kwargs))

    # -- building --------------------------------------------------------------------------------------------------

    def build_set(self, values: list[Any]) -> Any:
        self.guard_contents(*values)
        self.specialize(*values)
        return super().build_set(values)

    def build_map(self, keys: Any, values: Any) -> Any:
        self.guard_contents(*keys)
        self.specialize(*keys)
        return super().build_map(keys, values)

    def map_add(self, items: Any, key: Any, value: Any) -> None:
        self.guard_contents(key)
        self.specialize(key)
        if self.is_side_effect(items, "a dict that is being built"):
            self.change(items, operator.setitem, key, value)
        else:
            super().map_add(items, key, value)

    def list_append(self, items: Any, value: Any) -> None:
        if self.is_side_effect(items, "a list that is being built"):  # there was a break since it was begun
            self.change(items, list.append, value)
        else:
            super().list_append(items, value)

    def set_add(self, items: Any, value: Any) -> None:
        self.guard_contents(value)
        self.specialize(value)
        if self.is_side_effect(items, "a set that is being built"):
            self.change(items, set.add, value)
        else:
            super().set_add(items, value)

    def list_extend(self, items: Any, more: Any) -> None:
        more = self.as_iterable(more)
        if self.is_side_effect(items, "a list that is being built"):
            self.change(items, list.extend, list(more))
        else:
            super().list_extend(items, more)

    def set_update(self, items: Any, more: Any) -> None:
        more = list(self.as_iterable(more))
        self.specialize(more)
        if self.is_side_effect(items, "a set that is being built"):
            self.change(items, set.update, more)
        else:
            super().set_update(items, more)

    def dict_update(self, items: Any, more: Any) -> None:
        more = self.as_dict(more)
        self.guard_shallow(more)
        if isinstance(more, dict) and self.is_side_effect(items, "a dict that is being built"):
            self.change(items, dict.update, dict(more))
        else:
            super().dict_update(items, more)

    def dict_merge(self, function: Any, keywords: Any, more: Any) -> None:
        more = self.as_dict(more)
        self.guard_shallow(more)
        if id(keywords) in self.sources:
            raise Break("native", name="keywords from several dicts, with a break between them")
        super().dict_merge(function, keywords, more)

    def call_arguments(self, function: Any, args: Any) -> tuple[Any, ...]:
        return super().call_arguments(function, self.as_iterable(args))

    def unpack_sequence(self, value: Any, count: int) -> list[Any]:
        return super().unpack_sequence(self.as_iterable(value), count)

    def unpack_ex(self, value: Any, before: int, after: int) -> list[Any]:
        return super().unpack_ex(self.as_iterable(value), before, after)

    def get_len(self, subject: Any) -> Any:
        self.guard_contents(subject)
        return super().get_len(subject)

    def match_keys(self, subject: Any, keys: tuple[Any, ...]) -> tuple[Any, ...] | None:
        self.guard_contents(subject)
        return super().match_keys(subject, keys)

    def match_class(self, subject: Any, kind: Any, positional: int, names: tuple[str, ...]) -> tuple[Any, ...] | None:
        if isinstance(subject, TensorBase):
            self.tracer.node_of(subject)
        elif not isinstance(subject, PRIMITIVES):
            source = self.sources.get(id(subject))
            if source is not None:
                self.guards.value(source, subject)
            if isinstance(subject, kind):
                self.guard_contents(subject)
        return super().match_class(subject, kind, positional, names)

    def match_sequence(self, subject: Any) -> bool:
        self.is_same(subject, None)
        return super().match_sequence(subject)

    def match_mapping(self, subject: Any) -> bool:
        self.is_same(subject, None)
        return super().match_mapping(subject)

    def format_value(self, value: Any, spec: Any) -> Any:
        written = self.written_text(value, "__format__", spec)
        if written is not None:
            return written
        self.guard_text(value, "a formatted string")
        return super().format_value(value, spec)

    def convert_value(self, kind: str, value: Any) -> Any:
        written = None if kind == "ascii" else self.written_text(value, f"__{kind}__")
        if written is not None:
            return written
        self.guard_text(value, kind)
        return super().convert_value(kind, value)

    def written_text(self, value: Any, name: str, *spec: Any) -> Inline | None:
        """The text of an object by a method in Python of its class: ``__format__`` asks for ``__str__``, and that for ``__repr__``.  None where there is none."""
        for method, base in _TEXTS[[each for each, _ in _TEXTS].index(name) :]:
            found = self.special(value, method)
            if found is not None:
                return Inline(operator_forms.text_of, (found, value, method, spec if method == "__format__" else ()), {})
            if getattr(type(value), method) is not base or method == "__format__" and any(spec):
                break
        return None

    def guard_text(self, value: Any, name: str) -> None:
        """A value becomes a string."""
        if isinstance(value, TensorBase):
            raise Break("value", name=name)
        self.specialize(value)
        self.guard_contents(value, text=True)
        if isinstance(value, CONTAINERS) and any(
            isinstance(each, TensorBase) for each in (value.values() if isinstance(value, dict) else value)
        ):
            raise Break("value", name=name)

    # -- iterators -------------------------------------------------------------------------------------------------

    def as_iterable(self, value: Any) -> Any:
        """Something that native code will iterate over; a user's ``__iter__`` has run then, and its iterator is interpreted step by step."""
        if iterates_in_python(type(value)) and not isinstance(value, TensorBase):
            if not hasattr(type(value), "__iter__"):
                return self.generator(operator_forms.iterate_items, value)
            method = self.special(value, "__iter__")
            iterator = value if method is None else operator_forms.iterator_of(InterpretedCallback(self, method), value)
            if type(iterator) is InterpretedGenerator:
                return iterator
            step = self.special(iterator, "__next__")
            return (
                self.generator(operator_forms.iterate, iterator) if step is None else self.generator(operator_forms.advance, step, iterator)
            )
        if isinstance(value, TensorBase):
            self.specialize(*self.tracer.shape_of(value)[:1])
        elif isinstance(value, CONTAINERS):
            self.guard_elements(value)
        else:
            self.guard_contents(value)
        return value

    def as_late_iterable(self, value: Any) -> Any:
        """The same for ``itertools.chain``, which asks for an iterator when it comes to it."""
        late = iterates_in_python(type(value)) and hasattr(type(value), "__iter__") and not isinstance(value, TensorBase)
        return self.generator(operator_forms.iterate, value) if late else self.as_iterable(value)

    def as_dict(self, value: Any) -> Any:
        """The items of a mapping of the user's, whose methods are interpreted, as a dict; any other value as it is."""
        if isinstance(value, dict) or not hasattr(value, "keys") or not python_methods(type(value)) & {"__getitem__", "__iter__"}:
            return value
        return dict(self.generator(operator_forms.pairs_of, value))

    def generator(self, form: Any, *args: Any) -> Any:
        """The generator that a form makes of values, interpreted as native code runs it."""
        frame = bind(form, args, {})
        assert frame is not None
        while frame.instruction.op != "return_generator":
            frame.index += 1
        return self.track_fresh(InterpretedGenerator(RecordingInterpreter(self), frame))

    def iterables(self, name: str, value: Any) -> Any:
        """The first argument of a class method that makes something new: ``fromkeys`` iterates over it, ``from_iterable`` also over what it holds."""
        if name not in ("fromkeys", "from_iterable"):
            return value
        outer = self.as_iterable(value)
        if name == "fromkeys":
            return outer
        return [*map(self.as_late_iterable, outer)] if isinstance(value, CONTAINERS) else map(self.as_late_iterable, outer)

    def get_iter(self, value: Any) -> Any:
        if isinstance(value, CONTAINERS):
            special = self.special(value, "__iter__")
            if special is not None:
                return Inline(special, (value,), {})
            self.guard_elements(value)
            return iter(value)
        special = self.special(value, "__iter__")
        if special is not None:
            source = self.sources.get(id(value))
            if source is not None:
                self.guards.value(source, value)
            if inspect.isgeneratorfunction(special) or is_own(special):  # what it gives is an iterator
                return Inline(special, (value,), {})
            return Inline(operator_forms.iterator_of, (special, value), {})
        if id(value) in self.sources and (type(value) is InterpretedGenerator or hasattr(type(value), "__next__")):
            return value  # an iterator is its own
        return super().get_iter(self.as_iterable(value))

    def next(self, iterator: Any) -> Any:
        if id(iterator) in self.sources:
            if self.special(iterator, "__next__") is None:
                raise Break("loop")
            self.guards.value(self.sources[id(iterator)], iterator)
        special = self.special(iterator, "__next__") if type(iterator) is not InterpretedGenerator else None
        return super().next(iterator) if special is None else Inline(special, (iterator,), {})

    def release_generator(self, generator: Any) -> None:
        if id(generator) in self.sources and generator.gi_suspended:
            raise Break("loop")  # what it does at its end comes now, and not after the graph

    def send(self, receiver: Any, value: Any) -> Any:
        if id(receiver) in self.sources:
            raise Break("loop")
        if python_methods(type(receiver)) & {"send", "__next__"}:
            raise Break("hidden", name=f"{type(receiver).__name__}.__next__")
        return super().send(receiver, value)

    def import_name(self, frame: Frame, name: str, names: Any, level: int) -> Any:
        module = super().import_name(frame, name, names, level)
        self.register(module, self.new_source.known(module))
        return module

    def import_from(self, module: Any, name: str) -> Any:
        result = super().import_from(module, name)
        return self.guard_value(self.new_source.attribute(self.new_source.known(module), name), result)


def native_owner(kind: type, name: str) -> type | None:
    """The class from which a class has a method that is not written in Python."""
    return next((each for each in kind.__mro__ if not each.__flags__ & (1 << 9) and name in vars(each)), None)
