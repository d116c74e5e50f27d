"""Make the page of a comparison from its sections."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
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
from mercer.comparison.sections.reproduction import reproduction
from mercer.comparison.time_limit import Budget, OutOfTime
from mercer.report import FirstScreen, Note, Page, Section
from mercer.report.wording import join_words

if TYPE_CHECKING:
    from mercer.comparison.comparison import Comparison

#: a function that makes a section; its name is the name of the section
SectionMaker = Callable[[View], Section | None]

#: sections in the order of the page: the answer, the reasons, the evidence
PAGE_SECTIONS: tuple[SectionMaker, ...] = (
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
    reproduction,
)
#: sections that fit models, made after the others, so that a time limit affects them first: the checks, the sections
#: on models fitted to all rows, the experiment
FITTING_SECTIONS: tuple[SectionMaker, ...] = (findings, coefficients, explorer, likelihoods, regions, proofs, curves)
#: sections that take no time, and are made despite a time limit
CHEAP_SECTIONS = (leaders, reproduction)
#: steps of the stage "page": one for each section, and one for the writing
PAGE_STEPS = len(PAGE_SECTIONS) + 1
#: names of sections in progress bars and notes, if they differ from those of their functions
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
    "reproduction": "settings",
}


def page(
    comparison: Comparison,
    *,
    budget: Budget | None = None,
    progress: Progress | None = None,
    sections: Sequence[SectionMaker] | None = None,
    fitting_sections: Sequence[SectionMaker] = FITTING_SECTIONS,
) -> Page:
    """Return the page of a comparison. A section that fails is left out, with a note.

    Parameters
    ----------
    comparison : Comparison
        The result of `compare`.
    budget : Budget, default=None
        Time limit of all sections; those that are not made in time are listed on the page.
    progress : callable, default=None
        Called as `progress("page", done, total, section)` before every section; the last step is the writing.
    sections : sequence of callables, default=None
        Functions that make the sections, in the order of the page; by default `PAGE_SECTIONS`.
    fitting_sections : sequence of callables, default=FITTING_SECTIONS
        Sections that are made after the others, in this order, because they fit models.

    Returns
    -------
    page : Page
        Sections of plain records, for `mercer.report.page.page_html`.
    """
    view = View(comparison, budget=budget or Budget(None))
    report = progress or ignore_progress
    sections = PAGE_SECTIONS if sections is None else sections
    steps = len(sections) + 1

    def turn(write: SectionMaker) -> int:
        return 1 + fitting_sections.index(write) if write in fitting_sections else 0

    made: dict[str, Section | None] = {}
    left_out: dict[str, list[str]] = {}
    first: FirstScreen | None = None
    _find_drivers(view)
    for number, write in enumerate(sorted(sections, key=turn)):
        name = write.__name__
        report("page", number, steps, LABELS.get(name, name))
        try:
            made[name] = _make_section(view, write)
        except OutOfTime as reason:
            why = f"not made, because {view.budget.ended} ({reason})."
            left_out.setdefault(why, []).append(LABELS.get(name, name))
        except Exception as failure:
            left_out.setdefault(f"{type(failure).__name__}: {failure}", []).append(LABELS.get(name, name))
        if write is findings:  # it needs the checks, and must be made before the sections that take long
            first = _make_first_screen(view, made, left_out)
    report("page", steps - 1, steps, "writing")
    first = first or _make_first_screen(view, made, left_out)
    in_order = (made.get(write.__name__) for write in sections)
    complete = [section for section in in_order if section is not None and section.blocks]
    if left_out:
        notes = tuple(Note(f"{join_words(names, len(names))}: {why}") for why, names in left_out.items())
        complete.append(Section("left-out", "What is not on this page", notes, "These parts were not made."))
    return Page(title(view), comparison.title, tuple(complete), _footer(comparison), first)


def _find_drivers(view: View) -> None:
    """Compute the drivers of the first screen, so that it does not lack them because other sections took the time."""
    verdict = view.comparison.verdict()
    shown = verdict.best or verdict.top
    if shown is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about fits that the comparison has reported
        view.drivers_in_time(shown)


def _make_first_screen(
    view: View, made: dict[str, Section | None], left_out: dict[str, list[str]]
) -> FirstScreen | None:
    """Make the first screen; a failure is listed with the sections that were left out."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about fits that the comparison has reported
            return answer(view, made)
    except Exception as failure:
        left_out.setdefault(f"{type(failure).__name__}: {failure}", []).append("answer")
        return None


def _make_section(view: View, write: SectionMaker) -> Section | None:
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
