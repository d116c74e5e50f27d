"""Reductions over rows in memory or of a source, and the engines on which they run."""

from __future__ import annotations

from mercer.engines.engines import engine
from mercer.engines.folding import fold
from mercer.engines.reducing import reduce

__all__ = ["engine", "fold", "reduce"]
