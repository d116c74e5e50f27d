"""All sections of a comparison's page."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from mercer.comparison.checking.view import View
from mercer.comparison.sections.calibration import calibration
from mercer.comparison.sections.coefficients import coefficients
from mercer.comparison.sections.curves import curves
from mercer.comparison.sections.decisions import decisions
from mercer.comparison.sections.densities import densities
from mercer.comparison.sections.explorer import explorer
from mercer.comparison.sections.findings import findings
from mercer.comparison.sections.leaders import leaders
from mercer.comparison.sections.likelihoods import likelihoods
from mercer.comparison.sections.outlying import outlying
from mercer.comparison.sections.overview import overview
from mercer.comparison.sections.predictions import predictions
from mercer.comparison.sections.proofs import proofs
from mercer.comparison.sections.ranking import ranking
from mercer.comparison.sections.regions import regions
from mercer.comparison.sections.reproduced import reproduced
from mercer.report import Note, Page, Section

if TYPE_CHECKING:
    from mercer.comparison.comparison import Comparison

#: in the order of the page: first the answer, then why, then what it rests on
SECTIONS: tuple[Callable[[View], Section | None], ...] = (
    leaders,
    findings,
    overview,
    decisions,
    calibration,
    ranking,
    predictions,
    curves,
    explorer,
    coefficients,
    likelihoods,
    regions,
    densities,
    outlying,
    proofs,
    reproduced,
)


def page(comparison: Comparison, *, title: str = "Which model?") -> Page:
    """Everything that there is to say about a comparison. A section that fails is left out, and a note says so.

    Parameters
    ----------
    comparison : Comparison
        What `compare` returned.
    title : str, default="Which model?"
        Heading of the page.

    Returns
    -------
    page : Page
        Sections of plain records, for `mercer.report.page.page_html`.
    """
    view = View(comparison)
    made, left_out = [], []
    for write in SECTIONS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about fits that the comparison has told of
                section = write(view)
        except Exception as failure:
            left_out.append(Note(f"{write.__name__}: {type(failure).__name__}: {failure}"))
            continue
        if section is not None and section.blocks:
            made.append(section)
    if left_out:
        made.append(Section("left-out", "Left out", tuple(left_out), "These sections could not be made."))
    return Page(title, comparison.title, tuple(made), _footer(comparison))


def _footer(comparison: Comparison) -> tuple[str, ...]:
    from mercer.comparison.sections.reproduced import installed

    told = ", ".join(f"{name} {number}" for name, number in installed().items())
    command = comparison.settings.get("command")
    return (*([str(command)] if command else []), f"Made by mercer in {comparison.seconds:.1f} s with {told}.")
