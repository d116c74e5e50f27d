"""Chunks become smaller if GPU memory runs out, and a single row that does not fit is an error."""

from __future__ import annotations

import pytest

from mercer._errors import DeviceMemoryError
from mercer._gpu.chunks import in_chunks

torch = pytest.importorskip("torch")


def test_every_row_is_done_once_in_order():
    done = []
    in_chunks(10, 4, lambda some: done.extend(range(some.start, some.stop)))
    assert done == list(range(10))


def test_half_of_a_chunk_that_does_not_fit():
    done = []

    def work(some):
        if some.stop - some.start > 3:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory.")
        done.append((some.start, some.stop))

    in_chunks(10, 8, work)
    assert [row for start, stop in done for row in range(start, stop)] == list(range(10))
    assert max(stop - start for start, stop in done) == 2


def test_a_row_that_does_not_fit_is_an_error():
    def work(some):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB.\nmore")

    with pytest.raises(DeviceMemoryError, match=r"single row .*9 GiB.*Free memory there") as error:
        in_chunks(4, 2, work)
    assert isinstance(error.value, MemoryError)


def test_nothing_to_do():
    in_chunks(0, 5, lambda some: pytest.fail("called"))
