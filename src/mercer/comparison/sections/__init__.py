"""What the page of a comparison says, section by section, as plain records."""

from mercer.comparison.sections.whole import page

__all__ = ["page"]
