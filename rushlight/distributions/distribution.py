"""The base class of distributions: shapes, validation of parameters and of samples, and what every family answers."""

from __future__ import annotations

import warnings
from typing import Any

import rushlight
from rushlight import Tensor

from ..core.size import Size
from ..core.state import state
from . import constraints
from .utils import lazy_property

__all__ = ["Distribution"]


def _holds(constraint: Any, value: Any) -> bool:
    """Whether values satisfy a constraint; in an exported file, which can't raise, those of the example are not asked for."""
    found = constraint.check(value).all()
    if getattr(state.capture, "refusing", False) and state.capture.is_traced(found):
        return True
    return bool(found)


class Distribution:
    """A batch of probability distributions.

    ``batch_shape`` is how many distributions there are, ``event_shape`` the shape of one sample of each.  A sample of
    ``sample_shape`` has the shape ``sample_shape + batch_shape + event_shape``.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args: bool = __debug__
    _batched: tuple[str, ...]  # the parameters that `expand` expands, of families that need no `expand` of their own
    _kept: tuple[str, ...] = ()  # attributes that it takes over as they are

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check parameters and samples, unless they are told."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = Size(()), event_shape: Any = Size(()), validate_args: bool | None = None) -> None:
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()

    def _validate_parameters(self) -> None:
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            arg_constraints = {}
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize the distribution "
                "with `validate_args=False` to turn off validation.",
                stacklevel=4,
            )
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # it follows from another parameter
            value = getattr(self, name)
            if not _holds(constraint, value):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution {self!r} "
                    f"to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """This distribution with its batch dimensions expanded to a shape, without a copy."""
        family = self._family()
        if family is None:
            raise NotImplementedError
        return self._expanded(family, batch_shape, _instance, *family._batched, **{name: getattr(self, name) for name in family._kept})

    @property
    def batch_shape(self) -> Size:
        """The shape over which parameters are batched."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample of one distribution."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """The constraint of each parameter, by name."""
        raise NotImplementedError

    @property
    def support(self) -> constraints.Constraint | None:
        """The constraint that samples satisfy."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = Size(())) -> Tensor:
        """Samples that pass no gradients on."""
        with rushlight.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size(())) -> Tensor:
        """Samples that pass gradients on to the parameters (reparameterised)."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """``n`` samples; ``sample((n,))`` is the same."""
        warnings.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2)
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at a value."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a sample that is at most ``value``."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The number below which a sample is with probability ``value``."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution along a new first dimension; without ``expand`` the batch dimensions are 1."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return rushlight.exp(self.entropy())

    def _extended_shape(self, sample_shape: Any = Size(())) -> Size:
        if not isinstance(sample_shape, Size):
            sample_shape = Size(sample_shape)
        return Size(sample_shape + self._batch_shape + self._event_shape)

    def _validate_sample(self, value: Tensor) -> None:
        """Refuse what can't be a sample: its shape does not fit, or it is outside of the support."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        event_dim_start = len(value.size()) - len(self._event_shape)
        if value.size()[event_dim_start:] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {value.size()} vs {self._event_shape}.")
        expected = self._batch_shape + self._event_shape
        for given, wanted in zip(reversed(value.size()), reversed(expected)):
            if given != 1 and wanted != 1 and given != wanted:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {value.size()} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please initialize the distribution with "
                "`validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        assert support is not None
        if not _holds(support, value):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support ({support!r}) "
                f"of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _family(self) -> type[Distribution] | None:
        """The class whose ``_batched`` says what ``expand`` does; None of classes of users that derive from none of ours."""
        return next((each for each in type(self).__mro__ if "_batched" in vars(each)), None)

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """An empty instance for ``expand``; a subclass with another constructor has to make its own."""
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ method must also define a custom "
                ".expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def _expanded(self, cls: type, batch_shape: Any, _instance: Any, *names: str, events: tuple[Any, ...] = (), **attributes: Any) -> Any:
        """``expand`` of the family ``cls``: the named parameters expanded, each with its event shape (``()`` unless it is given).

        Parameters that follow from others and were never asked for are left out.  Further attributes are set as they are, and all of it
        before the base class initialises the new instance: a subclass may make more of its attributes.
        """
        new = self._get_checked_instance(cls, _instance)
        batch_shape = Size(batch_shape)
        for name, event in zip(names, events or [()] * len(names), strict=True):
            if name in self.__dict__ or not isinstance(getattr(cls, name, None), lazy_property):
                setattr(new, name, getattr(self, name).expand(batch_shape + Size(event)))
        for name, value in attributes.items():
            setattr(new, name, value)
        super(cls, new).__init__(batch_shape, self._event_shape, validate_args=False)  # type: ignore[arg-type]
        new._validate_args = self._validate_args
        return new

    def __repr__(self) -> str:
        names = [name for name in self.arg_constraints if name in self.__dict__]
        parameters = (
            (name, value if value.numel() == 1 else value.size()) for name, value in ((name, self.__dict__[name]) for name in names)
        )
        return f"{self.__class__.__name__}({', '.join(f'{name}: {value}' for name, value in parameters)})"
