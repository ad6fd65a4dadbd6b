"""Optimizer runs whose every step is recorded from PyTorch and compared: the same code runs on both libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

STEPS = 8
SHAPES = ((3, 4), (5,))

# (optimizer, options, type of the parameters).  An option "tensor:x" is a 0-dim float32 tensor.
CASES: list[tuple[str, dict[str, Any], str]] = []


def add(name: str, *several: dict[str, Any], kinds: tuple[str, ...] = ("float64",)) -> None:
    CASES.extend((name, options, kind) for options in several for kind in kinds)


add("SGD", dict(lr=0.1), dict(lr=0.1, momentum=0.9), kinds=("float64", "float32", "complex128", "bfloat16"))
add(
    "SGD", dict(lr=0.1, momentum=0.9, dampening=0.3), dict(lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1),
    dict(lr=0.1, weight_decay=0.2), dict(lr=0.01, maximize=True, momentum=0.5), dict(lr="tensor:0.1"),
    dict(lr=0.1, foreach=True), dict(lr=0.1, momentum=0.9, fused=True), dict(lr=0.1, weight_decay=0.1, maximize=True),
)  # fmt: skip
for adam in ("Adam", "AdamW"):
    add(
        adam,
        dict(lr=0.05),
        dict(lr=0.05, amsgrad=True, weight_decay=0.1),
        kinds=("float64", "float32", "complex64", "float16"),
    )
    add(
        adam, dict(lr=0.05, betas=(0.7, 0.9), eps=1e-3), dict(lr=0.05, weight_decay=0.3, maximize=True), dict(lr="tensor:0.05"),
        dict(lr=0.05, foreach=True), dict(lr=0.05, fused=True), dict(lr=0.05, amsgrad=True, maximize=True),
        dict(lr=0.05, betas=("tensor:0.8", "tensor:0.95")),
    )  # fmt: skip
add("Adam", dict(lr=0.05, weight_decay=0.1, decoupled_weight_decay=True))
add("NAdam", dict(lr=0.05), dict(lr=0.05, weight_decay=0.1), kinds=("float64", "float32", "complex128"))
add(
    "NAdam", dict(lr=0.05, weight_decay=0.1, decoupled_weight_decay=True), dict(lr=0.05, momentum_decay=0.1, maximize=True),
    dict(lr="tensor:0.05", betas=(0.8, 0.9), eps=1e-4), dict(lr=0.05, foreach=True),
)  # fmt: skip
add("RAdam", dict(lr=0.05), dict(lr=0.05, weight_decay=0.1), kinds=("float64", "float32", "complex128"))
add(
    "RAdam", dict(lr=0.05, weight_decay=0.1, decoupled_weight_decay=True), dict(lr=0.05, betas=(0.8, 0.6)),
    dict(lr=0.05, betas=(0.5, 0.9), maximize=True, eps=1e-3), dict(lr="tensor:0.05"), dict(lr=0.05, foreach=True),
)  # fmt: skip
add("Adamax", dict(lr=0.05), dict(lr=0.05, weight_decay=0.1), kinds=("float64", "float32", "complex128"))
add("Adamax", dict(lr=0.05, betas=(0.5, 0.6), eps=1e-2), dict(lr=0.05, maximize=True), dict(lr="tensor:0.05"))
add("Adagrad", dict(lr=0.05), dict(lr=0.05, weight_decay=0.1, lr_decay=0.2), kinds=("float64", "float32", "complex128"))
add(
    "Adagrad", dict(lr=0.05, initial_accumulator_value=0.5, eps=1e-2), dict(lr=0.05, maximize=True), dict(lr="tensor:0.05"),
    dict(lr=0.05, fused=True), dict(lr=0.05, foreach=True),
)  # fmt: skip
add("Adadelta", dict(), dict(lr=0.5, rho=0.6, weight_decay=0.1), kinds=("float64", "float32", "complex128"))
add("Adadelta", dict(eps=1e-2, maximize=True), dict(lr="tensor:0.5"), dict(foreach=True))
add(
    "RMSprop",
    dict(lr=0.05),
    dict(lr=0.05, momentum=0.9, centered=True, weight_decay=0.1),
    kinds=("float64", "float32", "complex128"),
)
add(
    "RMSprop", dict(lr=0.05, momentum=0.9), dict(lr=0.05, centered=True, alpha=0.8), dict(lr=0.05, maximize=True, eps=1e-2),
    dict(lr="tensor:0.05"), dict(lr=0.05, foreach=True),
)  # fmt: skip
add("Rprop", dict(lr=0.05), dict(lr=0.05, etas=(0.3, 1.5)), kinds=("float64", "float32", "complex128"))
add(
    "Rprop",
    dict(lr=0.05, step_sizes=(0.01, 0.06)),
    dict(lr=0.05, maximize=True),
    dict(lr="tensor:0.05"),
    dict(foreach=True),
)
add("ASGD", dict(lr=0.05), dict(lr=0.05, t0=2, weight_decay=0.1), kinds=("float64", "float32", "complex128"))
add(
    "ASGD",
    dict(lr=0.05, lambd=0.1, alpha=0.5),
    dict(lr=0.05, maximize=True),
    dict(lr="tensor:0.05", t0=3),
    dict(foreach=True),
)
add("Adafactor", dict(), dict(lr=0.1, weight_decay=0.1), kinds=("float64", "float32"))
add(
    "Adafactor", dict(lr=0.1, eps=(1e-2, 1e-1)), dict(lr=0.1, d=2.0, beta2_decay=-0.3), dict(lr=0.5, maximize=True),
    dict(lr="tensor:0.1"), dict(foreach=True),
)  # fmt: skip
add(
    "Muon", dict(lr=0.1), dict(lr=0.1, nesterov=False, weight_decay=0.3), dict(lr=0.1, adjust_lr_fn="match_rms_adamw", momentum=0.5),
    dict(lr=0.1, ns_steps=2, ns_coefficients=(2.0, -1.5, 0.5)), kinds=("float32",),
)  # fmt: skip
add(
    "LBFGS", dict(), dict(lr=0.5, history_size=2), dict(line_search_fn="strong_wolfe"), dict(max_iter=3), dict(max_eval=4, lr=0.1),
    dict(line_search_fn="strong_wolfe", history_size=3, max_iter=4), dict(line_search_fn="strong_wolfe", lr=5.0),
    dict(line_search_fn="strong_wolfe", lr=1e-3, max_iter=2), dict(line_search_fn="strong_wolfe", max_eval=3),
)  # fmt: skip


def shown(case: tuple[str, dict[str, Any], str]) -> str:
    name, options, kind = case
    return f"{name}({', '.join(f'{key}={value}' for key, value in options.items())}) {kind}"


def start(shape: tuple[int, ...], kind: str) -> np.ndarray:
    """Values to start from, of float64 or complex128."""
    values = np.cos(1.0 + 0.7 * np.arange(np.prod(shape))).reshape(shape)
    return values + 0.5j * np.sin(values * 3) if kind.startswith("complex") else values


def trained_parameters(case: tuple[str, dict[str, Any], str], torch: Any) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    """The parameters after each step, flattened, and the state at the end."""
    name, options, kind = case
    dtype = getattr(torch, kind)

    def option(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(option, value))
        return torch.tensor(float(value[7:])) if isinstance(value, str) and value.startswith("tensor:") else value

    shapes = ((3, 4), (5, 2)) if name == "Muon" else SHAPES
    params = [torch.tensor(start(shape, kind)).to(dtype).requires_grad_() for shape in shapes]
    optimizer = getattr(torch.optim, name)(params, **{key: option(value) for key, value in options.items()})
    pulls = [torch.tensor(0.3 + np.arange(param.numel()).reshape(param.shape) % 4).to(dtype) for param in params]

    def closure() -> Any:
        optimizer.zero_grad()
        if name == "LBFGS":  # a valley that bends
            x, y = params[0].reshape(-1), params[1]
            loss = (1 - x).square().sum() + 5 * (x[1:] - x[:-1].square()).square().sum() + (y - x[:5]).square().sum()
        else:
            loss = sum((pull * param * param.conj()).real.sum() for pull, param in zip(pulls, params))
        loss.backward()
        return loss

    rows = []
    for step in range(STEPS):
        if name == "LBFGS":
            optimizer.step(closure)
        else:
            closure()
            for index, param in enumerate(params):  # a gradient that turns now and then
                wave = np.sin(step * 1.3 + index + np.arange(param.numel())).reshape(param.shape)
                param.grad = (param.grad + torch.tensor(wave).to(dtype)).detach()
            if step == 3:
                params[1].grad = None
            optimizer.step()
        rows.append(np.concatenate([plain(param).reshape(-1) for param in params]))
    state = {
        f"{index}/{key}": plain(value)
        for index, entries in optimizer.state_dict()["state"].items()
        for key, value in entries.items()
        if hasattr(value, "detach") and key not in ("t", "H_diag")
    }
    return rows, state


def plain(tensor: Any) -> np.ndarray:
    """The elements as float64 or complex128."""
    tensor = tensor.detach()
    if tensor.is_complex():
        return np.asarray(tensor.numpy(), np.complex128)
    return np.asarray(tensor.double().numpy())
