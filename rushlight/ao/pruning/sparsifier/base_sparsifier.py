"""What sparsifiers have in common: groups of settings, one for each masked tensor, and the masks' life."""

from __future__ import annotations

import abc
import copy
from collections import defaultdict
from typing import Any

from ....autograd import no_grad
from ....nn import Linear, Module
from ....nn.utils import parametrize
from ....ops.create.factories import ones, ones_like
from .utils import FakeSparsity, get_arg_info_from_tensor_fqn, module_contains_param, module_to_fqn, swap_module

__all__ = ["BaseSparsifier"]

SUPPORTED_MODULES: set[type[Module]] = {Linear}
KEYS_NOT_IN_STATE_DICT = ("module", "module_fqn", "tensor_name")


class BaseSparsifier(abc.ABC):
    """Masks over parameters of a model; a subclass says in ``update_mask`` how a mask follows from its tensor."""

    def __init__(self, defaults: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.defaults: dict[str, Any] = defaults or {}
        self.state: dict[str, dict[str, Any]] = defaultdict(dict)
        self.groups: list[dict[str, Any]] = []
        self.enable_mask_update = True

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "groups": self.groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.groups):
            lines += [f"\tGroup {number}", f"\t    module: {group['module']}"]
            lines += [f"\t    {key}: {group[key]}" for key in sorted(group) if key != "module"]
        return "\n".join([*lines, ")"]) if self.groups else f"{lines[0]})"

    def state_dict(self) -> dict[str, Any]:
        """The masks, and the settings by the paths of their tensors."""
        groups = [{key: value for key, value in group.items() if key not in KEYS_NOT_IN_STATE_DICT} for group in self.groups]
        return {"state": self.state, "groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> None:
        """Take masks and settings; the tensors must be in the prepared model."""
        groups, states = copy.deepcopy(state_dict["groups"]), state_dict["state"]
        for path, state in states.items():
            found = get_arg_info_from_tensor_fqn(self.model, path)
            module, name = found["module"], found["tensor_name"]
            if strict and module is None:
                raise RuntimeError(f"Error loading {path} into the model")
            sparsity = next((each for each in module.parametrizations[name] if isinstance(each, FakeSparsity)), None)
            if sparsity is None:
                sparsity = FakeSparsity(ones(getattr(module, name).shape))
                parametrize.register_parametrization(module, name, sparsity)
            if state.get("mask") is not None:
                sparsity.mask = state.pop("mask")
            for group in groups:
                if group["tensor_fqn"] == path:
                    group.update(found)
        self.__setstate__({"state": states, "groups": groups})

    def make_config_from_model(self, model: Module, SUPPORTED_MODULES: set[type[Module]] = SUPPORTED_MODULES) -> None:
        """Choose the weights of all layers of the supported kinds."""
        self.config: Any = []
        stack = [model]
        while stack:
            for _, child in stack.pop().named_children():
                if type(child) in SUPPORTED_MODULES:
                    self.config.append({"tensor_fqn": f"{module_to_fqn(model, child)}.weight"})
                else:
                    stack.append(child)

    def prepare(self, model: Module, config: list[dict[str, Any]] | None) -> None:
        """Put masks of ones over the tensors of a model that ``config`` names; without one, over the weights of its linear layers."""
        self.model, self.config = model, config
        if self.config is None:
            self.make_config_from_model(model)
        for given in self.config:
            if not isinstance(given, dict):
                raise AssertionError(
                    "config elements should be dicts not modules i.e.:[{`tensor_fqn`: `foo.bar.weight`}, {`tensor_fqn`: ... }, ...]"
                )
            if not isinstance(self.defaults, dict):
                raise AssertionError("defaults must be a dict")
            group = {**copy.deepcopy(self.defaults), **given}
            path = group.get("tensor_fqn")
            if path is None:
                raise AssertionError(
                    "tensor_fqn is a required argument in the sparsity config which replaces previous `module` and [module]`fqn` arguments"
                )
            for key, value in get_arg_info_from_tensor_fqn(model, path).items():
                if key in group and not (value == group[key] or (key == "tensor_fqn" and f".{value}" == group[key])):
                    raise AssertionError(f"Given both `{key}` and `tensor_fqn` in the config, it is expected them to agree!")
                group[key] = value
            self.groups.append(group)
        self._prepare()

    def _prepare(self, *args: Any, **kwargs: Any) -> None:
        for group in self.groups:
            module, name = group["module"], group["tensor_name"]
            mask = group["mask"] if "mask" in group else ones_like(getattr(module, name))
            self.state[group["tensor_fqn"]]["mask"] = mask
            parametrize.register_parametrization(module, name, group.get("parametrization", FakeSparsity)(mask))

    def squash_mask(
        self, params_to_keep: tuple[str, ...] | None = None, params_to_keep_per_layer: dict[str, tuple[str, ...]] | None = None, *args: Any,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        """Write the masked values into the parameters, and remove the masks; settings that are to be kept become ``module.sparse_params``."""
        for group in self.groups:
            module = group["module"]
            parametrize.remove_parametrizations(module, group["tensor_name"], leave_parametrized=True)
            kept = [*(params_to_keep or ()), *((params_to_keep_per_layer or {}).get(group["module_fqn"]) or ())]
            if kept:
                module.sparse_params = {key: group[key] for key in kept}

    def convert(
        self,
        module: Module,
        mapping: dict[type[Module], type[Module]] | None = None,
        inplace: bool = False,
        parameterization: type[Module] = FakeSparsity,
    ) -> Module:
        """Replace the masked modules of a model by those that ``from_dense`` of the classes in ``mapping`` makes."""
        if mapping is None:
            raise NotImplementedError("Need to auto generate mapping ")
        if not inplace:
            module = copy.deepcopy(module)
        for name, child in list(module.named_children()):
            masked = module_contains_param(child, parameterization) and parametrize.type_before_parametrizations(child) in mapping
            module._modules[name] = swap_module(child, mapping) if masked else self.convert(child, mapping, True, parameterization)
        return module

    def step(self, use_path: bool = True) -> None:
        """Bring all masks up to date."""
        if self.enable_mask_update:
            with no_grad():
                for group in self.groups:
                    self.update_mask(**group)

    @abc.abstractmethod
    def update_mask(self, module: Module, tensor_name: str, **kwargs: Any) -> None:
        """Set the mask of one tensor from its values."""
