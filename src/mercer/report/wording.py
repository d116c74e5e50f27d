"""Formatting of numbers, names and values in sentences and tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any


def format_count(number: int, thing: str) -> str:
    """Return a count with its noun in the singular or plural.

    Examples
    --------
    >>> format_count(1, "row"), format_count(1200, "column"), format_count(2, "pass")
    ('1 row', '1,200 columns', '2 passes')
    """
    plural = "es" if thing.endswith("s") else "s"
    return f"{number:,} {thing}{'' if number == 1 else plural}"


def format_number(value: float, digits: int = 4) -> str:
    """Return a number with few digits, in which thousands and millions have no exponent.

    Numbers from five digits on have separators of thousands; years therefore have none.

    Examples
    --------
    >>> format_number(189664.13), format_number(10.0781), format_number(2.5e12), format_number(6794.2, 3)
    ('189,664', '10.08', '2.5e+12', '6794')
    """
    if not 10**digits - 0.5 <= abs(value) < 1e9:
        return f"{value:.{digits}g}"
    return f"{value:,.0f}" if abs(value) >= 10_000 - 0.5 else f"{value:.0f}"


def format_plain(value: float, form: str) -> str:
    """Return a number in a format, with separators of thousands instead of an exponent below 10⁹.

    Examples
    --------
    >>> format_plain(24987.3, ".4g"), format_plain(0.31276, ".4f"), format_plain(2.5e-9, ".3g")
    ('24,987', '0.3128', '2.5e-09')
    >>> format_plain(1405.2, "#.4g"), format_plain(14407.0, "+.3g")
    ('1,405', '+14,407')
    >>> format_plain(760.0, ".2g")
    '760'
    """
    shown = format(value, form).rstrip(".")
    if abs(value) < 1e9 and ("e+" in shown or (abs(value) >= 1000 and "." not in shown)):
        return f"{value:{'+' if form.startswith('+') else ''},.0f}"
    return shown


def format_share(part: float) -> str:
    """Return a share as a whole percentage; only exact 0 and 1 are written as 0% and 100%.

    Examples
    --------
    >>> format_share(0.37), format_share(0.001), format_share(0.999), format_share(1.0)
    ('37%', '<1%', '>99%', '100%')
    """
    shown = f"{part:.0%}"
    if shown == "0%" and part > 0:
        return "<1%"
    return ">99%" if shown == "100%" and part < 1 else shown


def add_unit(number: str, unit: str) -> str:
    """Return a written number with its unit: a currency before it, "%" after it.

    Examples
    --------
    >>> add_unit("24,850", "$"), add_unit("-3.5", "€"), add_unit("12", "%"), add_unit("7", "")
    ('$24,850', '-€3.5', '12%', '7')
    """
    if not unit or not number:
        return number
    if unit == "%":
        return f"{number}%"
    return f"-{unit}{number[1:]}" if number.startswith("-") else f"{unit}{number}"


def join_words(words: Sequence[str], most: int = 6, last: str = "and") -> str:
    """Return words as a list in a sentence; of a long list, the first words and the number of the others.

    Examples
    --------
    >>> join_words(["a", "b", "c"]), join_words(["a", "b", "c"], most=2)
    ('a, b and c', 'a, b and 1 more')
    """
    few = list(words[:most])
    if len(words) > most:
        return f"{', '.join(few)} and {len(words) - most:,} more"
    return f" {last} ".join(filter(None, [", ".join(few[:-1]), *few[-1:]]))


def format_p_value(p: float) -> str:
    """Return a p-value as part of a sentence.

    Examples
    --------
    >>> format_p_value(0.0312), format_p_value(0.0)
    ('p = 0.031', 'p < 1e-16')
    """
    return f"p = {p:.2g}" if p > 1e-16 else "p < 1e-16"


class PValue(float):
    """A p-value in a table, written in a format or as "<0.0001", and sorted as a number.

    Examples
    --------
    >>> f"{PValue(0.02259):.3g}", f"{PValue(3.61e-22):.3g}"
    ('0.0226', '<0.0001')
    """

    def __format__(self, form: str) -> str:
        return "<0.0001" if self < 1e-4 else float.__format__(self, form)


class Seconds(float):
    """Seconds in a table, written in a format or as "<0.001", and sorted as a number.

    Examples
    --------
    >>> f"{Seconds(0.0275):#.3g}", f"{Seconds(9.16e-05):#.3g}"
    ('0.0275', '<0.001')
    """

    def __format__(self, form: str) -> str:
        return "<0.001" if self < 1e-3 else float.__format__(self, form)


#: characters that control a terminal or the direction of text, except line ends and tabs
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def escape_controls(text: str) -> str:
    """Return a text with its control characters escaped, because names and values may hold escape sequences.

    Examples
    --------
    >>> print(escape_controls("age\x1b[2J"))
    age\\x1b[2J
    """
    return CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def shorten(value: Any, most: int = 24) -> str:
    """Return a value as text that fits in a table.

    Examples
    --------
    >>> shorten("a line\\n of many words", most=10)
    'a line of…'
    >>> shorten(3.200000047683716)  # as float32 stores 3.2
    '3.2'
    """
    text = f"{value:.7g}" if isinstance(value, float) else " ".join(str(value).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def format_value(value: Any) -> str:
    """Return a value of a column as short text.

    Examples
    --------
    >>> format_value(3.0), format_value(2.123456789), format_value("Rome")
    ('3', '2.1235', 'Rome')
    """
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, float):
        return f"{plain:.0f}" if plain.is_integer() and abs(plain) < 1e15 else f"{plain:.5g}"
    return shorten(plain)
