"""One line for a cause, however often it comes."""

from __future__ import annotations

import logging

import pytest

from mercer.serve._run import OncePerCause


def fail(logger: logging.Logger, value: int) -> None:
    try:
        raise ZeroDivisionError(value)
    except ZeroDivisionError:
        logger.exception("The model failed.")


def test_a_cause_is_written_once_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    logger, once = logging.getLogger("tests.serving.once"), OncePerCause(pause=0.2)
    logger.addFilter(once)
    for j in range(100):
        logger.warning("Request %d is not HTTP.", j)
        fail(logger, j)
        logger.info("Started.")
    logger.warning("Another.")
    written = [record.getMessage() for record in caplog.records if record.levelno > logging.INFO]
    assert written == ["Request 0 is not HTTP.", "The model failed.", "Another."]
    caplog.clear()
    once.pause = 0
    logger.warning("Request %d is not HTTP.", 100)
    logger.warning("Request %d is not HTTP.", 101)
    assert [record.getMessage() for record in caplog.records] == [
        "Request 100 is not HTTP. (99 more of this kind were left out)",
        "Request 101 is not HTTP.",
    ]
