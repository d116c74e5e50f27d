"""Estimators with frozen values as parameters, which `set_params(penalty__strength=…)` replaces."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, Self

from mercer._errors import DataError, KernelError
from mercer._suggest import did_you_mean


class ValueHolder:
    """A mixin for `BaseEstimator`, whose own `set_params` would change values in place.

    Kernels, penalties, families and rules for bandwidths are values that several estimators may share.

    Examples
    --------
    >>> from mercer import GLM
    >>> from mercer.families import L2
    >>> GLM(penalty=L2(1.0)).set_params(penalty__strength=3.0).penalty
    L2(strength=3.0, mean=0.0)
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return parameters by name; with `deep` also those of values, such as `kernel__gamma`."""
        params: dict[str, Any] = super().get_params(deep=deep)  # type: ignore[misc]
        if deep:
            for name in self.get_params(deep=False):
                if _is_value(held := params[name]):
                    params |= {f"{name}__{part}": getattr(held, part) for part in _parts(held)}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of kernels and other values, such as `kernel__gamma`."""
        own = self.get_params(deep=False)
        inside: dict[str, dict[str, Any]] = {}
        for key in list(params):
            name, nested, rest = key.partition("__")
            held = params.get(name, own.get(name))
            if nested and _is_value(held):
                inside.setdefault(name, {})[rest] = params.pop(key)
            elif nested and name in own and (held is None or isinstance(held, str)):
                raise _without_parameters(name, rest, held)
        for name, changes in inside.items():
            params[name] = _replace(name, params.get(name, own.get(name)), changes)
        super().set_params(**params)  # type: ignore[misc]
        return self


def _is_value(held: Any) -> bool:
    """Return whether a parameter is a frozen dataclass, which is never changed in place."""
    return is_dataclass(held) and not isinstance(held, type) and type(held).__dataclass_params__.frozen  # type: ignore[attr-defined]


def _parts(value: Any) -> list[str]:
    return [field.name for field in fields(value) if field.init]


def _replace(name: str, value: Any, changes: dict[str, Any]) -> Any:
    """Return the value with other parameters, by its own `replaced` if it has one, as a sum of kernels does."""
    if hasattr(value, "replaced"):
        return value.replaced(**changes)
    for part in changes:
        if part not in _parts(value):
            raise DataError(
                f"Invalid parameter '{name}__{part}' for {name}={value!r}. {did_you_mean(part, _parts(value))}"
            )
    return replace(value, **changes)


def _without_parameters(name: str, rest: str, held: str | None) -> KernelError | DataError:
    what = f"{name} is None" if held is None else f"the {name} {held!r} is a name"
    sentence = f"Invalid parameter '{name}__{rest}': {what}, which has no parameters. "
    if name == "kernel":
        return KernelError(
            f"{sentence}Set {rest!r} of the model if it has this parameter, or give a Kernel such as RBF() instead."
        )
    return DataError(f"{sentence}Give an object that has {rest!r} instead, as GLM(penalty=L2()) has penalty__strength.")
