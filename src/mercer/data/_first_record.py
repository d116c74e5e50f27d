"""Where the first record of a file of separated fields is, and what its fields are: by the rules of pyarrow.

A field that begins with a quotation mark goes on to the next one, over line ends, too; anywhere else a quotation mark is
a letter. Lines end in LF, CR or both; nothing else ends them, whatever Unicode says.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import BinaryIO, NamedTuple

#: lines before the first record that hold nothing
BLANK = re.compile(r"\ufeff?(?:[ \t\f\v]*+(?:\r\n?|\n))*+")
LINE_END = re.compile(r"\r\n?|\n")
QUOTED = r'"((?:[^"]|"")*+)(?:"|\Z)'


class Record(NamedTuple):
    """Fields, and from which to which letter of the text they go, with the end of their line."""

    fields: tuple[str, ...]
    start: int
    stop: int


def first_record(text: str, separator: str, *, quoted: bool, names: bool = False) -> Record:
    """The first record that is not blank; in a line of names, blanks before a quotation mark do not count."""
    field = _field(separator, quoted, names)
    start = place = BLANK.match(text).end()  # type: ignore[union-attr]
    fields = []
    while True:
        found = field.match(text, place)
        assert found is not None  # nothing is a field, too
        inside = next((part for part in found.groups()[:2] if part is not None), None)
        fields.append(("" if inside is None else inside.replace('""', '"')) + (found["rest"] or ""))
        place = found.end()
        if found["end"] != separator:
            return Record(tuple(fields), start, place)


def most_frequent(separators: Sequence[str], text: str) -> str:
    """Which of these the first line has most often outside of quotation marks, or at all."""
    text = text[BLANK.match(text).end() :]  # type: ignore[union-attr]
    for line in (_first_line(re.sub(rf"(?<![^{re.escape(separators)}\r\n]){QUOTED}", "", text)), _first_line(text)):
        if any(separator in line for separator in separators):
            return max(separators, key=line.count)
    return separators[0]


def lines_in(text: str) -> int:
    """How many lines end in a text."""
    return len(LINE_END.findall(text))


def unclosed_quote(file: BinaryIO, separator: str) -> int | None:
    """The line of a field whose quotation mark nothing closes, in letters of a byte or UTF-8; None if there is none."""
    # almost every file is done here: marks come in pairs
    if not sum(block.count(b'"') for block in iter(lambda: file.read(1 << 22), b"")) % 2:
        return None
    mark = re.escape(separator.encode())
    fields = re.compile(rb'(?:\A(?:\xef\xbb\xbf)?|' + mark + rb'|[\r\n])"(?:[^"]|"")*+(?P<end>"|\Z)')
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as octets:
        for field in fields.finditer(octets):
            if not field["end"]:
                start = field.start() + 1
                return 1 + octets[:start].count(b"\n")
    return None


def _first_line(text: str) -> str:
    return LINE_END.split(text, maxsplit=1)[0]


@lru_cache(maxsize=64)
def _field(separator: str, quoted: bool, names: bool) -> re.Pattern[str]:
    mark = re.escape(separator)
    after = rf"(?P<rest>[^{mark}\r\n]*+)"
    # both groups of what is in quotation marks exist always, so that they can be asked for
    marked = QUOTED if quoted else "((?!))"
    spaced = rf' ++"((?:[^"\r\n]|"")*+)" *+(?={mark}|[\r\n]|\Z)' if quoted and names else "((?!))"
    return re.compile(rf"(?:{spaced}|(?:{marked})?{after})(?P<end>{mark}|\r\n?|\n|\Z)")
