"""Numbers, names and values within a sentence or a table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any


def counted(number: int, thing: str) -> str:
    """How many there are of something.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "column"), counted(2, "pass")
    ('1 row', '1,200 columns', '2 passes')
    """
    plural = "es" if thing.endswith("s") else "s"
    return f"{number:,} {thing}{'' if number == 1 else plural}"


def in_full(value: float, digits: int = 4) -> str:
    """Return a number with few digits, but thousands and millions without an exponent.

    There are separators from five digits on, so that years have none.

    Examples
    --------
    >>> in_full(189664.13), in_full(10.0781), in_full(2.5e12), in_full(6794.2, 3)
    ('189,664', '10.08', '2.5e+12', '6794')
    """
    if not 10**digits - 0.5 <= abs(value) < 1e9:
        return f"{value:.{digits}g}"
    return f"{value:,.0f}" if abs(value) >= 10_000 - 0.5 else f"{value:.0f}"


def plainly(value: float, form: str) -> str:
    """Return a number in a format, but with separators of thousands in place of an exponent below 10⁹.

    Examples
    --------
    >>> plainly(24987.3, ".4g"), plainly(0.31276, ".4f"), plainly(2.5e-9, ".3g")
    ('24,987', '0.3128', '2.5e-09')
    >>> plainly(1405.2, "#.4g"), plainly(14407.0, "+.3g")
    ('1,405', '+14,407')
    >>> plainly(760.0, ".2g")
    '760'
    """
    shown = format(value, form).rstrip(".")
    if abs(value) < 1e9 and ("e+" in shown or (abs(value) >= 1000 and "." not in shown)):
        return f"{value:{'+' if form.startswith('+') else ''},.0f}"
    return shown


def share_of(part: float) -> str:
    """Return a share as a whole percentage, where only none is 0% and only all is 100%.

    Examples
    --------
    >>> share_of(0.37), share_of(0.001), share_of(0.999), share_of(1.0)
    ('37%', '<1%', '>99%', '100%')
    """
    shown = f"{part:.0%}"
    if shown == "0%" and part > 0:
        return "<1%"
    return ">99%" if shown == "100%" and part < 1 else shown


def with_unit(number: str, unit: str) -> str:
    """Return a written number with its unit: a currency before it, "%" after it.

    Examples
    --------
    >>> with_unit("24,850", "$"), with_unit("-3.5", "€"), with_unit("12", "%"), with_unit("7", "")
    ('$24,850', '-€3.5', '12%', '7')
    """
    if not unit or not number:
        return number
    if unit == "%":
        return f"{number}%"
    return f"-{unit}{number[1:]}" if number.startswith("-") else f"{unit}{number}"


def enumerated(words: Sequence[str], most: int = 6, last: str = "and") -> str:
    """Words as a list in a sentence; of many, the first and how many more.

    Examples
    --------
    >>> enumerated(["a", "b", "c"]), enumerated(["a", "b", "c"], most=2)
    ('a, b and c', 'a, b and 1 more')
    """
    few = list(words[:most])
    if len(words) > most:
        return f"{', '.join(few)} and {len(words) - most:,} more"
    return f" {last} ".join(filter(None, [", ".join(few[:-1]), *few[-1:]]))


def chance(p: float) -> str:
    """A p-value in a sentence.

    Examples
    --------
    >>> chance(0.0312), chance(0.0)
    ('p = 0.031', 'p < 1e-16')
    """
    return f"p = {p:.2g}" if p > 1e-16 else "p < 1e-16"


class PValue(float):
    """A p-value of a table, which is written with three digits, or as less than 0.0001, and sorted as a number.

    Examples
    --------
    >>> f"{PValue(0.02259):.3g}", f"{PValue(3.61e-22):.3g}"
    ('0.0226', '<0.0001')
    """

    def __format__(self, form: str) -> str:
        return "<0.0001" if self < 1e-4 else float.__format__(self, form)


class Seconds(float):
    """Seconds of a table, which are written in a format, or as less than a millisecond, and sorted as a number.

    Examples
    --------
    >>> f"{Seconds(0.0275):#.3g}", f"{Seconds(9.16e-05):#.3g}"
    ('0.0275', '<0.001')
    """

    def __format__(self, form: str) -> str:
        return "<0.001" if self < 1e-3 else float.__format__(self, form)


#: characters that a terminal obeys, or that turn the order of others: all controls but line ends and tabs
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Return a text that a terminal shows and does not obey: names and values of a table may hold escape sequences.

    Examples
    --------
    >>> print(printable("age\x1b[2J"))
    age\\x1b[2J
    """
    return CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def shortened(value: Any, most: int = 24) -> str:
    """A value as text that has room in a table.

    Examples
    --------
    >>> shortened("a line\\n of many words", most=10)
    'a line of…'
    >>> shortened(3.200000047683716)  # as float32 stores 3.2
    '3.2'
    """
    text = f"{value:.7g}" if isinstance(value, float) else " ".join(str(value).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def written(value: Any) -> str:
    """A value of a column as short text.

    Examples
    --------
    >>> written(3.0), written(2.123456789), written("Rome")
    ('3', '2.1235', 'Rome')
    """
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, float):
        return f"{plain:.0f}" if plain.is_integer() and abs(plain) < 1e15 else f"{plain:.5g}"
    return shortened(plain)
