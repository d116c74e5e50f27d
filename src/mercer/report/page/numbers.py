"""Numbers as people read them."""

from __future__ import annotations

import math

from mercer.report.grid import NOTHING

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def written(value: float, form: str = ".3g") -> str:
    """A value in its format, with a true minus and powers of ten in place of `1e+05`."""
    if math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    shown = f"{value:,.0f}" if form == ".3g" and 1000 <= abs(value) < 1e6 else _formatted(value, form)
    mantissa, _, power = shown.partition("e")
    mantissa = mantissa.removesuffix(".")  # "#.3g" writes 297.
    if power:
        mantissa = f"{mantissa} × 10{str(int(power)).translate(_RAISED)}"
    return mantissa.replace("-", "−")


def _formatted(value: float, form: str) -> str:
    return format(int(value), form) if form.endswith(("d", "x", "c", "b", "o")) else format(value, form)


def on_tick(value: float, step: float) -> str:
    """A number at an axis, with the decimals that its neighbours need."""
    if value == 0:
        return "0"
    if not 1e-4 <= max(abs(value), step) < 1e7:
        return power_of_ten(value)
    decimals = min(max(0, -math.floor(math.log10(step) + 1e-9)), 12)
    if round(step * 10**decimals, 6) % 1:  # steps of 2.5, 0.25, …
        decimals += 1
    maybe_years = 1000 <= value < 10_000 and step <= 100
    return f"{value:{'' if maybe_years else ','}.{decimals}f}".replace("-", "−")


def power_of_ten(value: float) -> str:
    """The number as m × 10ᵖ, or 10ᵖ."""
    mantissa, _, power = f"{value:.2e}".partition("e")
    mantissa = f"{float(mantissa):g}".replace("-", "−")
    raised = f"10{str(int(power)).translate(_RAISED)}"
    return raised if mantissa == "1" else f"{mantissa} × {raised}"
