"""HTML and SVG from small pieces, each escaped unless it already is markup."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from html import escape
from typing import Any

#: characters that a document must not contain: controls, and surrogates, which cannot be encoded as UTF-8
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_VOID = {"meta", "link", "input", "br", "wbr"}
_CODE = re.compile("`([^`]+)`")
#: an option of the command line, in text
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


class Markup(str):
    """Text that is HTML, made by `tag` and never by a user."""

    __slots__ = ()


def escape_text(words: object) -> Markup:
    """Return text with its special characters escaped; markup stays as it is."""
    if isinstance(words, Markup):
        return words
    return Markup(escape(_UNFIT.sub("\ufffd", str(words)), quote=True))


def join_markup(pieces: Iterable[object]) -> Markup:
    """Return pieces in sequence, each escaped unless it is markup."""
    return Markup("".join(map(escape_text, pieces)))


def tag(name: str, /, *content: object, **attributes: object) -> Markup:
    """Return an element: `tag("th", "name", scope="col", class_="wide")`.

    In names of attributes, `_` stands for `-`, and a final `_` is removed. Attributes that are None or False are left
    out, and those that are True have no value.
    """
    opening = name + "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{opening}>")
    return Markup(f"<{opening}>{join_markup(content)}</{name}>")


def _attribute(key: str, value: object) -> str:
    if value is None or value is False:
        return ""
    key = key.rstrip("_").replace("_", "-")
    return f" {key}" if value is True else f' {key}="{escape_text(fmt(value) if isinstance(value, float) else value)}"'


def fmt(number: float) -> str:
    """Return a coordinate of a drawing, rounded to tenths of a pixel."""
    written = f"{number:.1f}".removesuffix(".0")
    return "0" if written == "-0" else written


def paragraphs(words: str, **attributes: object) -> Markup:
    """Return paragraphs, which are separated by empty lines; text in `backticks` is code."""
    return join_markup(tag("p", inline(part), **attributes) for part in words.split("\n\n") if part.strip())


def inline(words: str) -> Markup:
    """Return text in which `backticks` enclose code."""
    return keep_options_whole(Markup(_CODE.sub(r"<code>\1</code>", escape_text(words))))


def keep_options_whole(words: Markup) -> Markup:
    """Return text in which lines do not break within options of the command line, such as `--task`."""
    return Markup(_OPTION.sub(r'<span class="option">\g<0></span>', words))


def json_script(value: Any, **attributes: object) -> Markup:
    """Return data for scripts as JSON in the page, in which nothing can end the element or begin a comment."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        written = written.replace(character, f"\\u{ord(character):04x}")
    return tag("script", Markup(_UNFIT.sub("\ufffd", written)), type="application/json", **attributes)
