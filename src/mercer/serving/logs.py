"""A log that an attack cannot fill."""

from __future__ import annotations

import logging
import time
import traceback

#: seconds after which the same warning is written again
PAUSE = 60.0
#: causes that are remembered
MOST = 1000


class OncePerCause(logging.Filter):
    """Warnings and errors of one cause, once a minute, with the number of those that were left out.

    A cause is the text before it is filled in, and for an exception its type and the line that raised it.
    """

    def __init__(self, pause: float = PAUSE) -> None:
        super().__init__()
        self.pause = pause
        self.causes: dict[object, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        now, cause = time.monotonic(), _cause(record)
        last, left_out = self.causes.get(cause, (None, 0))
        if last is not None and now - last < self.pause:
            self.causes[cause] = last, left_out + 1
            return False
        if len(self.causes) >= MOST:
            self.causes.clear()
        self.causes[cause] = now, 0
        if left_out:
            record.msg, record.args = f"{record.getMessage()} ({left_out:,} more of this kind were left out)", ()
        return True


def _cause(record: logging.LogRecord) -> object:
    first = str(record.msg).partition("\n")[0]
    if not record.exc_info or record.exc_info[1] is None:
        return record.name, first
    frames = traceback.extract_tb(record.exc_info[2])
    return record.name, first, record.exc_info[0], (frames[-1].filename, frames[-1].lineno) if frames else None
