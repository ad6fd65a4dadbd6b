"""``symbolic_trace``: run a program on proxies and write down what it does."""

from __future__ import annotations

import builtins
import functools
import inspect
import math
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from types import ModuleType
from typing import Any

from ..core.base import TensorBase
from ..core.declare import PACKAGE
from ..nn.modules.container import Sequential
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..utils import trees
from .graph import Graph
from .graph_module import GraphModule
from .proxy import ParameterProxy, TracerBase, base_types, find_proxy

_wrapped_fns_to_patch: dict[tuple[int, str], dict[str, Any]] = {}
_wrapped_methods_to_patch: list[tuple[type, str]] = []
_original_module_call = Module.__call__
_original_module_getattr = Module.__getattr__
_running: list[Any] = []  # tracers that are at work


def is_fx_tracing() -> bool:
    """Whether a program is being traced."""
    return bool(_running)


is_fx_symbolic_tracing = is_fx_tracing


class PHBase:
    """What stands in ``concrete_args`` for an input that stays one."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """A placeholder with facts about it."""

    def __init__(self, ph_key: str | None = None) -> None:
        super().__init__()
        self.ph_key = ph_key


class ProxyableClassMeta(type):
    """The metaclass of classes whose construction from proxies is recorded as a call."""

    def __init__(cls, name: str, bases: Any, attrs: Any) -> None:
        _proxyable_classes.setdefault(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        found = find_proxy((args, kwargs))
        if found is not None:
            return found.tracer.create_proxy("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)


_proxyable_classes: dict[type, None] = {}


def _assert_is_none(value: Any, msg: str) -> None:
    """Raise where a value is given for an argument that was traced as None."""
    if value is not None:
        raise AssertionError(msg)


def _parameter_proxy(tracer: Any, name: str, value: Any, node: Any) -> ParameterProxy:
    return ParameterProxy(tracer, node, name, value)


class Tracer(TracerBase):
    """Traces a Module or function; derive from it to say what is a leaf, or how nodes are made."""

    def __init__(self, autowrap_modules: tuple[ModuleType, ...] = (math,), autowrap_functions: tuple[Callable[..., Any], ...] = (), param_shapes_constant: bool = False) -> None:  # fmt: skip
        super().__init__()
        self._autowrap_function_ids = {
            id(value) for module in autowrap_modules for name, value in vars(module).items() if not name.startswith("_") and callable(value)
        }
        self._autowrap_function_ids |= {id(each) for each in autowrap_functions}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] | None = None
        self.root_module_name = ""
        self.module_stack = {}
        self.num_calls: dict[str, int] = {}
        self.tensor_attrs: dict[int, str] = {}
        self.root: Any = None

    # -- what users override -----------------------------------------------------------------------------------------

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a Module is one node: those of ``torch.nn`` are, containers aside."""
        return type(m).__module__.startswith((f"{PACKAGE}.nn", f"{PACKAGE}.ao.nn", "torch.nn", "torch.ao.nn")) and not isinstance(
            m, Sequential
        )

    def path_of_module(self, mod: Module) -> str:
        """The dotted path from the root to a Module."""
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
            if path is None:
                raise NameError("module is not installed as a submodule")
            return path
        for name, each in self.root.named_modules():
            if mod is each:
                return str(name)
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a Module: one node for a leaf, else what its forward does."""
        path = self.path_of_module(m)
        count = self.num_calls.get(path, 0)
        self.num_calls[path] = count + 1
        key = path if not count else f"{path}@{count}"
        before = dict(self.module_stack)
        self.module_stack[key] = (path, type(m))
        try:
            if not self.is_leaf_module(m, path):
                return forward(*args, **kwargs)
            return self.create_proxy("call_module", path, args, kwargs)
        finally:
            self.module_stack = before

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """An attribute of a Module: parameters become nodes."""
        if isinstance(attr_val, Parameter):
            kind: Any = self.root.named_parameters(remove_duplicate=False)
        elif self.proxy_buffer_attributes and isinstance(attr_val, TensorBase):
            kind = self.root.named_buffers(remove_duplicate=False)
        else:
            return attr_val
        for name, each in kind:
            if each is attr_val:
                if name not in parameter_proxy_cache:
                    options: dict[str, Any] = {}
                    if self.param_shapes_constant and "proxy_factory_fn" in inspect.signature(self.create_proxy).parameters:
                        options["proxy_factory_fn"] = functools.partial(_parameter_proxy, self, name, attr_val)
                    parameter_proxy_cache[name] = self.create_proxy("get_attr", name, (), {}, **options)
                return parameter_proxy_cache[name]
        return attr_val

    def get_fresh_qualname(self, prefix: str) -> str:
        """An attribute name that the root does not have yet."""
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    def create_arg(self, a: Any) -> Any:
        """An argument with nodes for proxies; parameters, buffers and other tensors become attributes of the root."""
        if isinstance(a, Parameter):
            for name, each in self.root.named_parameters(remove_duplicate=False):
                if a is each:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, TensorBase):
            for name, each in self.root.named_buffers(remove_duplicate=False):
                if a is each:
                    return self.create_node("get_attr", name, (), {})
            path = self.tensor_attrs.get(id(a))
            if path is None:
                path = self.get_fresh_qualname("_tensor_constant")
                self.tensor_attrs[id(a)] = path
                setattr(self.root, path, a)
            return self.create_node("get_attr", path, (), {})
        if type(a) in _proxyable_classes:
            path = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
            setattr(self.root, path, a)
            return self.create_node("get_attr", path, (), {})
        return super().create_arg(a)

    # -- tracing -----------------------------------------------------------------------------------------------------

    def trace(self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a Module's forward, or of a function."""
        if isinstance(root, Module):
            self.root = root
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}")
            function: Any = getattr(type(root), self.traced_func_name)
            self.root_module_name = type(root).__name__
            self.submodule_paths = {module: name for name, module in reversed(list(root.named_modules(remove_duplicate=False)))}
        else:
            self.root = Module()
            function = root
            self.submodule_paths = None
        self.graph = Graph(tracer_cls=type(self))
        self.module_stack, self.num_calls = {}, {}
        self.tensor_attrs = {}
        for prefix, module in self.root.named_modules():
            for name, value in vars(module).items():
                if isinstance(value, TensorBase):
                    self.tensor_attrs[id(value)] = f"{prefix}.{name}" if prefix else name
        called, args = self.create_args_for_root(function, isinstance(root, Module), concrete_args)
        _running.append(self)
        try:
            with self._patched(function):
                result = called(*args)
                hint = getattr(function, "__annotations__", {}).get("return")
                self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=hint if not isinstance(hint, str) else None)
        finally:
            _running.pop()
            self.submodule_paths = None
        return self.graph

    def create_args_for_root(self, root_fn: Any, is_module: bool, concrete_args: Any = None) -> tuple[Any, list[Any]]:
        """The function to call, and a placeholder for each of its parameters."""
        inner = inspect.unwrap(root_fn)
        code = inner.__code__
        total = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames)
        signature = inspect.signature(inner)
        args: list[Any] = []
        skip = 0
        if is_module:
            if not total:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            skip, args = 1, [self.root]
        if isinstance(concrete_args, tuple):
            if len(names[skip:total]) != len(concrete_args):
                raise RuntimeError(f"Tracing expected {len(names[skip:total])} arguments but got {len(concrete_args)} concrete arguments")
            concrete_args = dict(zip(names[skip:total], concrete_args))
        for name in names[skip:total]:
            args.append(self._placeholder(name, signature, concrete_args, inner))
        if concrete_args is not None and any(isinstance(value, (list, tuple, dict)) for value in concrete_args.values()):
            concrete_args = None
        if code.co_flags & inspect.CO_VARARGS:
            args.append(self.create_proxy("placeholder", f"*{names[total]}", (), {}))
            total += 1
        if code.co_flags & inspect.CO_VARKEYWORDS:
            args.append(self.create_proxy("placeholder", f"**{names[total]}", (), {}))
        if code.co_kwonlyargcount or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            return _with_all_positional(inner), args
        return root_fn, args

    def _placeholder(self, name: str, signature: inspect.Signature, concrete: dict[str, Any] | None, function: Any) -> Any:
        """The proxy of a parameter, or its concrete value."""
        parameter = signature.parameters.get(name)
        default = () if parameter is None or parameter.default is inspect.Parameter.empty else (parameter.default,)
        if concrete is None or name not in concrete:
            hint = getattr(function, "__annotations__", {}).get(name)
            return self.create_proxy("placeholder", name, default, {}, type_expr=hint if not isinstance(hint, str) else None)

        numbers = count(1)

        def replaced(value: Any) -> Any:
            proxy = self.create_proxy("placeholder", f"{name}_{next(numbers)}", default, {})
            if isinstance(value, PHBase):
                return proxy
            if type(value) in base_types and not isinstance(value, TensorBase):
                message = f"{name} has been specialized to have value {value} but got another value"
                self.create_proxy("call_function", sys.modules[PACKAGE]._assert, (proxy == value, message), {})
            elif value is None:
                message = f"{name} has been specialized to have value None but got another value"
                self.create_proxy("call_function", _assert_is_none, (proxy, message), {})
            else:
                warnings.warn(f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up to the user to make "
                              "sure that your inputs match the inputs you specialized the function with.", stacklevel=4)  # fmt: skip
            return value

        return trees.transform(replaced, concrete[name])

    @contextmanager
    def _patched(self, function: Any) -> Iterator[None]:
        """Calls and attributes of Modules, and wrapped functions, go to this tracer."""
        cache: dict[str, Any] = {}
        tracer = self

        @functools.wraps(_original_module_getattr)
        def module_getattr(mod: Any, attr: str) -> Any:
            return tracer.getattr(attr, _original_module_getattr(mod, attr), cache)

        @functools.wraps(_original_module_call)
        def module_call(mod: Any, *args: Any, **kwargs: Any) -> Any:
            def forward(*args: Any, **kwargs: Any) -> Any:
                return _original_module_call(mod, *args, **kwargs)

            _autowrap(patches, getattr(getattr(mod, "forward", mod), "__globals__", {}), tracer._autowrap_function_ids)
            return tracer.call_module(mod, forward, args, kwargs)

        patches: list[tuple[Any, str, Any, bool]] = []
        saved = Module.__dict__["__getattr__"], Module.__dict__["__call__"]
        Module.__getattr__, Module.__call__ = module_getattr, module_call  # type: ignore[assignment,method-assign]
        try:
            for (_, name), frame in _wrapped_fns_to_patch.items():
                original = frame.get(name, getattr(builtins, name, None))
                if original is not None:
                    patches.append((frame, name, frame.get(name), name in frame))
                    frame[name] = _create_wrapped_func(original)
            for kind, name in _wrapped_methods_to_patch:
                _patch_method(patches, kind, name)
            _autowrap(patches, getattr(function, "__globals__", {}), self._autowrap_function_ids)
            for module in self._autowrap_search:
                _autowrap(patches, vars(module), self._autowrap_function_ids)
            yield
        finally:
            Module.__getattr__, Module.__call__ = saved  # type: ignore[method-assign]
            for place, name, value, there in reversed(patches):
                if isinstance(place, type):
                    setattr(place, name, value)
                elif there:
                    place[name] = value
                else:
                    place.pop(name, None)


def _with_all_positional(function: Any) -> Any:
    """A function of the same code to which every parameter is passed by position, ``*args`` and keywords as single values."""
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    # A parameter after *args stands before it in the code's names: the order of the placeholders is that of the names.
    flat = code.replace(co_argcount=count, co_kwonlyargcount=0, co_posonlyargcount=0, co_flags=flags)
    return types.FunctionType(flat, function.__globals__, function.__name__, None, function.__closure__)


def _autowrap(patches: list[Any], frame: dict[str, Any], ids: set[int]) -> None:
    """Wrap the functions of a namespace that are to be recorded."""
    if frame.get("__fx_already_patched__"):
        return
    for name, value in list(frame.items()):
        if not name.startswith("_") and callable(value) and id(value) in ids:
            patches.append((frame, name, value, True))
            frame[name] = _create_wrapped_func(value)


def _patch_method(patches: list[Any], kind: type, name: str) -> None:
    original = getattr(kind, name)
    patches.append((kind, name, original, True))

    @functools.wraps(original)
    def method(*args: Any, **kwargs: Any) -> Any:
        found = find_proxy((args, kwargs))
        return original(*args, **kwargs) if found is None else found.tracer.create_proxy("call_method", name, args, kwargs)

    setattr(kind, name, method)


def _create_wrapped_func(orig_fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is recorded as a call of the original where it is given a proxy."""

    @functools.wraps(orig_fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        found = find_proxy((args, kwargs))
        if found is None:
            return orig_fn(*args, **kwargs)
        made = found.tracer.create_proxy("call_function", orig_fn, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    return wrapped


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Record calls of a function of this module as one node: ``wrap("len")``, or a decorator."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    if callable(fn_or_name):
        if isinstance(fn_or_name, str):
            raise AssertionError("a name is no function")
        name = fn_or_name.__name__
    else:
        name = fn_or_name
    frame: Any = inspect.currentframe()
    frame = frame.f_back
    if frame is None:
        raise RuntimeError("wrap must be called within a Python function")
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[(id(frame.f_globals), name)] = frame.f_globals
    return fn_or_name


def symbolic_trace(root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """Trace a Module or function: a GraphModule whose graph says what it does.  ``concrete_args`` fixes some arguments."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else getattr(root, "__name__", "GraphModule")
    return GraphModule(tracer.root, graph, name)


__all__ = ["PH", "PHBase", "ProxyableClassMeta", "Tracer", "symbolic_trace", "wrap"]
