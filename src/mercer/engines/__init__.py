"""Where a reduction over a source runs."""

from __future__ import annotations

from mercer.engines.here import reduce

__all__ = ["reduce"]
