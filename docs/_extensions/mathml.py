"""Render formulas as MathML, which browsers display without scripts."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError


def converted(node: nodes.Element, *, as_block: bool) -> str:
    formula = node.astext()
    try:
        # the bars of a norm are stretched by default, and with an exponent browsers let the closing one sink
        return str(tex2mathml(formula, as_block=as_block)).replace("<mo>‖</mo>", '<mo stretchy="false">‖</mo>')
    except MathError as reason:
        where = f"{node.source or 'a page'}, line {node.line or '?'}"
        raise ExtensionError(
            f"{where}: the formula {formula!r} cannot become MathML ({reason}); use simpler LaTeX, or Unicode."
        ) from None


def visit_inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(converted(node, as_block=False))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math">{converted(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
