"""What a pipe is: an iterable or indexed dataset with steps as methods; of an iterable pipe one iterator is valid at a time."""

from __future__ import annotations

import functools
import importlib
import inspect
import pickle
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar

from ..dataset import Dataset, IterableDataset

T_co = TypeVar("T_co", covariant=True)
UNTYPED_DATAFRAME_PIPE = None
_ISSUE = (
    "\nFor feedback regarding this single iterator per IterDataPipe constraint, feel free to comment on this issue: "
    "https://github.com/pytorch/data/issues/45."
)


def _attribute(pipe: Any, functions: dict[str, Callable[..., Any]], name: str) -> Any:
    """A step as a method."""
    if name not in functions and not name.startswith("_"):
        importlib.import_module(f"{__package__}.iter")  # the steps are registered when the first is asked for
        importlib.import_module(f"{__package__}.map")
    if name in functions:
        function = functools.partial(functions[name], pipe)
        functools.update_wrapper(wrapper=function, wrapped=functions[name], assigned=("__doc__",))
        return function
    raise AttributeError(f"'{type(pipe).__name__}' object has no attribute '{name}")


class _Pipe:
    """What pipes of both kinds share: steps as methods, hooks of pickling, short names."""

    functions: ClassVar[dict[str, Callable[..., Any]]]
    getstate_hook: ClassVar[Callable[..., Any] | None] = None
    reduce_ex_hook: ClassVar[Callable[..., Any] | None] = None
    str_hook: ClassVar[Callable[..., Any] | None] = None
    repr_hook: ClassVar[Callable[..., Any] | None] = None

    def __getattr__(self, attribute_name: str) -> Any:
        return _attribute(self, type(self).functions, attribute_name)

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Make a function of a pipe a method of pipes."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name: str, cls_to_register: Any, enable_df_api_tracing: bool = False) -> None:
        """Make a class of pipes a method of pipes."""
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")

        def method(source: Any, *args: Any, **kwargs: Any) -> Any:
            return cls_to_register(source, *args, **kwargs)

        functools.update_wrapper(wrapper=method, wrapped=cls_to_register, assigned=("__doc__",))
        cls.functions[function_name] = method

    def __getstate__(self) -> Any:
        hook = type(self).getstate_hook
        state = self.__dict__
        return state if hook is None else hook(state)

    def __reduce_ex__(self, *args: Any, **kwargs: Any) -> Any:
        hook = type(self).reduce_ex_hook
        if hook is not None:
            try:
                return hook(self)
            except NotImplementedError:
                pass
        return super().__reduce_ex__(*args, **kwargs)

    @classmethod
    def set_getstate_hook(cls, hook_fn: Any) -> None:
        """Have a function make what is pickled; one at a time."""
        if _Pipe._root(cls).getstate_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing getstate_hook")
        _Pipe._root(cls).getstate_hook = staticmethod(hook_fn) if hook_fn is not None else None

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn: Any) -> None:
        """Have a function take pipes apart for pickling; one at a time."""
        if _Pipe._root(cls).reduce_ex_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing reduce_ex_hook")
        _Pipe._root(cls).reduce_ex_hook = staticmethod(hook_fn) if hook_fn is not None else None

    @staticmethod
    def _root(cls: Any) -> Any:
        return IterDataPipe if issubclass(cls, IterDataPipe) else MapDataPipe

    def __str__(self) -> str:
        return str(self.str_hook()) if self.str_hook is not None else type(self).__qualname__

    def __repr__(self) -> str:
        return str(self.repr_hook()) if self.repr_hook is not None else type(self).__qualname__

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *type(self).functions]


class IterDataPipe(_Pipe, IterableDataset[T_co]):
    """A pipe that gives samples one after the other.  A new iterator of a pipe makes the one before invalid; ``fork`` gives several."""

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}
    _valid_iterator_id: int | None = None
    _number_of_samples_yielded: int = 0
    _fast_forward_iterator: Iterator[Any] | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__iter__" in cls.__dict__:
            cls.__iter__ = _watched(cls.__dict__["__iter__"])  # type: ignore[method-assign]
        if "__next__" in cls.__dict__:
            cls.__next__ = _watched_next(cls.__dict__["__next__"])  # type: ignore[attr-defined]

    def __iter__(self) -> Iterator[Any]:
        return self  # type: ignore[return-value]

    def reset(self) -> None:
        """Called before each iteration: subclasses forget here what the last one left."""

    # Children of a fork share the iteration of their parent, which counts instead.
    _is_child_datapipe = False

    def _begin(self) -> int:
        """A new iteration: its number."""
        self._valid_iterator_id = (self._valid_iterator_id or 0) + 1 if self._valid_iterator_id is not None else 0
        self.reset()
        return self._valid_iterator_id

    def _check(self, number: int) -> None:
        if number != self._valid_iterator_id:
            raise RuntimeError(
                "This iterator has been invalidated because another iterator has been created "
                f"from the same IterDataPipe: {_with_arguments(self)}\n"
                "This may be caused by multiple references to the same IterDataPipe. We recommend "
                f"using `.fork()` if that is necessary.{_ISSUE}"
            )


class DFIterDataPipe(IterDataPipe[T_co]):
    """A pipe of data frames."""

    def _is_dfpipe(self) -> bool:
        return True


class MapDataPipe(_Pipe, Dataset[T_co]):
    """A pipe that gives samples by their keys."""

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}


# -- one iterator at a time --------------------------------------------------------------------------------------


def _with_arguments(pipe: Any) -> str:
    """A pipe with what it was made of."""
    names = inspect.signature(type(pipe).__init__).parameters
    members = vars(pipe)
    shown = []
    for name in sorted(names):
        if name == "self" or name not in members:
            continue
        value = members[name]
        shown.append(f"{name}={getattr(value, '__name__', value)}")
    return f"{type(pipe).__name__}({', '.join(shown)})"


def _told(pipe: Any, error: Exception, where: str) -> None:
    """Add to an error's message which pipe it comes from, unless a pipe before has."""
    if pipe._is_child_datapipe:
        return
    where = f"thrown by {where} of {_with_arguments(pipe)}"
    if error.args and isinstance(error.args[0], str) and "thrown by __iter__ of" not in error.args[0]:
        error.args = (f"{error.args[0]}\nThis exception is {where}", *error.args[1:])
    elif not error.args:
        error.args = (where,)


class _Checked:
    """An iterator of a pipe that says when it is no longer the valid one."""

    def __init__(self, pipe: Any, inner: Any, number: int) -> None:
        self.pipe, self.inner, self.number = pipe, inner, number

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        self.pipe._check(self.number)
        try:
            found = next(self.inner)
        except StopIteration:
            raise
        except Exception as error:
            _told(self.pipe, error, "__iter__")
            raise
        self.pipe._number_of_samples_yielded += 1
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def _watched(function: Any) -> Any:
    """An ``__iter__`` whose iterators know whether they are valid."""
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generator(self: Any, *args: Any, **kwargs: Any) -> Any:
            number = self._begin()
            self._number_of_samples_yielded = 0
            running = function(self, *args, **kwargs)
            try:
                request = None
                while True:
                    self._check(number)
                    try:
                        found = running.send(request)
                    except StopIteration:
                        return
                    except Exception as error:
                        _told(self, error, "__iter__")
                        raise
                    self._number_of_samples_yielded += 1
                    request = yield found
            finally:
                running.close()

        return generator

    @functools.wraps(function)
    def plain(self: Any, *args: Any, **kwargs: Any) -> Any:
        number = self._begin()
        self._number_of_samples_yielded = 0
        made = function(self, *args, **kwargs)
        return made if made is self or isinstance(made, _Checked) else _Checked(self, made, number)

    return plain


def _watched_next(function: Any) -> Any:
    """A ``__next__`` that tells errors by the pipe, and starts where nobody has."""

    @functools.wraps(function)
    def advance(self: Any) -> Any:
        found = function(self)
        self._number_of_samples_yielded += 1
        return found

    return advance


# -- batches and pickles -----------------------------------------------------------------------------------------


class DataChunk(list):  # type: ignore[type-arg]
    """A batch of a pipe: a list."""

    def __init__(self, items: Any) -> None:
        items = list(items)
        super().__init__(items)
        self.items = items

    def as_str(self, indent: str = "") -> str:
        """The batch as text."""
        return indent + "[" + ", ".join(str(each) for each in iter(self)) + "]"

    def raw_iterator(self) -> Iterator[Any]:
        """The samples as they are."""
        yield from self.items


class _DataPipeSerializationWrapper:
    """A pipe that can be sent to another process."""

    def __init__(self, datapipe: Any) -> None:
        self._datapipe = datapipe

    def __getstate__(self) -> Any:
        return pickle.dumps(self._datapipe)

    def __setstate__(self, state: Any) -> None:
        self._datapipe = pickle.loads(state)

    def __len__(self) -> int:
        try:
            return len(self._datapipe)
        except Exception as error:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length") from error


class _IterDataPipeSerializationWrapper(_DataPipeSerializationWrapper, IterDataPipe[Any]):
    """An iterable pipe that can be sent to another process."""

    def __iter__(self) -> Iterator[Any]:
        yield from self._datapipe


class _MapDataPipeSerializationWrapper(_DataPipeSerializationWrapper, MapDataPipe[Any]):
    """An indexed pipe that can be sent to another process."""

    def __getitem__(self, index: Any) -> Any:
        return self._datapipe[index]


__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"]
