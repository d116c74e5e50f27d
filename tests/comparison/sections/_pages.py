"""Helpers for tests of sections: a linear model of any table, and access to a section and its blocks."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import make_pipeline

from mercer import TableFeatures
from mercer.report import Page, Section


def linear(model: Any, **options: Any) -> Any:
    return make_pipeline(TableFeatures(unseen="ignore", **options), model)


def section(made: Page, name: str) -> Section:
    return next(each for each in made.sections if each.id == name)


def blocks(of: Section, kind: Any) -> list[Any]:
    return [block for block in of.blocks if isinstance(block, kind)]
