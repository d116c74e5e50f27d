"""Notes: framed paragraphs with a level, a code and a remedy."""

from __future__ import annotations

from mercer.report.markup import Markup, inline, tag
from mercer.report.records import Note

#: the level as a word and a sign, so that it does not depend on colour
NOTE_LABELS = {"info": ("Note", "i"), "good": ("Good", "✓"), "warning": ("Warning", "!"), "bad": ("Problem", "×")}


def note_html(note: Note) -> Markup:
    word, sign = NOTE_LABELS[note.level]
    code = tag("code", note.code, class_="code") if note.code else Markup()
    head = tag("p", tag("strong", word), code, class_="head")
    remedy = tag("p", tag("strong", "What to do: "), inline(note.remedy), class_="remedy") if note.remedy else Markup()
    mark = tag("span", sign, class_="sign", aria_hidden="true")
    words = tag("div", head, tag("p", inline(note.text)), remedy)
    return tag("div", mark, words, class_=f"note {note.level}", role="note")
