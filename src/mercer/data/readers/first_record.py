"""The first record of a file of separated fields, by the rules of pyarrow.

A field that begins with a quotation mark ends at the next one, even beyond line ends; elsewhere a quotation mark is an
ordinary character. Lines end in LF, CR or both, and in no other character that Unicode defines.
"""

from __future__ import annotations

import mmap
import re
from functools import lru_cache
from typing import BinaryIO, NamedTuple

#: blank lines before the first record
BLANK_LINES = re.compile(r"\ufeff?(?:[ \t\f\v]*+(?:\r\n?|\n))*+")
LINE_END = re.compile(r"\r\n?|\n")
#: runs of quotation marks that are checked from the end of a file before the whole file is searched
MAX_QUOTE_RUNS = 1000
QUOTED = r'"((?:[^"]|"")*+)(?:"|\Z)'


class Record(NamedTuple):
    """The fields, and the range of characters of the record in the text, with the end of its line."""

    fields: tuple[str, ...]
    start: int
    stop: int


def first_record(text: str, separator: str, *, quoted: bool, names: bool = False) -> Record:
    """Return the first record that is not blank; in a line of names, blanks before a quotation mark are ignored."""
    field = _field(separator, quoted, names)
    start = place = BLANK_LINES.match(text).end()  # type: ignore[union-attr]
    fields = []
    while True:
        match = field.match(text, place)
        assert match is not None  # an empty field also matches
        inside = next((part for part in match.groups()[:2] if part is not None), None)
        fields.append(("" if inside is None else inside.replace('""', '"')) + (match["rest"] or ""))
        place = match.end()
        if match["end"] != separator:
            return Record(tuple(fields), start, place)


def most_frequent(separators: str, text: str) -> str:
    """Return the character that is most frequent in the first line outside quotation marks, or anywhere in it."""
    text = text[BLANK_LINES.match(text).end() :]  # type: ignore[union-attr]
    for line in (_first_line(re.sub(rf"(?<![^{re.escape(separators)}\r\n]){QUOTED}", "", text)), _first_line(text)):
        if any(separator in line for separator in separators):
            return max(separators, key=line.count)
    return separators[0]


def lines_in(text: str) -> int:
    """Return the number of line ends in a text."""
    return len(LINE_END.findall(text))


def unclosed_quote(file: BinaryIO, separator: str) -> int | None:
    """Return the line of a field whose quotation mark is not closed, for text in single bytes or UTF-8; None if there
    is none.
    """
    mark = separator.encode()
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as octets:
        if not _may_be_unclosed(octets, mark):
            return None
        fields = re.compile(rb"(?:\A(?:\xef\xbb\xbf)?|" + re.escape(mark) + rb'|[\r\n])"(?:[^"]|"")*+(?P<end>"|\Z)')
        for field in fields.finditer(octets):
            if not field["end"]:
                return 1 + octets[: field.start() + 1].count(b"\n")
    return None


def _may_be_unclosed(octets: mmap.mmap, mark: bytes) -> bool:
    """Return whether the last odd run of quotation marks is at the start of a field: after an opening one only pairs
    occur.
    """
    stop = len(octets)
    for _ in range(MAX_QUOTE_RUNS):
        if (last := octets.rfind(b'"', 0, stop)) < 0:
            return False
        stop = last
        while stop and octets[stop - 1 : stop] == b'"':
            stop -= 1
        if (last - stop) % 2 == 0:
            return not stop or octets[stop - 1 : stop] in (mark, b"\r", b"\n", b"\xbf")
    return True


def _first_line(text: str) -> str:
    return LINE_END.split(text, maxsplit=1)[0]


@lru_cache(maxsize=64)
def _field(separator: str, quoted: bool, names: bool) -> re.Pattern[str]:
    mark = re.escape(separator)
    after = rf"(?P<rest>[^{mark}\r\n]*+)"
    # "((?!))" never matches, but keeps the number of groups the same
    marked = QUOTED if quoted else "((?!))"
    spaced = rf' ++"((?:[^"\r\n]|"")*+)" *+(?={mark}|[\r\n]|\Z)' if quoted and names else "((?!))"
    return re.compile(rf"(?:{spaced}|(?:{marked})?{after})(?P<end>{mark}|\r\n?|\n|\Z)")
