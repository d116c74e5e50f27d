"""What cannot be flagged, however strange, because there is too little to compare it with."""

from __future__ import annotations

from math import ceil

import numpy as np

from mercer._errors import CalibrationWarning
from mercer._typing import Array
from mercer._warn import warn
from mercer.decide.conformal import least_p_value
from mercer.report.wording import counted


def warn_of_idle_fit(calibration: Array, fdr: float) -> None:
    """Say so where no row will ever be flagged."""
    if (least := least_p_value(calibration)) > fdr:
        _warn(
            f"no row can be flagged: among {counted(len(calibration), 'row')} to compare with the smallest p-value is "
            f"{least:.3g}, which is above fdr={fdr:g}.",
            calibration,
            ceil(1 / fdr) - 1,
            "or allow more false discoveries (fdr=…)",
        )


def warn_of_idle_batch(p: Array, calibration: Array, fdr: float) -> None:
    """Say so where rows of a batch, none of which was flagged, are as strange as the comparison can tell."""
    least, m = least_p_value(calibration), len(p)
    k = int(np.count_nonzero(p == least))
    if k and least <= fdr:  # else the fit has said so
        _warn(
            f"no row was flagged, though {k} of {m} scored as low as {len(calibration)} rows to compare with can tell: "
            f"their p-value of {least:.3g} is above fdr · {k}/{m} = {fdr * k / m:.3g}.",
            calibration,
            ceil(m / (k * fdr)) - 1,
            "or look at p_values, which judge each row alone",
        )


def _warn(what: str, calibration: Array, needed: int, otherwise: str) -> None:
    zero = int(np.count_nonzero(np.isneginf(calibration)))
    if zero:
        remedy = (
            f"The density is 0 at {zero} of these rows, too, so that more of them would not help: use a smoother one, "
            f"such as KernelDensity() with a kernel that does not end, {otherwise}."
        )
    else:
        remedy = (
            f"Compare with {needed:,} or more: give more rows, hold out a larger share of them (calibration=…), "
            f"{otherwise}."
        )
    warn(f"{what} {remedy}", CalibrationWarning)
