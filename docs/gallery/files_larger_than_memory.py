"""
Out of core: rows that need not fit into memory
===============================================

``mercer.data.open`` makes a source of a folder, and every ``fit`` takes one in place of X and y. Rows are read piece by
piece, and only sums are kept: the memory of a fit does not grow with the files, while that of reading them all at once
does. The answer is the same. Files and pieces are small here, so that this runs in seconds.

Read on: :doc:`/guides/big-files`.
"""

import tempfile
import tracemalloc
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import mercer
from mercer import GaussianNB


def write(path, rng, n=10_000):
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 10)) + 0.3 * y[:, None]
    pq.write_table(pa.table({**{f"x{j}": X[:, j] for j in range(10)}, "y": y}), path)


def streamed(paths):
    return GaussianNB().fit(mercer.data.open(paths, target="y", rows=2500))


def at_once(paths):
    table = pq.read_table(paths).to_pandas()
    return GaussianNB().fit(table.drop(columns="y"), table["y"])


def peak_megabytes(fit, paths):
    """Of arrays of NumPy, which Python traces, and of Arrow, which has a pool of its own."""
    pool, usual = pa.proxy_memory_pool(pa.default_memory_pool()), pa.default_memory_pool()
    pa.set_memory_pool(pool)
    tracemalloc.start()
    model = fit(paths)
    traced = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    pa.set_memory_pool(usual)
    return (traced + pool.max_memory()) / 1e6, model


counts, rng, peaks = (2, 4, 8, 12, 16), np.random.default_rng(0), {streamed: [], at_once: []}
with tempfile.TemporaryDirectory() as folder:
    paths = [str(Path(folder) / f"part-{number:02}.parquet") for number in range(max(counts))]
    for path in paths:
        write(path, rng)
    streamed(paths[:1])  # what is compiled or imported first is not counted
    for count in counts:
        for fit, of_fit in peaks.items():
            peak, model = peak_megabytes(fit, paths[:count])
            of_fit.append(peak)
    assert np.allclose(streamed(paths).theta_, at_once(paths).theta_, rtol=1e-10, atol=1e-12)
assert max(peaks[streamed]) < 1.5 * min(peaks[streamed])
assert peaks[at_once][-1] > 4 * peaks[at_once][0]

plt.style.use("tableau-colorblind10")
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
rows = 10 * np.array(counts)
ax.plot(rows, peaks[at_once], "s--", color="C1", label="read at once")
ax.plot(rows, peaks[streamed], "o-", color="C0", label="from a source")
ax.set(xlabel="rows in the files, in thousands", ylabel="most memory during the fit, in MB", ylim=(0, None))
ax.set_title("The memory of a fit does not grow with the files")
ax.legend(frameon=False)
plt.show()
