"""Passes on the threads of this process."""

from __future__ import annotations

import itertools
from typing import Any

from mercer._threads import ordered_stream
from mercer.data.sources.base import Source
from mercer.engines.running import Run


class Threads:
    """Pieces are read and summarised on several threads, and merged in their order as they come."""

    def fold(self, fold: Any, source: Source, run: Run, number: int) -> Any:
        """See `Engine.fold`."""
        done, total = (0, None) if run.journal is None else run.journal.begun(number)
        run.pieces, run.rows = done, 0
        for part in ordered_stream(fold.of_piece, itertools.islice(source.pieces(), done, None)):
            total = fold.joined(total, part.result)
            run.pieces += 1
            run.rows += part.rows
            run.skipped.extend(part.skipped)
            if run.journal is not None:
                run.journal.keep(number, run.pieces, total, finished=False)
            if run.told is not None:
                run.told(number, run.pieces)
        return total
