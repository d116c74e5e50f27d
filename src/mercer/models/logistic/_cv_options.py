"""What the parameters of `LogisticRegressionCV` come down to, after scikit-learn's rules and warnings."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import DataError
from mercer._typing import Array
from mercer._warn import warn
from mercer.models.logistic.options import refuse_unsuitable


class Asked(NamedTuple):
    """What the parameters come down to."""

    penalty: str
    l1_ratios: list[Any]  # None where none was given
    scoring: Any
    legacy: bool

    @property
    def ratios(self) -> list[float]:
        """The shares of L1 that the penalty stands for."""
        known = {"l1": 1.0, "l2": 0.0}.get(self.penalty)
        return [float(ratio) if known is None else known for ratio in self.l1_ratios]


def asked_of(model: Any) -> Asked:
    """The parameters, after scikit-learn's rules and warnings."""
    l1_ratios = _l1_ratios(model)
    penalty = _penalty(model, l1_ratios)
    if isinstance(model.scoring, str) and model.scoring == "warn":
        warn(
            "The default value of the parameter 'scoring' will change from None, i.e. accuracy, to 'neg_log_loss' "
            "in version 1.11. To silence this warning, explicitly set the scoring parameter: "
            "scoring='neg_log_loss' for the new, scoring='accuracy' or scoring=None for the old default.",
            FutureWarning,
        )
    if isinstance(model.use_legacy_attributes, str):
        name = type(model).__name__
        warn(
            f"The fitted attributes of {name} will be simplified in scikit-learn 1.10 to remove redundancy. Set"
            "`use_legacy_attributes=False` to enable the new behavior now, or set it to `True` to silence this "
            "warning during the transition period while keeping the deprecated behavior for the time being. The "
            "default value of use_legacy_attributes will change from True to False in scikit-learn 1.10. See the "
            f"docstring of {name} for more details.",
            FutureWarning,
        )
    refuse_unsuitable(model.solver, penalty, model.dual)
    if penalty == "elasticnet":
        _refuse_odd_ratios(l1_ratios)
    elif l1_ratios is not None and model.penalty != "deprecated":
        warn(f"l1_ratios parameter is only used when penalty is 'elasticnet'. Got (penalty={penalty})", UserWarning)
    scoring = None if isinstance(model.scoring, str) and model.scoring == "warn" else model.scoring
    return Asked(penalty, [None] if l1_ratios is None else list(l1_ratios), scoring, bool(model.use_legacy_attributes))


def checked_Cs(Cs: Any) -> Array:
    """Inverse strengths to try: as given, or so many from 1e-4 to 1e4."""
    if isinstance(Cs, Integral):
        return np.logspace(-4, 4, int(Cs))
    values = np.asarray(Cs)
    if values.ndim != 1 or not values.size or not np.all(values > 0):
        raise DataError(f"Cs must be one or more numbers above 0, each the inverse of a penalty; got {Cs!r}.")
    return values


def _l1_ratios(model: Any) -> Any:
    if isinstance(model.l1_ratios, str):
        warn(
            "The default value for l1_ratios will change from None to (0.0,) in version 1.10. From version 1.10 "
            "onwards, only array-like with values in [0, 1] will be allowed, None will be forbidden. To avoid this "
            "warning, explicitly set a value, e.g. l1_ratios=(0,).",
            FutureWarning,
        )
        return None
    return model.l1_ratios


def _penalty(model: Any, l1_ratios: Any) -> str:
    if model.penalty != "deprecated":
        warn(
            "'penalty' was deprecated in version 1.8 and will be removed in 1.10. To avoid this warning, leave "
            "'penalty' set to its default value and use 'l1_ratios' and 'Cs' instead. Use l1_ratios=(0,) instead "
            "of penalty='l2', l1_ratios=(1,) instead of penalty='l1', l1_ratios set to floats between 0 and 1 "
            "instead of penalty='elasticnet', and Cs=(np.inf,) instead of penalty=None.",
            FutureWarning,
        )
        return str(model.penalty)
    if model.l1_ratios is None:
        warn(
            "'l1_ratios=None' was deprecated in version 1.8 and will trigger an error in 1.10. Use an array-like "
            "with values in [0, 1] instead.",
            FutureWarning,
        )
    if l1_ratios is None or np.all(np.asarray(l1_ratios) == 0):
        return "l2"
    return "l1" if np.all(np.asarray(l1_ratios) == 1) else "elasticnet"


def _refuse_odd_ratios(l1_ratios: Any) -> None:
    fine = l1_ratios is not None and all(isinstance(ratio, Real) and 0 <= float(ratio) <= 1 for ratio in l1_ratios)
    if not fine or len(l1_ratios) == 0:
        raise DataError(
            f"l1_ratios must be an array-like of numbers between 0 and 1; got (l1_ratios={l1_ratios!r}). Give one or "
            "more."
        )
