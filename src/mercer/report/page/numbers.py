"""Formatting of numbers on the page."""

from __future__ import annotations

import math

from mercer.report.grid import EMPTY_CELL

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def write_number(value: float, form: str = ".3g") -> str:
    """Return a value in a format, with a true minus sign and powers of ten instead of `1e+05`."""
    if math.isnan(value):
        return EMPTY_CELL
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    shown = f"{value:,.0f}" if form == ".3g" and 1000 <= abs(value) < 1e6 else _format(value, form)
    mantissa, _, power = shown.partition("e")
    mantissa = mantissa.removesuffix(".")  # "#.3g" writes 297.
    if power:
        mantissa = f"{mantissa} × 10{str(int(power)).translate(_RAISED)}"
    return mantissa.replace("-", "−")


def _format(value: float, form: str) -> str:
    return format(int(value), form) if form.endswith(("d", "x", "c", "b", "o")) else format(value, form)


def write_tick(value: float, step: float) -> str:
    """Return the label of a tick, with as many decimals as the distance between ticks requires."""
    if value == 0:
        return "0"
    if not 1e-4 <= max(abs(value), step) < 1e7:
        return write_power_of_ten(value)
    decimals = min(max(0, -math.floor(math.log10(step) + 1e-9)), 12)
    if round(step * 10**decimals, 6) % 1:  # steps of 2.5, 0.25, …
        decimals += 1
    maybe_years = 1000 <= value < 10_000 and step <= 100
    return f"{value:{'' if maybe_years else ','}.{decimals}f}".replace("-", "−")


def write_power_of_ten(value: float) -> str:
    """Return a number as m × 10ᵖ, or 10ᵖ."""
    mantissa, _, power = f"{value:.2e}".partition("e")
    mantissa = f"{float(mantissa):g}".replace("-", "−")
    raised = f"10{str(int(power)).translate(_RAISED)}"
    return raised if mantissa == "1" else f"{mantissa} × {raised}"
