"""Processes of their own, in which nothing is imported or compiled yet."""

from __future__ import annotations

import os
import subprocess
import sys


def printed(script: str, **environment: str) -> str:
    """What a script prints in a process with these variables beside the usual ones."""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
