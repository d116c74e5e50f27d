"""A killed fit is resumed, and has the same result."""

from __future__ import annotations

import json
import operator
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pytest

from mercer import CountVectorizer, GaussianNB, LogisticRegression, RandomFourierFeatures, checkpointed, load, save
from mercer._errors import CheckpointError, CheckpointWarning, WriteError
from mercer.data import open as open_source
from mercer.data.sources.memory import MemorySource
from mercer.engines import fold
from mercer.files.checkpoints import LEDGER, LOCK, Checkpoint

ROWS = 100


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 3))
    return X, (X[:, 0] + rng.normal(size=ROWS) > 0).astype(int)


class Killed(Exception):
    """The exception that stops a fit in the tests."""


def killed_after(chunks):
    """Return a function of chunks that raises an error after some of them."""
    calls = []

    def chunk_or_death(chunk):
        calls.append(chunk.n_rows)
        if len(calls) > chunks:
            raise Killed
        return chunk

    return chunk_or_death, calls


@pytest.mark.parametrize("died_at", [1, 5, 12, 18])
def test_a_killed_fit_resumes_and_reaches_the_same_result(rows, tmp_path, died_at):
    source = MemorySource(*rows, rows=10)
    counted, all_chunks = killed_after(10**9)
    expected = LogisticRegression().fit(source.map(counted))
    dies, _ = killed_after(died_at)
    with pytest.raises(Killed), checkpointed(tmp_path / "fit", every=0.0):
        LogisticRegression().fit(source.map(dies))
    lives, calls = killed_after(10**9)
    with checkpointed(tmp_path / "fit", every=0.0):
        model = LogisticRegression().fit(source.map(lives))
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    np.testing.assert_array_equal(model.intercept_, expected.intercept_)
    assert len(calls) < len(all_chunks) or died_at == 1  # not all of it was read again
    assert not (tmp_path / "fit").exists()


KILLED = """
import sys, time
import numpy as np
from mercer import GaussianNB, checkpointed
from mercer.data.sources.memory import MemorySource

X = np.load(sys.argv[1])

def slow(chunk):
    time.sleep(0.05)
    return chunk

with checkpointed(sys.argv[2], every=0.0):
    model = GaussianNB().fit(MemorySource(X[:, :3], X[:, 3], rows=1).map(slow))
np.save(sys.argv[3], np.concatenate([model.theta_, model.var_]))
"""


def test_a_fit_resumes_after_kill_9(rows, tmp_path):
    X, y = rows
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    arguments = [sys.executable, "-c", KILLED, *(str(tmp_path / name) for name in ("rows.npy", "fit", "answer.npy"))]
    fit = subprocess.Popen(arguments)
    begun = tmp_path / "fit" / "pass-0000-begun.mercer"
    deadline = time.monotonic() + 60
    while not begun.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(fit.pid, signal.SIGKILL)
    assert fit.wait() == -signal.SIGKILL
    assert begun.exists()
    assert not (tmp_path / "answer.npy").exists()
    subprocess.run(arguments, check=True)
    whole = GaussianNB().fit(MemorySource(X, y.astype(float), rows=1))
    np.testing.assert_array_equal(np.load(tmp_path / "answer.npy"), np.concatenate([whole.theta_, whole.var_]))


SOURCE = MemorySource(np.eye(2))


def test_results_of_passes_are_restored(tmp_path):
    with Checkpoint(tmp_path / "fit", every=0.0) as journal:
        assert journal.find_result(0, SOURCE) is None
        assert journal.find_partial_result(0, SOURCE) is None
        journal.keep(0, SOURCE, ({"sum": np.arange(3.0)}, 3), finished=False)
    with Checkpoint(tmp_path / "fit") as journal:
        result, pieces = journal.find_partial_result(0, SOURCE)
        assert pieces == 3
        np.testing.assert_array_equal(result["sum"], np.arange(3.0))
        journal.keep(0, SOURCE, 7.5, finished=True)
    with Checkpoint(tmp_path / "fit") as journal:
        assert journal.find_result(0, SOURCE) == 7.5
        assert journal.find_partial_result(0, SOURCE) is None


def test_results_of_passes_over_other_data_or_of_another_fit_are_not_restored(tmp_path):
    with Checkpoint(tmp_path / "fit") as journal:
        journal.keep(0, SOURCE, 7.5, finished=True)
    with Checkpoint(tmp_path / "fit") as journal:
        assert journal.find_result(0, MemorySource(2 * np.eye(2))) is None
        journal.enter(GaussianNB(), SOURCE)
        assert journal.find_result(0, SOURCE) is None


def test_partial_results_are_written_only_at_intervals(tmp_path):
    with Checkpoint(tmp_path / "fit", every=1000.0) as journal:
        journal.keep(0, SOURCE, 1.0, finished=False)
        assert journal.find_partial_result(0, SOURCE) is None
        journal.keep(0, SOURCE, 1.0, finished=True)
        assert journal.find_result(0, SOURCE) == 1.0


def test_a_full_disk_leaves_the_last_checkpoint_and_the_fit_continues(tmp_path):
    """The limit of the file size has the effect of a full disk."""
    journal = Checkpoint(tmp_path / "fit", every=0.0)
    journal.keep(0, SOURCE, (np.arange(10.0), 1), finished=False)
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
        with pytest.warns(CheckpointWarning, match="the last one stays"):
            journal.keep(0, SOURCE, (np.arange(10_000.0), 2), finished=False)
        journal.keep(0, SOURCE, (np.arange(10_000.0), 3), finished=False)  # and says so once
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    result, pieces = journal.find_partial_result(0, SOURCE)
    assert pieces == 1
    np.testing.assert_array_equal(result, np.arange(10.0))
    assert {file.name for file in (tmp_path / "fit").iterdir()} <= {"pass-0000-begun.mercer", LEDGER, LOCK}


def test_a_removed_folder_does_not_end_the_fit(rows, tmp_path):
    X, y = rows
    source = MemorySource(X, y, rows=10)
    model = LogisticRegression()
    with checkpointed(tmp_path / "fit"):
        GaussianNB().fit(source)
        shutil.rmtree(tmp_path / "fit")
        with pytest.warns(CheckpointWarning, match="continues without"):
            model.fit(source)
    np.testing.assert_array_equal(model.coef_, LogisticRegression().fit(source).coef_)


def test_checkpoints_of_other_fits_are_rejected(rows, tmp_path):
    X, y = rows
    source = MemorySource(X, y, rows=10)
    dies, _ = killed_after(5)
    with pytest.raises(Killed):
        GaussianNB().fit(source.map(dies), checkpoint=tmp_path / "fit")
    with pytest.raises(CheckpointError, match="of a GaussianNB, not of a LogisticRegression"):
        LogisticRegression().fit(source, checkpoint=tmp_path / "fit")
    with pytest.raises(CheckpointError, match="other parameters"):
        GaussianNB(var_smoothing=0.1).fit(source, checkpoint=tmp_path / "fit")
    with pytest.raises(CheckpointError, match="other data"):
        GaussianNB().fit(MemorySource(X[1:], y[1:]), checkpoint=tmp_path / "fit")
    lives, _ = killed_after(10**9)
    assert GaussianNB().fit(source.map(lives), checkpoint=tmp_path / "fit").plan_.passes == 1


@pytest.mark.parametrize("state", [1, None])
def test_the_same_rows_through_other_features_are_rejected(rows, tmp_path, state):
    """This includes features without a random_state, which would differ between passes."""
    source = MemorySource(*rows, rows=10)
    dies, _ = killed_after(15)
    lives, _ = killed_after(10**9)

    def fitted(state, done):
        features = RandomFourierFeatures(n_components=4, random_state=state).fit(rows[0])
        return LogisticRegression().fit(features.transform(source).map(done), checkpoint=tmp_path / "fit")

    first = None if state is None else 0
    with pytest.raises(Killed):
        fitted(first, dies)
    with pytest.raises(CheckpointError, match=r"other features of 100 rows in memory: give .* a random_state"):
        fitted(state, lives)
    if first is not None:
        assert fitted(first, lives).plan_.passes > 1


def test_another_version_is_rejected(rows, tmp_path, monkeypatch):
    """Another version may cut the data into other pieces."""
    dies, _ = killed_after(5)
    source = MemorySource(*rows, rows=10).map(dies)
    with pytest.raises(Killed):
        GaussianNB().fit(source, checkpoint=tmp_path / "fit")
    monkeypatch.setattr("mercer.__version__", "0.0.1")
    with pytest.raises(CheckpointError, match=r"by another version of mercer than 0\.0\.1"):
        GaussianNB().fit(source, checkpoint=tmp_path / "fit")


def test_a_fit_with_parameters_that_cannot_be_saved_has_no_checkpoint(tmp_path):
    source = open_source(pa.table({"t": ["one two", "two three"]}))
    with pytest.raises(CheckpointError, match="The checkpoint of this CountVectorizer could not be identified"):
        CountVectorizer(tokenizer=lambda text: text.split()).fit(source, checkpoint=tmp_path / "fit")


def test_an_incomplete_ledger_is_ignored(rows, tmp_path):
    (tmp_path / "fit").mkdir()
    (tmp_path / "fit" / f".{LEDGER}.0123abcd.part").write_text("{")
    GaussianNB().fit(MemorySource(*rows), checkpoint=tmp_path / "fit")
    assert not (tmp_path / "fit").exists()


def test_the_home_folder_is_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    with checkpointed("~/fit"):
        assert (tmp_path / "fit" / LEDGER).exists()


def test_folders_that_are_not_checkpoints_are_rejected(tmp_path):
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(CheckpointError, match="is not a checkpoint"), checkpointed(tmp_path):
        pass
    assert (tmp_path / "precious.txt").read_text() == "mine"
    with pytest.raises(WriteError, match="cannot be created"), checkpointed(tmp_path / "no" / "such" / "folder"):
        pass
    (tmp_path / "fit").mkdir()
    for nonsense in (json.dumps({"fits": 3}), "[" * 100_000):
        (tmp_path / "fit" / LEDGER).write_text(nonsense)
        with pytest.raises(CheckpointError, match="cannot be read"):
            Checkpoint(tmp_path / "fit")


def total(chunk):
    return chunk.X.sum()


def two_passes(X):
    fold(total, MemorySource(X, rows=30), operator.add)
    assert fold(total, MemorySource(X[:30]), operator.add) == pytest.approx(X[:30].sum())
    raise Killed


def test_several_passes_have_different_files(rows, tmp_path):
    for _ in range(2):
        with pytest.raises(Killed), checkpointed(tmp_path / "fit"):
            two_passes(rows[0])


OTHER = """
import sys
import numpy as np
from mercer import LogisticRegression, checkpointed
from mercer.data.sources.memory import MemorySource

rng = np.random.default_rng(int(sys.argv[2]))
X = rng.normal(size=(100, 3))
source = MemorySource(X, (X[:, 0] > 0).astype(int), rows=10)
with checkpointed(sys.argv[1], every=0.0):
    print("in", flush=True)
    sys.stdin.readline()
    print(LogisticRegression().fit(source).coef_.tolist(), flush=True)
"""


def test_a_second_process_in_the_same_folder_is_rejected_until_the_first_is_done(rows, tmp_path):
    def begun(seed):
        command = [sys.executable, "-c", OTHER, str(tmp_path / "fit"), str(seed)]
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    first = begun(0)
    assert first.stdout.readline() == "in\n"
    second = begun(1)
    errors = second.communicate("\n")[1]
    assert second.returncode == 1
    assert f"The checkpoint in {str(tmp_path / 'fit')!r} is in use by process {first.pid}." in errors
    with pytest.raises(CheckpointError, match=f"in use by process {first.pid}"), checkpointed(tmp_path / "fit"):
        pass
    first.communicate("\n")
    assert first.returncode == 0
    with checkpointed(tmp_path / "fit"):
        GaussianNB().fit(MemorySource(*rows))


def test_a_folder_is_used_by_one_fit_of_a_process(tmp_path):
    with checkpointed(tmp_path / "fit"):
        with (
            pytest.raises(CheckpointError, match="in use by another fit of this process"),
            checkpointed(tmp_path / "fit"),
        ):
            pass
        assert (tmp_path / "fit" / LEDGER).exists()


def test_a_folder_taken_over_by_another_process_is_left_alone(rows, tmp_path):
    """The folder was removed while it was in use, and another process has created it again."""
    with checkpointed(tmp_path / "fit"):
        shutil.rmtree(tmp_path / "fit")
        other = Checkpoint(tmp_path / "fit")
        other.keep(0, SOURCE, 7.5, finished=True)
        with pytest.warns(CheckpointWarning, match="continues without"):
            GaussianNB().fit(MemorySource(*rows))
    assert (tmp_path / "fit" / LOCK).exists()
    assert other.find_result(0, SOURCE) == 7.5


def test_other_files_in_the_folder_are_kept(rows, tmp_path):
    with checkpointed(tmp_path / "run"):
        model = GaussianNB().fit(MemorySource(*rows))
        save(model, tmp_path / "run" / "model.mercer")
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["model.mercer"]
    np.testing.assert_array_equal(load(tmp_path / "run" / "model.mercer").theta_, model.theta_)


@pytest.mark.parametrize("change", ["value", "target", "frame"])
def test_a_single_changed_value_makes_the_data_different(rows, tmp_path, change):
    """All values count, not only those of a sample."""
    X, y = np.tile(rows[0], (100, 1)), np.tile(rows[1], 100)

    def opened(X, y):
        return (
            open_source(pa.table([*X.T, y], [*"abc", "y"]), target="y", rows=10)
            if change == "frame"
            else MemorySource(X, y)
        )

    dies, _ = killed_after(0)
    with pytest.raises(Killed):
        GaussianNB().fit(opened(X, y).map(dies), checkpoint=tmp_path / "fit")
    X, y = X.copy(), y.copy()
    if change == "target":
        y[4321] = 1 - y[4321]
    else:
        X[4321, 1] += 1e-3
    lives, _ = killed_after(10**9)
    with pytest.raises(CheckpointError, match="other data"):
        GaussianNB().fit(opened(X, y).map(lives), checkpoint=tmp_path / "fit")


def test_passes_without_a_fit_are_identified_by_their_data(rows, tmp_path):
    X = rows[0]
    with pytest.raises(Killed), checkpointed(tmp_path / "fit"):
        two_passes(X)
    with checkpointed(tmp_path / "fit"):
        assert fold(total, MemorySource(2 * X, rows=30), operator.add) == pytest.approx(2 * X.sum())
