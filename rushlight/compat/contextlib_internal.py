"""`torch.utils._contextlib`: contexts that are decorators, too."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any


def context_decorator(ctx: Any, func: Any) -> Any:
    """A function (or generator function) that runs in a context: one object that is entered anew, or a function that makes one."""
    if inspect.isclass(func):
        raise RuntimeError(
            "Cannot decorate classes; it is ambiguous whether or not only the constructor or all methods should have the context manager applied"
        )
    make: Callable[[], Any] = ctx if callable(ctx) and not hasattr(ctx, "__enter__") else lambda: ctx

    if inspect.isgeneratorfunction(func):

        @functools.wraps(func)
        def generator(*args: Any, **kwargs: Any) -> Any:
            running = func(*args, **kwargs)
            request: Any = None
            error: BaseException | None = None
            while True:  # the context holds while the generator runs, and not while its caller does
                try:
                    with make():
                        answer = running.send(request) if error is None else running.throw(error)
                except StopIteration as ended:
                    return ended.value
                request, error = None, None
                try:
                    request = yield answer
                except GeneratorExit:
                    with make():
                        running.close()
                    raise
                except BaseException as thrown:
                    error = thrown

        return generator

    @functools.wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with make():
            return func(*args, **kwargs)

    return decorated


class _DecoratorContextManager:
    """A context manager whose instances decorate functions; every call gets a clone."""

    def __call__(self, orig_func: Any) -> Any:
        return context_decorator(self.clone, orig_func)

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        raise NotImplementedError

    def clone(self) -> Any:
        """Another one of the same class."""
        return self.__class__()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One that decorates without being called first."""

    def __new__(cls, orig_func: Any = None) -> Any:
        return super().__new__(cls) if orig_func is None else cls()(orig_func)
