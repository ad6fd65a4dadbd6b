"""``replicate``: data-parallel training of a module that stays what it is, without a wrapper around it."""

from __future__ import annotations

from typing import Any

from ...nn.parallel.distributed import DistributedDataParallel

__all__ = ["replicate"]


def replicate(module: Any, ignored_modules: Any = None, **kwargs: Any) -> Any:
    """Average a module's gradients over the processes of a group; the module itself, with the same names of parameters.

    Further arguments are those of ``DistributedDataParallel``.
    """
    if kwargs.pop("device_id", None) is not None:
        kwargs["device_ids"] = [kwargs.pop("device_id")]
    ignored = {id(each) for one in ignored_modules or () for each in (*one.parameters(), *one.buffers())}
    names = [name for name, each in (*module.named_parameters(), *module.named_buffers()) if id(each) in ignored]
    DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(module, names)
    inner = DistributedDataParallel(module, **kwargs)
    module.register_forward_pre_hook(lambda owner, args, kwargs: inner._pre_forward(args, kwargs), with_kwargs=True)
    module.register_forward_hook(lambda owner, args, output: inner._post_forward(output))

    def set_requires_gradient_sync(requires_gradient_sync: bool) -> None:
        inner.require_backward_grad_sync = requires_gradient_sync

    object.__setattr__(module, "set_requires_gradient_sync", set_requires_gradient_sync)
    object.__setattr__(module, "register_comm_hook", inner.register_comm_hook)
    return module
