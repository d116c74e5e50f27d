"""Contents of a file of separated fields, read by Python's csv module and the documented rules."""

from __future__ import annotations

import codecs
import csv
import datetime
import io
import re
from collections.abc import Sequence
from typing import Any

from mercer.data.coding import MISSING_WORDS

SEPARATORS = {".csv": ",;\t|", ".tsv": "\t"}
WHOLE = re.compile(r"-?[0-9]{1,18}")


class Unreadable(Exception):
    """The bytes do not determine a unique table."""


def fields_of(octets: bytes, ending: str, guessed: str) -> tuple[list[str], list[list[str]]]:
    """Names and rows, as they are written."""
    text = _text(octets)
    text = re.sub(r"\A(?:[ \t\f\v]*(?:\r\n?|\n))*", "", text)
    if not text.strip():
        raise Unreadable("nothing is in it")
    # where quotation marks are in the first line, which separators are outside of them depends on the separator
    first = re.split(r"[\r\n]", text, maxsplit=1)[0]
    separator = guessed if '"' in first else max(SEPARATORS[ending], key=first.count)
    quoted = separator != "\t" or text.startswith('"')
    rows = _rows(text, separator, quoted=quoted)
    names = [name.strip() for name in _rows(_without_blanks(text, separator), separator, quoted=quoted)[0]]
    if any(_is_number(name) or (name and name in MISSING_WORDS) for name in names):
        names = [f"x{number}" for number in range(len(names))]
    else:
        rows = rows[1:]
    if any(len(row) != len(names) for row in rows):
        raise Unreadable("a line has another number of fields")
    return names, rows


def _without_blanks(text: str, separator: str) -> str:
    """In a line of names, blanks before a quotation mark do not count."""
    first, rest = re.match(r"([^\r\n]*)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    mark, quoted = re.escape(separator), '"(?:[^"]|"")*"'
    # a field that begins with a quotation mark and goes on after the second is passed over: its marks are its own
    field = re.compile(rf"(\A|{mark})(?: *({quoted}) *(?={mark}|\Z)|{quoted})")
    return field.sub(lambda found: found[1] + found[2] if found[2] else found[0], first) + rest


def _text(octets: bytes) -> str:
    utf16 = octets.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    for encoding in ("utf-16",) if utf16 else ("utf-8", "cp1252"):
        try:
            text = octets.decode(encoding).removeprefix("\ufeff")
            break
        except UnicodeDecodeError:
            continue
    else:
        raise Unreadable("no text")
    if "\0" in text:
        raise Unreadable("no text")
    return text


def _rows(text: str, separator: str, *, quoted: bool) -> list[list[str]]:
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    try:
        return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator, quoting=quoting) if row]
    except csv.Error as failure:
        raise Unreadable(str(failure)) from failure


def _is_number(field: str) -> bool:
    digits = r"([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?"
    return re.fullmatch(rf"[-+]?({digits}|inf|infinity|nan)", field, re.IGNORECASE) is not None


def agrees(read: Any, written: Sequence[str]) -> bool:
    """Return whether the values of a pyarrow column are those that were written."""
    import pyarrow as pa

    values, stripped = read.to_pylist(), [field.strip() for field in written]
    present = [(value, field) for value, field in zip(values, stripped, strict=True) if field not in MISSING_WORDS]
    if any(value is not None for value, field in zip(values, stripped, strict=True) if field in MISSING_WORDS):
        return False
    plain = [field.strip(" \t") for field in written if field.strip(" ") not in MISSING_WORDS]
    if present and all(map(WHOLE.fullmatch, plain)) and not pa.types.is_int64(read.type):
        return False
    return all(_same(value, field) for value, field in present)


def _same(value: Any, field: str) -> bool:
    match value:
        case bool():
            return field.lower() == str(value).lower()
        case int():
            return int(field, 16 if re.match("-?0[xX]", field) else 10) == value
        case float():
            return float(field) == value or value != value
        case datetime.datetime():
            return _moment(field) == value.replace(tzinfo=None)
        case datetime.date() | datetime.time():
            return type(value).fromisoformat(field) == value
        case _:
            return bool(value == field)


def _moment(field: str) -> datetime.datetime:
    moment = datetime.datetime.fromisoformat(field)
    return moment if moment.tzinfo is None else moment.astimezone(datetime.UTC).replace(tzinfo=None)
