"""Programs that draw random numbers through the public functions: the numbers are recorded from PyTorch and compared.

A program is a list of expressions, evaluated one after another with one seed,
so that what one draw leaves behind in the
generator is seen by the next.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = (1, 15, 16, 17, 1000)
FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")


def programs() -> list[list[str]]:
    found: list[list[str]] = []
    for dtype in FLOATS:
        kind = f"dtype=torch.{dtype}"
        for size in SIZES:
            empty = f"torch.empty({size}, {kind})"
            found.append([f"torch.rand({size}, {kind})", f"torch.randn({size}, {kind})", "torch.rand(2)"])
            found.append([f"{empty}.uniform_(-2, 3)", f"{empty}.normal_(1, 2)", f"{empty}.exponential_(1.5)", "torch.randn(3)"])
            found.append([f"{empty}.bernoulli_(0.3)", f"{empty}.random_()", f"{empty}.random_(7)", f"{empty}.random_(-3, 100)"])
            found.append([f"{empty}.cauchy_(0.3, 2.5)", f"{empty}.log_normal_(0.3, 0.7)", f"{empty}.geometric_(0.2)"])
            found.append(
                [
                    f"F.dropout(torch.ones({size}, {kind}), 0.3)",
                    f"F.alpha_dropout(torch.ones({size}, {kind}), 0.3, True)",
                ]
            )
        found.append(
            [
                f"torch.normal(torch.arange(6.0, {kind}).reshape(2, 3), torch.ones(3, {kind}))",
                f"torch.normal(torch.arange(20.0, {kind}), 0.5)",
                f"torch.normal(2.0, torch.arange(20.0, {kind}))",
                f"torch.normal(2.0, 0.5, (4, 5), {kind})",
                f"torch.bernoulli(torch.full((3, 7), 0.4, {kind}))",
                f"torch.bernoulli(torch.ones(9, {kind}), 0.6)",
                f"torch.multinomial(torch.arange(1.0, 9, {kind}), 3)",
                f"torch.multinomial(torch.arange(1.0, 9, {kind}), 12, True)",
                f"torch.poisson(torch.full((3, 4), 5.0, {kind}))",
                f"torch.randperm(10, {kind})",
                f"torch.randint(3, 90, (5,), {kind})",
            ]
        )
    for dtype in INTEGERS:
        kind = f"dtype=torch.{dtype}"
        empty = f"torch.empty(20, {kind})"
        found.append(
            [
                f"torch.randint(0, 100, (20,), {kind})",
                f"{empty}.random_()",
                f"{empty}.random_(90)",
                f"{empty}.geometric_(0.1)",
            ]
        )
        found.append(
            [
                f"{empty}.bernoulli_(0.3)",
                f"torch.randperm(20, {kind})",
                f"torch.randint_like({empty}, 50)",
                f"{empty}.random_(5, None)",
            ]
        )
    found.append(
        [
            "torch.empty(20, dtype=torch.bool).random_()",
            "torch.empty(20, dtype=torch.bool).bernoulli_()",
            "torch.randint(0, 2, (9,), dtype=torch.bool)",
        ]
    )
    found.append(
        [
            "torch.randint(2**40, (20,))",
            "torch.randint(-5, 2**33, (3,))",
            "torch.randint(10, (2, 3))",
            "torch.randperm(1000)",
        ]
    )
    found.append(
        [
            "torch.rand(3, 4, dtype=torch.complex64)",
            "torch.randn(3, dtype=torch.complex64)",
            "torch.randn(20, dtype=torch.complex128)",
            "torch.empty(9, dtype=torch.complex64).normal_(1, 2)",
        ]
    )
    # In-place draws go through memory in the order of the strides; normal_ takes another path there.
    for layout in (
        "torch.zeros(5, 6).t()",
        "torch.zeros(5, 8)[:, ::2]",
        "torch.zeros(2, 3, 4).permute(2, 0, 1)",
        "torch.zeros(40)[3:]",
        "torch.zeros(6, 1, 5).transpose(0, 2)",
    ):
        found.append(
            [
                f"{layout}.uniform_()",
                f"{layout}.normal_()",
                f"{layout}.bernoulli_(0.5)",
                f"{layout}.random_(9)",
                f"{layout}.exponential_()",
            ]
        )
        found.append(
            [
                f"torch.rand_like({layout})",
                f"torch.randn_like({layout})",
                f"torch.randint_like({layout}, 3, 8)",
                f"F.dropout({layout} + 1, 0.4)",
            ]
        )
        found.append(
            [
                f"torch.bernoulli({layout} + 0.5)",
                f"torch.poisson({layout} + 3)",
                f"torch.normal({layout}, 2.0)",
                f"{layout}.bernoulli_({layout} + 0.3)",
            ]
        )
    found.append(
        [
            "torch.zeros(5, 6).t().bernoulli_(torch.full((6, 5), 0.5))",
            "torch.zeros(3, 4).bernoulli_(torch.tensor([0.1, 0.9, 0.5, 0.0]))",
        ]
    )
    found.append(
        [
            "torch.randn_like(torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last))",
            "torch.rand_like(torch.zeros(4, 5).t(), memory_format=torch.contiguous_format)",
        ]
    )
    found.append(
        [
            "torch.binomial(torch.full((4, 5), 20.0), torch.tensor([0.1, 0.4, 0.5, 0.8, 0.99]))",
            "torch.binomial(torch.full((3,), 9.0, dtype=torch.float64), torch.tensor(0.3, dtype=torch.float64))",
        ]
    )
    found.append(["torch._standard_gamma(torch.arange(0.5, 8))", "torch._sample_dirichlet(torch.ones(3, 4))", "torch.randn(2)"])
    for p in (0.0, 0.2, 0.5, 1.0):
        found.append(
            [
                f"F.dropout(torch.ones(4, 7), {p})",
                f"F.dropout1d(torch.ones(3, 5, 2), {p})",
                f"F.dropout1d(torch.ones(5, 2), {p})",
                f"F.dropout2d(torch.ones(2, 4, 2, 2), {p})",
                f"F.dropout3d(torch.ones(2, 3, 2, 1, 2), {p})",
                f"F.dropout3d(torch.ones(3, 2, 1, 2), {p})",
                f"F.alpha_dropout(torch.ones(4, 7), {p}, True)",
                f"F.feature_alpha_dropout(torch.ones(2, 4, 3), {p}, True)",
                "torch.rand(2)",
            ]
        )
        found.append(
            [
                f"torch.dropout(torch.ones(9), {p}, True)",
                f"torch.feature_dropout(torch.ones(2, 5), {p}, True)",
                f"torch.alpha_dropout(torch.ones(9), {p}, True)",
            ]
        )
    found.append(
        [
            "F.dropout(torch.ones(9), 0.5, False)",
            "F.dropout(torch.ones(9), 0.5, True, True)",
            "F.dropout2d(torch.ones(2, 3, 2, 2), 0.5, True, True)",
            "F.dropout1d(torch.ones(5, 2), 0.5, True, True)",
        ]
    )
    found.append(
        [
            "torch.rand(3, generator=g)",
            "torch.rand(3)",
            "torch.randn(17, generator=g)",
            "torch.randint(9, (4,), generator=g)",
            "torch.randperm(6, generator=g)",
            "torch.empty(5).normal_(generator=g)",
            "torch.bernoulli(torch.full((5,), 0.5), generator=g)",
            "torch.multinomial(torch.ones(5), 2, generator=g)",
            "torch.normal(torch.zeros(3), 1.0, generator=g)",
            "torch.poisson(torch.ones(3), generator=g)",
            "torch.rand_like(torch.ones(2), generator=g)",
            "torch.rand(2)",
        ]
    )
    found.append(
        [
            "torch.randn(1)",
            "torch.randn(1)",
            "torch.rand(1)",
            "torch.randn(20)",
            "torch.randn(1, dtype=torch.float64)",
            "torch.randn(0)",
            "torch.empty(3).log_normal_()",
            "torch.randn(2)",
        ]
    )
    found.append(
        [
            "torch.get_rng_state()",
            "torch.rand(3)",
            "torch.randn(3)",
            "torch.get_rng_state()",
            "torch.tensor(torch.initial_seed())",
        ]
    )
    found.append(
        [
            "torch.rand(2, out=torch.zeros(2, dtype=torch.float64))",
            "torch.randn(3, out=torch.zeros(3))",
            "torch.randint(0, 9, (4,), out=torch.zeros(4))",
            "torch.randperm(5, out=torch.zeros(2, dtype=torch.int32))",
        ]
    )
    return found


def drawn_tensors(program: list[str], torch: Any, functional: Any) -> list[Any]:
    """The tensors that a program draws."""
    torch.manual_seed(1234)
    names = {"torch": torch, "F": functional, "g": torch.Generator().manual_seed(77)}
    return [eval(expression, names) for expression in program]


def exact(expression: str) -> bool:
    """Whether numbers have to be equal to the last bit: those that no logarithm or sine went into."""
    close = ("randn", "normal", "exponential", "cauchy", "gamma", "dirichlet", "alpha_dropout")
    return not any(name in expression for name in close)


def kept(array: np.ndarray) -> np.ndarray:
    """Of a long result some elements, from its whole length."""
    flat = array.reshape(-1)
    return flat if flat.size <= 64 else np.concatenate([flat[::61], flat[-16:]])
