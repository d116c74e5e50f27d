"""All sections of a comparison's page."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from mercer.application.model_cards import installed_versions
from mercer.comparison._cross_validation import Progress, ignore_progress
from mercer.comparison._view import View
from mercer.comparison.sections.answer import answer, title
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
from mercer.comparison.time_limit import Budget, OutOfTime
from mercer.report import FirstScreen, Note, Page, Section

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
#: those that fit models again, which are made after the others, so that a limit of time cuts these off: first the
#: checks, then what rests on the models as they are, last the experiment
FITTING_SECTIONS = (findings, coefficients, explorer, likelihoods, regions, proofs, curves)
#: those that only repeat what is known: they take no time, and a page without them would be none
CHEAP_SECTIONS = (leaders, reproduced)
#: steps of the stage "page": each section, and the writing
PAGE_STEPS = len(SECTIONS) + 1
#: sections as a progress bar and notes name them, where their own names would not be understood
LABELS = {
    "leaders": "leaderboard",
    "findings": "checks",
    "overview": "columns",
    "ranking": "ROC curves",
    "curves": "learning curves",
    "explorer": "explanations of rows",
    "regions": "decision regions",
    "outlying": "unusual rows",
    "proofs": "certificates",
    "reproduced": "settings",
}


def page(comparison: Comparison, *, budget: Budget | None = None, progress: Progress | None = None) -> Page:
    """Everything that there is to say about a comparison. A section that fails is left out, and a note says so.

    Parameters
    ----------
    comparison : Comparison
        What `compare` returned.
    budget : Budget, default=None
        Seconds that all sections may take; what is not done in time is left out by name.
    progress : callable, default=None
        Called as `progress("page", done, total, section)` before every section, one of `total` being for the writing.

    Returns
    -------
    page : Page
        Sections of plain records, for `mercer.report.page.page_html`.
    """
    view = View(comparison, budget=budget or Budget(None))
    tell = progress or ignore_progress
    made: dict[str, Section | None] = {}
    left_out: list[Note] = []
    first: FirstScreen | None = None
    for number, write in enumerate(sorted(SECTIONS, key=_section_turn)):
        name = write.__name__
        tell("page", number, PAGE_STEPS, LABELS.get(name, name))
        try:
            made[name] = _make_section(view, write)
        except OutOfTime as reason:
            left_out.append(Note(f"{LABELS.get(name, name)}: not made, because {view.budget.ended} ({reason})."))
        except Exception as failure:
            left_out.append(Note(f"{LABELS.get(name, name)}: {type(failure).__name__}: {failure}"))
        if write is findings:  # before the sections that take long: it needs the checks, and must be on the page
            first = _make_first_screen(view, made, left_out)
    tell("page", PAGE_STEPS - 1, PAGE_STEPS, "writing")
    first = first or _make_first_screen(view, made, left_out)
    inside = (made.get(write.__name__) for write in SECTIONS)
    sections = [section for section in inside if section is not None and section.blocks]
    if left_out:
        sections.append(Section("left-out", "What is not on this page", tuple(left_out), "These parts were not made."))
    return Page(title(view), comparison.title, tuple(sections), _footer(comparison), first)


def _make_first_screen(view: View, made: dict[str, Section | None], left_out: list[Note]) -> FirstScreen | None:
    """The first screen; a failure is listed with the sections that were not made."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about fits that the comparison has reported
            return answer(view, made)
    except Exception as failure:
        left_out.append(Note(f"answer: {type(failure).__name__}: {failure}"))
        return None


def _section_turn(write: Callable[[View], Section | None]) -> int:
    """When a section is made."""
    return 1 + FITTING_SECTIONS.index(write) if write in FITTING_SECTIONS else 0


def _make_section(view: View, write: Callable[[View], Section | None]) -> Section | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about fits that the comparison has reported
        if write in CHEAP_SECTIONS:
            return write(view)
        with view.budget.cutting():
            return write(view)


def _footer(comparison: Comparison) -> tuple[str, ...]:
    versions = ", ".join(f"{name} {number}" for name, number in installed_versions().items())
    command = comparison.settings.get("command")
    return (*([str(command)] if command else []), f"Made by mercer in {comparison.seconds:.1f} s with {versions}.")
