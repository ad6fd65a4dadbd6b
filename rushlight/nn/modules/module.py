"""Module: the base of all models and layers."""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ...autograd import no_grad
from ...core.base import TensorBase
from ...core.node import HookTable, RemovableHandle
from ...core.state import state
from ...ops.create.factories import empty_like
from ...tensor.conversion import _read_to
from ..parameter import Buffer, Parameter, is_lazy
from .module_conversion import convert_lazy, convert_parameter
from .module_hooks import (
    _global_backward_hooks,
    _global_backward_pre_hooks,
    _global_buffer_registration_hooks,
    _global_forward_hooks,
    _global_forward_pre_hooks,
    _global_module_registration_hooks,
    _global_parameter_registration_hooks,
    add,
    call_with_hooks,
    check_kind,
    let_tables_be_assigned,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
    registered,
)
from .module_state import _EXTRA_STATE_KEY_SUFFIX, StateMixin, _IncompatibleKeys  # noqa: F401  (real code imports them)


class Module(StateMixin):
    """Base class of all models: subclass it, assign layers and parameters in ``__init__``, and write ``forward``.

    >>> import rushlight as torch
    >>> class Double(torch.nn.Module):
    ...     def forward(self, x):
    ...         return 2 * x
    >>> Double()(torch.ones(2))
    tensor([2., 2.])
    """

    dump_patches = False
    training: bool
    _version = 1
    call_super_init = False
    _is_full_backward_hook: bool | None = None
    T_destination = Any
    _HOOKS = (
        "_backward_hooks", "_backward_pre_hooks", "_forward_hooks", "_forward_pre_hooks", "_state_dict_hooks",
        "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
    )  # fmt: skip
    _MARKS = ("_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_forward_pre_hooks_with_kwargs")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and kwargs:
            raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
        if not self.call_super_init and args:
            raise TypeError(f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        fields = self.__dict__
        fields["training"] = True
        fields["_parameters"] = {}
        fields["_buffers"] = {}
        fields["_non_persistent_buffers_set"] = set()
        fields["_modules"] = {}
        for name in Module._HOOKS:
            fields[name] = HookTable()
        for name in Module._MARKS:
            fields[name] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the module's output; every subclass defines it."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    # -- registering ---------------------------------------------------------------------------------------------

    def _check_name(self, kind: str, name: Any) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Add a tensor that is part of the module's state but no parameter."""
        self._check_name("buffer", name)
        if hasattr(self, name) and name not in self._buffers:
            raise KeyError(f"attribute '{name}' already exists")
        if tensor is not None and not isinstance(tensor, TensorBase):
            raise TypeError(f"cannot assign '{_type_name(tensor)}' object to buffer '{name}' (torch Tensor or None required)")
        self._buffers[name] = registered(_global_buffer_registration_hooks, self, name, tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def register_parameter(self, name: str, param: Any) -> None:
        """Add a parameter."""
        self._check_name("parameter", name)
        if hasattr(self, name) and name not in self._parameters:
            raise KeyError(f"attribute '{name}' already exists")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{_type_name(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)")
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To express "
                f"'{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        self._parameters[name] = registered(_global_parameter_registration_hooks, self, name, param)

    def add_module(self, name: str, module: Any) -> None:
        """Add a submodule."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{_type_name(module)} is not a Module subclass")
        self._check_name("module", name)
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        self._modules[name] = registered(_global_module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Any) -> None:
        """Another name of ``add_module``."""
        self.add_module(name, module)

    def __setattr__(self, name: str, value: Any) -> None:
        fields = self.__dict__
        parameters, modules, buffers = fields.get("_parameters"), fields.get("_modules"), fields.get("_buffers")
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            _forget(name, fields, buffers, modules, fields["_non_persistent_buffers_set"])
            self.register_parameter(name, value)
        elif parameters is not None and name in parameters:
            if state.scripted and isinstance(value, TensorBase):  # scripts may put any tensor there
                parameters[name] = value
                return
            if value is not None:
                raise TypeError(f"cannot assign '{_type_name(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            _forget(name, fields, parameters, buffers, fields["_non_persistent_buffers_set"])
            modules[name] = registered(_global_module_registration_hooks, self, name, value)
        elif modules is not None and name in modules:
            if value is not None:
                raise TypeError(f"cannot assign '{_type_name(value)}' as child module '{name}' (torch.nn.Module or None expected)")
            modules[name] = registered(_global_module_registration_hooks, self, name, value)
        elif isinstance(value, Buffer):
            if buffers is None:
                raise AttributeError("cannot assign buffer before Module.__init__() call")
            _forget(name, fields, parameters, modules, fields["_non_persistent_buffers_set"])
            _register(self, name, value)
        elif buffers is not None and name in buffers:
            if value is not None and not isinstance(value, TensorBase):
                raise TypeError(f"cannot assign '{_type_name(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)")
            buffers[name] = registered(_global_buffer_registration_hooks, self, name, value)
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__
        if "_parameters" in fields:
            found = fields["_parameters"]
            if name in found:
                return found[name]
            found = fields["_modules"]
            if name in found:
                return found[name]
            found = fields["_buffers"]
            if name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if not name[0].isdigit())

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in Module._HOOKS:  # in files they are plain dictionaries
            self.__dict__[name] = HookTable(self.__dict__.get(name) or {})
        for name in Module._MARKS:
            self.__dict__.setdefault(name, {})
        self.__dict__.setdefault("_non_persistent_buffers_set", set())

    # -- calling -------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward`` amid the hooks."""
        fields = self.__dict__  # looked up once: classes with `__getattr__` are slow to look things up
        try:
            hooked = (
                fields["_forward_hooks"] or fields["_forward_pre_hooks"] or fields["_backward_hooks"]
                or fields["_backward_pre_hooks"] or _global_forward_hooks or _global_forward_pre_hooks
                or _global_backward_hooks or _global_backward_pre_hooks or "_compiled_call_impl" in fields
            )  # fmt: skip
        except KeyError:
            raise AttributeError(f"'{type(self).__name__}' was called before Module.__init__() call") from None
        if hooked:
            compiled = fields.get("_compiled_call_impl")
            return call_with_hooks(self, args, kwargs) if compiled is None else compiled(self, *args, **kwargs)
        return self.forward(*args, **kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Let calls of this Module run compiled from now on; arguments as for :func:`rushlight.compile`."""
        sys.modules[__name__.partition(".")[0]].compiler.compile_module(self, *args, **kwargs)

    _call_impl = __call__

    def register_forward_pre_hook(self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False) -> RemovableHandle:
        """Call ``hook(module, args)`` before forward; what it returns replaces the arguments."""
        marks = (self._forward_pre_hooks_with_kwargs,) if with_kwargs else ()
        return add(self._forward_pre_hooks, hook, prepend, *marks)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after forward; what it returns replaces the output."""
        marks = [self._forward_hooks_with_kwargs] if with_kwargs else []
        marks += [self._forward_hooks_always_called] if always_call else []
        return add(self._forward_hooks, hook, prepend, *marks)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` before the module's backward; what it returns replaces ``grad_output``."""
        return add(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` after the module's backward; what it returns replaces ``grad_input``."""
        check_kind(True, self._is_full_backward_hook, "on a single Module")
        self._is_full_backward_hook = True
        return add(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` after the backward of the forward's last operation alone."""
        check_kind(False, self._is_full_backward_hook, "on a single Module")
        self._is_full_backward_hook = False
        return add(self._backward_hooks, hook)

    # -- what it holds -------------------------------------------------------------------------------------------

    def _named_members(
        self, members: Callable[[Any], Any], prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for module_prefix, module in modules:
            for name, value in members(module):
                if value is None or (remove_duplicate and id(value) in seen):
                    continue
                seen.add(id(value))
                yield (module_prefix + "." if module_prefix else "") + name, value

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        """All parameters, each once."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """All parameters with their full names."""
        yield from self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Any]:
        """All buffers, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """All buffers with their full names."""
        yield from self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Any]:
        """The direct submodules."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """The direct submodules with their names."""
        seen: set[int] = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Any]:
        """This module and all below it, each once; or as often as it is reached."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """This module and all below it, with their full names."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, prefix + ("." if prefix else "") + name, remove_duplicate)

    def _walk(self, target: str) -> Any:
        module: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def get_submodule(self, target: str) -> Any:
        """The submodule of a full name such as ``"layers.0.attention"``."""
        return self._walk(target)

    def set_submodule(self, target: str, module: Any, strict: bool = False) -> None:
        """Put a module in the place of a full name."""
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        parent, _, name = target.rpartition(".")
        owner = self._walk(parent)
        if strict and not hasattr(owner, name):
            raise AttributeError(f"{type(owner).__name__} has no attribute `{name}`")
        if hasattr(owner, name) and not isinstance(getattr(owner, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(owner, name, module)

    def get_parameter(self, target: str) -> Any:
        """The parameter of a full name."""
        path, _, name = target.rpartition(".")
        owner = self._walk(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{type(owner).__name__} has no attribute `{name}`")
        if not isinstance(getattr(owner, name), Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return getattr(owner, name)

    def get_buffer(self, target: str) -> Any:
        """The buffer of a full name."""
        path, _, name = target.rpartition(".")
        owner = self._walk(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{type(owner).__name__} has no attribute `{name}`")
        if name not in owner._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return owner._buffers[name]

    # -- changing all of it --------------------------------------------------------------------------------------

    def apply(self, fn: Callable[[Any], None]) -> Any:
        """Call a function on every submodule, and then on this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Any:
        """Replace the data of every parameter, gradient and buffer."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        with no_grad():
            for name, parameter in self._parameters.items():
                if parameter is not None:
                    convert_parameter(self, name, fn)
            for name, buffer in self._buffers.items():
                if buffer is None:
                    continue
                if is_lazy(buffer):
                    convert_lazy(buffer, fn)
                else:
                    self._buffers[name] = fn(buffer)
        return self

    def train(self, mode: bool = True) -> Any:
        """Set training mode, in which layers such as dropout are active."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Any:
        """Set evaluation mode."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Switch recording on or off for all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop (or zero) the gradients of all parameters."""
        for parameter in self.parameters():
            gradient = parameter._grad
            if set_to_none or gradient is None:
                parameter._grad = None
                continue
            if gradient.grad_fn is not None:
                gradient.detach_()
            else:
                gradient.requires_grad_(False)
            gradient.zero_()

    def to(self, *args: Any, memory_format: Any = None, **kwargs: Any) -> Any:
        """Move to a device or a floating-point type: ``to(dtype)``, ``to(device, dtype)``, ``to(tensor)``.

        Integer parameters and buffers keep their type; a memory format is that of parameters with four or five dimensions.
        """
        if kwargs.get("copy"):
            raise RuntimeError("nn.Module.to does not accept copy argument")
        device, dtype, _ = _read_to(args, kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")

        def convert(tensor: Any) -> Any:
            wanted = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            if memory_format is not None and tensor.dim() in (4, 5):
                return tensor.to(device, wanted, memory_format=memory_format)
            return tensor.to(device, wanted)

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Any:
        """Move to a device without copying the values."""
        return self._apply(lambda tensor: empty_like(tensor, device=device), recurse)

    def cpu(self) -> Any:
        """Move to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: Any = None) -> Any:
        """Move to a GPU."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def xpu(self, device: Any = None) -> Any:
        """Move to a GPU of Intel's, of which there is none here."""
        return self._apply(lambda tensor: tensor.xpu(device))

    def ipu(self, device: Any = None) -> Any:
        """Move to a processor of Graphcore's, of which there is none here."""
        return self._apply(lambda tensor: tensor.ipu(device))

    def mtia(self, device: Any = None) -> Any:
        """Move to an accelerator of Meta's, of which there is none here."""
        return self._apply(lambda tensor: tensor.mtia(device))

    def type(self, dst_type: Any) -> Any:
        """Cast all parameters and buffers."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def _cast_floating(self, name: str) -> Any:
        return self._apply(lambda tensor: getattr(tensor, name)() if tensor.is_floating_point() else tensor)

    def float(self) -> Any:
        """Cast floating-point parameters and buffers to float32."""
        return self._cast_floating("float")

    def double(self) -> Any:
        """Cast floating-point parameters and buffers to float64."""
        return self._cast_floating("double")

    def half(self) -> Any:
        """Cast floating-point parameters and buffers to float16."""
        return self._cast_floating("half")

    def bfloat16(self) -> Any:
        """Cast floating-point parameters and buffers to bfloat16."""
        return self._cast_floating("bfloat16")

    def share_memory(self) -> Any:
        """Move all memory to where other processes can see it."""
        for tensor in itertools.chain(self.parameters(), self.buffers()):
            if is_lazy(tensor):
                tensor.share_memory_()  # says that it can't
        return self._apply(lambda tensor: tensor.share_memory_())

    def _replicate_for_data_parallel(self) -> Any:
        """A shallow copy without parameters, as `DataParallel` makes for each device: buffers and children are shared."""
        replica = self.__new__(type(self))
        replica.__dict__ = {**self.__dict__, "_parameters": {}, "_buffers": self._buffers.copy(), "_modules": self._modules.copy()}
        replica._is_replica = True
        return replica

    # -- printing ------------------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """What a subclass wants to be shown about itself."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_indent(repr(module))}" for name, module in self._modules.items()]
        name = self._get_name()
        if not children and len(lines) <= 1:
            return f"{name}({''.join(lines)})"
        return f"{name}(\n  " + "\n  ".join(lines + children) + "\n)"


def _indent(text: str) -> str:
    return text.replace("\n", "\n  ")


def _addindent(s_: str, numSpaces: int) -> str:
    """Text whose lines after the first are indented; representations of other libraries' Modules are made with it."""
    return s_.replace("\n", "\n" + numSpaces * " ")


def _type_name(value: Any) -> str:
    """The name of a value's type as messages have it: ``int``, ``torch.FloatTensor``, ``my_package.MyModule``."""
    if isinstance(value, TensorBase):
        return str(value.type())  # type: ignore[attr-defined]
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _register(module: Module, name: str, value: Buffer) -> None:
    """Register a Buffer that is assigned, also where the module's own ``register_buffer`` knows of persistent ones alone."""
    if type(module).register_buffer is Module.register_buffer or "persistent" in inspect.signature(module.register_buffer).parameters:
        module.register_buffer(name, value, value.persistent)
    elif value.persistent:
        module.register_buffer(name, value)
    else:
        raise RuntimeError(
            "Registering a non-persistent buffer on a Module subclass that implements register_buffer() without the persistent argument is not "
            "allowed."
        )


def _forget(name: str, *tables: Any) -> None:
    for table in tables:
        if name in table:
            table.discard(name) if isinstance(table, set) else table.pop(name)


__all__ = [
    "Module", "register_module_backward_hook", "register_module_buffer_registration_hook", "register_module_forward_hook",
    "register_module_forward_pre_hook", "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook", "register_module_parameter_registration_hook",
]  # fmt: skip
let_tables_be_assigned(__name__)
