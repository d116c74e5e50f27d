"""Passes on the threads of this process."""

from __future__ import annotations

from mercer._threads import ordered_stream
from mercer.engines.passes import Pass


class Threads:
    """Pieces are read and summarised on several threads, and merged in their order as they come.

    The next pieces are asked for while others are worked on; no more of them than there are threads, and two, are in
    memory at once.
    """

    described = None

    def fold(self, going: Pass) -> None:
        """See `Engine.fold`."""
        with going.pieces() as pieces:
            for part in ordered_stream(going.fold.of_piece, pieces):
                going.add(part)
                going.tell()
