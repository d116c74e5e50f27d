"""Processes of their own, in which nothing is imported or compiled yet."""

from __future__ import annotations

import os
import subprocess
import sys

HELPER = """
from mercer._jit import jit

@jit
def helper(x):
    return x + {constant}
"""
CALLER = """
from mercer._jit import jit
from mercer._jit.helper import helper

@jit
def caller(x):
    return 10 * helper(x)
"""
RUN = """
import json
from mercer._jit.caller import caller
value = caller(1.0)
stats = getattr(caller.dispatcher, "stats", None)
print(json.dumps([value, sum(stats.cache_hits.values()) if stats else 0]))
"""


def printed(script: str, **environment: str) -> str:
    """Return the output of a script in a process with further environment variables."""
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
