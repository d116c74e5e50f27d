"""Sections of the page of a comparison, as plain records."""

from mercer.comparison.sections.whole import page

__all__ = ["page"]
