"""Where the first record of a file of separated fields is, and what its fields are: by the rules of pyarrow.

A field that begins with a quotation mark goes on to the next one, over line ends, too; anywhere else such a mark is a
letter. Lines end in LF, CR or both; nothing else ends them, whatever Unicode says.
"""

from __future__ import annotations

import mmap
import re
from functools import lru_cache
from typing import BinaryIO, NamedTuple

#: lines before the first record that hold nothing
BLANK = re.compile(r"\ufeff?(?:[ \t\f\v]*+(?:\r\n?|\n))*+")
LINE_END = re.compile(r"\r\n?|\n")
#: pairs of quotation marks at the end of a file that are looked at before all of it is
MOST_PAIRS = 1000
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


def most_frequent(separators: str, text: str) -> str:
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
    """Whether the last odd run of quotation marks stands where a field begins: after one that opens come pairs only."""
    stop = len(octets)
    for _ in range(MOST_PAIRS):
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
    # both groups of what is in quotation marks exist always, so that they can be asked for
    marked = QUOTED if quoted else "((?!))"
    spaced = rf' ++"((?:[^"\r\n]|"")*+)" *+(?={mark}|[\r\n]|\Z)' if quoted and names else "((?!))"
    return re.compile(rf"(?:{spaced}|(?:{marked})?{after})(?P<end>{mark}|\r\n?|\n|\Z)")
