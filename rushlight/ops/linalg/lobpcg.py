"""A few of the largest or smallest eigenvalues of a symmetric matrix: LOBPCG (Knyazev, 2001).

Each step looks for better vectors in the span of the present ones, their residuals and the last directions.  The basis of
that span is made orthonormal by its Gram matrix, of which directions that add nothing are dropped (Stathopoulos and Wu, 2002).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.base import Spec, make
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive, table
from ...core.dtypes import LOW_PRECISION
from ...core.errors import GradientError, OperationError, ValueRangeError
from .factorizations import linalg_eigh
from .functions_onnx import no_operator
from .matmul import adjoint, matmul

_STEPS = 1000
_TOLERANCE = {np.dtype(np.float32): 1.2e-7**0.5, np.dtype(np.float64): 2.23e-16**0.5}
_ROUNDS = 2  # of orthonormalisation: once more makes up for what rounding left


class Iteration:
    """The state of the search, which a tracker may look at; ``bvars["force_stop"] = True`` ends it."""

    def __init__(self, A: Any, B: Any, iK: Any, X: Any, params: dict[str, Any], tracker: Callable[[Any], Any] | None) -> None:
        self.a, self.b, self.preconditioner, self.tracker = A, B, iK, tracker
        self.iparams = {"m": len(A), "n": X.shape[1], "k": params["k"], "niter": params["niter"]}
        self.fparams = {"tol": params["tol"]}
        self.bparams = {"largest": params["largest"]}
        self.ivars = {"istep": 0, "iterations_left": params["niter"], "converged_count": 0}
        self.fvars: dict[str, float] = {}
        self.bvars = {"force_stop": False}
        self.tvars: dict[str, Any] = {}
        self.vectors, self.values = X, np.zeros(X.shape[1], X.dtype)
        self.residual, self.basis = np.zeros_like(X), X
        self.directions = X[:, :0]

    # What a tracker sees, as tensors.
    A = property(lambda self: make(self.a))
    B = property(lambda self: None if self.b is None else make(self.b))
    iK = property(lambda self: None if self.preconditioner is None else make(self.preconditioner))
    E = property(lambda self: make(self.values))
    X = property(lambda self: make(self.vectors))
    S = property(lambda self: make(self.basis))
    R = property(lambda self: make(self.residual))

    def _weighted(self, vectors: Any) -> Any:
        return vectors if self.b is None else self.b @ vectors

    def _orthonormal(self, basis: Any) -> Any:
        """A basis of the same span whose Gram matrix is the identity; what depends on the rest is dropped."""
        small = np.finfo(basis.dtype).eps * 10
        for _ in range(_ROUNDS):
            gram = basis.T @ self._weighted(basis)
            scale = 1 / np.sqrt(np.maximum(np.diagonal(gram), np.finfo(basis.dtype).tiny))
            values, rotation = np.linalg.eigh(gram * scale * scale[:, None])
            kept = values > small * max(values[-1], 0)
            basis = (basis * scale) @ (rotation[:, kept] / np.sqrt(values[kept]))
        return basis

    def _improve(self, basis: Any) -> None:
        """The best vectors in a span (Rayleigh and Ritz), and the directions that led to them."""
        old, count = self.vectors, self.iparams["n"]
        self.basis = self._orthonormal(basis)
        if self.basis.shape[1] < count:
            raise OperationError(f"lobpcg: the {count} vectors to start from depend on each other")
        values, rotation = np.linalg.eigh(self.basis.T @ self.a @ self.basis)
        order = slice(None, -count - 1, -1) if self.bparams["largest"] else slice(count)
        self.values, self.vectors = values[order], self.basis @ rotation[:, order]
        self.directions = self.vectors - old @ (old.T @ self._weighted(self.vectors))
        self.residual = self.a @ self.vectors - self._weighted(self.vectors) * self.values

    def _errors(self) -> Any:
        """The size of each residual, relative to the sizes of the matrices and of its vector."""
        norms = self.fvars
        sizes = np.linalg.norm(self.vectors, axis=0) * (norms["A_norm"] + np.abs(self.values) * norms["B_norm"])
        return np.linalg.norm(self.residual, axis=0) / sizes

    def _begin(self) -> None:
        size = np.linalg.norm(self.vectors)
        self.fvars = {
            "X_norm": float(size), "A_norm": float(np.linalg.norm(self.a @ self.vectors) / size),
            "B_norm": float(np.linalg.norm(self._weighted(self.vectors)) / size),
        }  # fmt: skip
        self.vectors = self.vectors[:, :0]
        self._improve(self.basis)
        self.directions = self.vectors[:, :0]

    def run(self) -> tuple[Any, Any]:
        """The values and vectors when all have converged, or there are no steps left."""
        wanted, limit = self.iparams["k"], self.iparams["niter"]
        self._begin()
        while True:
            errors = self._errors()
            converged = errors <= self.fparams["tol"]
            self.tvars["rerr"] = make(errors)
            self.ivars["converged_count"] = int(np.cumprod(converged).sum())
            if self.ivars["istep"] and self.tracker is not None:
                self.tracker(self)
            stop = self.bvars.get("force_stop", False) or converged[:wanted].all()
            if stop or (limit >= 0 and self.ivars["istep"] >= limit):
                return self.values[:wanted], self.vectors[:, :wanted]
            pending = self.residual[:, ~converged]
            if self.preconditioner is not None:
                pending = self.preconditioner @ pending
            self._improve(np.concatenate([self.vectors, pending, self.directions], axis=1))
            self.ivars["istep"] += 1
            self.ivars["iterations_left"] = limit - self.ivars["istep"]


def _search_meta(A: Any, X: Any, B: Any, iK: Any, k: int, niter: int, tol: float, largest: bool, tracker: Any) -> list[Spec]:
    count = min(k, X.shape[-1])
    return [Spec((*A.shape[:-2], count), A.dtype), Spec((*A.shape[:-1], count), A.dtype)]


def _search_kernel(
    xp: Any, A: Any, X: Any, B: Any, iK: Any, k: int, niter: int, tol: float, largest: bool, tracker: Any
) -> tuple[Any, Any]:
    specs = _search_meta(A, X, B, iK, k, niter, tol, largest, tracker)
    values, vectors = (np.empty(spec.shape, spec.dtype) for spec in specs)
    B, iK = (None if each is None else np.broadcast_to(each, A.shape) for each in (B, iK))
    params = {"k": specs[0].shape[-1], "niter": niter, "tol": tol, "largest": largest}
    for index in np.ndindex(*A.shape[:-2]):
        weight, inverse = (None if each is None else each[index] for each in (B, iK))
        values[index], vectors[index] = Iteration(A[index], weight, inverse, X[index], params, tracker).run()
    return values, vectors


def _search_gradient(g: Any, A: Any, B: Any, largest: bool, E: Any, X: Any) -> Any:
    """As of a full decomposition: a vector moves towards each of the others, the more the nearer their values are."""
    if B is not None:
        raise GradientError("lobpcg: there is no gradient with B; leave it away, or use linalg.eigh")
    of_values, of_vectors = g
    found: Any = 0.0
    if of_values is not None:
        found = matmul(X * of_values.unsqueeze(-2), adjoint(X))
    if of_vectors is not None:
        size, count = X._array.shape[-2:]
        values, vectors = linalg_eigh((A + adjoint(A)) / 2)
        places = table["arange"].call(size).unsqueeze(-1)
        itself = (size - 1 - places if largest else places) == table["arange"].call(count)
        distance = E.unsqueeze(-2) - values.unsqueeze(-1)
        weights = (1 / distance.masked_fill(itself, 1.0)).masked_fill(itself, 0.0)
        found = found + matmul(matmul(vectors, weights * matmul(adjoint(vectors), of_vectors)), adjoint(X))
    return (found + adjoint(found)) / 2


@primitive(
    meta=_search_meta,
    kernel=_search_kernel,
    vjp={"A": _search_gradient},
    returns=("E", "X"),
    exact=True,
    namespace=None,
    method=False,
    out=False,
    onnx=no_operator("eigenvalues"),
)
def lobpcg_search(
    A: Tensor,
    start: Tensor,
    B: Tensor | None,
    iK: Tensor | None,
    k: int,
    niter: int,
    tol: float,
    largest: bool,
    tracker: Any,
) -> tuple[Tensor, Tensor]:
    """The search itself, from given vectors."""


@composite(method=False)
def lobpcg(
    A: Tensor, k: int | None = None, B: Tensor | None = None, X: Tensor | None = None, n: int | None = None, iK: Tensor | None = None,
    niter: int | None = None, tol: float | None = None, largest: bool | None = None, method: str | None = None, tracker: Any = None,
    ortho_iparams: Any = None, ortho_fparams: Any = None, ortho_bparams: Any = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The k largest (or smallest) eigenvalues of symmetric matrices, and their vectors, found step by step.

    With ``B`` they are those of ``A x = e B x``.  ``X`` (or n random vectors) is where the search begins, ``iK`` an approximate
    inverse of A, ``tol`` the relative residual at which a pair counts as found.  ``tracker`` is called after each step with an
    object that has the state.  The two ``method``s and the ``ortho_`` parameters of PyTorch are accepted; there is one
    method here, which keeps its basis orthonormal.
    """
    if A._array.ndim < 2:
        raise IndexError("lobpcg: A must have at least 2 dimensions")
    rows, columns = A._array.shape[-2:]
    if rows != columns:
        raise AssertionError(f"A must be square, got shape {list(A._array.shape)}")
    if A._array.dtype not in _TOLERANCE:
        raise (KeyError if A._array.dtype in LOW_PRECISION else OperationError)(f"lobpcg: A of {A.dtype} is not float32 or float64")
    k = (1 if X is None else int(X._array.shape[-1])) if k is None else k
    n = (k if n is None else n) if X is None else int(X._array.shape[-1])
    if rows < 3 * n:
        raise ValueRangeError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={rows}) is smaller than 3 x the number of "
            f"requested eigenpairs (={n})"
        )
    if k < 1 or n < 1:
        raise ValueRangeError(f"lobpcg: the numbers of eigenpairs and of vectors must be positive, but they are {k} and {n}")
    start = table["randn"].call(*A._array.shape[:-1], n, dtype=A.dtype, device=A.device) if X is None else X
    if tuple(start._array.shape) != (*A._array.shape[:-1], n):
        raise AssertionError(f"X shape mismatch: got {list(start._array.shape)}, expected {[*A._array.shape[:-1], n]}")
    if A.requires_grad:
        A = (A + adjoint(A)) / 2
    tol = _TOLERANCE[A._array.dtype] if tol is None else tol
    return lobpcg_search(A, start, B, iK, k, niter or _STEPS, tol, largest is not False, tracker)  # type: ignore[return-value]
