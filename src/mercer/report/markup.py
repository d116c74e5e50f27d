"""HTML and SVG from small pieces, each of which is escaped unless it is markup already."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from html import escape
from typing import Any

#: what no document may hold: control characters, and halves of characters that cannot be written as UTF-8
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_VOID = {"meta", "link", "input", "br", "wbr"}
_CODE = re.compile("`([^`]+)`")
#: an option of the command line, in text
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


class Markup(str):
    """Text that is HTML: what `tag` has made, and nothing a user wrote."""

    __slots__ = ()


def text(words: object) -> Markup:
    """Words as they are to be read, whatever characters they have."""
    if isinstance(words, Markup):
        return words
    return Markup(escape(_UNFIT.sub("\ufffd", str(words)), quote=True))


def joined(pieces: Iterable[object]) -> Markup:
    return Markup("".join(map(text, pieces)))


def tag(name: str, /, *content: object, **attributes: object) -> Markup:
    """An element: `tag("th", "name", scope="col", class_="wide")`.

    In names of attributes `_` stands for `-`, and one at the end for nothing; attributes that are None or False are
    left out, and those that are True have no value.
    """
    opening = name + "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{opening}>")
    return Markup(f"<{opening}>{joined(content)}</{name}>")


def _attribute(key: str, value: object) -> str:
    if value is None or value is False:
        return ""
    key = key.rstrip("_").replace("_", "-")
    return f" {key}" if value is True else f' {key}="{text(short(value) if isinstance(value, float) else value)}"'


def short(number: float) -> str:
    """A place in a drawing: tenths are finer than anybody sees."""
    written = f"{number:.1f}".removesuffix(".0")
    return "0" if written == "-0" else written


def prose(words: str, **attributes: object) -> Markup:
    """Paragraphs, parted by empty lines; what stands in `backticks` is code."""
    return joined(tag("p", inline(part), **attributes) for part in words.split("\n\n") if part.strip())


def inline(words: str) -> Markup:
    return options_whole(Markup(_CODE.sub(r"<code>\1</code>", text(words))))


def options_whole(words: Markup) -> Markup:
    """Text in which no line ends within an option of the command line, `--task`."""
    return Markup(_OPTION.sub(r'<span class="option">\g<0></span>', words))


def data(value: Any, **attributes: object) -> Markup:
    """What a script reads, in the page: nothing in it can end the element or begin a comment."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        written = written.replace(character, f"\\u{ord(character):04x}")
    return tag("script", Markup(_UNFIT.sub("\ufffd", written)), type="application/json", **attributes)
