"""Tests of changed model files: they are rejected, or give a model if the format was respected."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from select import select
from typing import Any, NamedTuple

import pytest

from mercer._tags import indexed_modules
from mercer.base import scikit_learn
from mercer.files._arrays import STORED_TYPES
from tests.files._cases import CASES
from tests.files._forged import octets_of, signed, taken_apart
from tests.files._golden import GOLDEN, VERSION
from tests.fuzz._mutate import SEEDS, SIZES, damaged, in_json

FILES = GOLDEN / f"v{VERSION}"
WORDS = [*b'" { } [ , null 1e999 NaN "sha256" "model" mercer'.split(b" "), b"\0" * 8, b"\xff" * 8]
#: names that a file may ask for, and that it may not
NAMES = [*indexed_modules(), *scikit_learn.STORED_FIELDS, "os.system", "builtins.eval"]
#: seconds that a file of a few kilobytes may take
PATIENCE = 60.0

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded and looked at as Linux has it")


class Changed(NamedTuple):
    """The bytes of a file, and whether they are those that `save` wrote."""

    octets: bytes
    whole: bool


class Loader:
    """The process that loads; a new one after one that went down."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def __call__(self, path: Path) -> dict[str, Any]:
        process = self._process or self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{path}\n")
        process.stdin.flush()
        if not select([process.stdout], [], [], PATIENCE)[0]:
            self.stop()
            return {"outcome": "hung", "imported": [], "events": []}
        line = process.stdout.readline()
        if not line:
            code = process.wait()
            self.stop()
            return {"outcome": f"went down with {code}", "imported": [], "events": []}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _started(self) -> subprocess.Popen[str]:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz._loader", str(FILES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
            env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        return self._process

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


@pytest.fixture(scope="module")
def loader() -> Iterator[Loader]:
    loading = Loader()
    yield loading
    loading.stop()


@cache
def golden() -> list[bytes]:
    return [path.read_bytes() for path in sorted(FILES.glob("*.mercer"))]


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Random, bool], bytes]:
    """A file to begin with: of a model of any kind where there is time to fit it."""
    folder = tmp_path_factory.mktemp("whole")

    @cache
    def fitted(number: int) -> bytes:
        return octets_of(CASES[number].fitted(), folder)

    def choose(rng: Random, every: bool) -> bytes:
        return fitted(rng.randrange(len(CASES))) if every and rng.random() < 0.8 else rng.choice(golden())

    return choose


def forged(octets: bytes, rng: Random) -> bytes:
    """Change the contents and write a valid checksum."""
    header, described, data = taken_apart(octets)
    arrays = [name for name in header if name != "__metadata__"]
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        match rng.randrange(6):
            case 0 | 1 | 2:
                described = in_json(described, rng, NAMES)
            case 3 if len(arrays) > 1:
                one, other = rng.sample(arrays, 2)
                header[one]["dtype"], header[other]["dtype"] = header[other]["dtype"], header[one]["dtype"]
            case 4 if arrays:
                about = header[rng.choice(arrays)]
                about[rng.choice(("shape", "data_offsets"))] = [rng.choice(SIZES) for _ in range(rng.randrange(4))]
                about["dtype"] = rng.choice((about["dtype"], *STORED_TYPES))
            case _:
                start = rng.randrange(len(data) + 1)
                data = data[:start] + damaged(data[start:], rng)[: len(data) - start].ljust(len(data) - start, b"\xff")
    if rng.random() < 0.1:
        header["__metadata__"] = in_json(header["__metadata__"], rng)
    try:
        header["__metadata__"]["model"] = json.dumps(described)
        return signed(header, data)
    except (TypeError, KeyError, ValueError):
        return octets[:-1]


def law(loader: Loader, path: Path, octets: bytes) -> str:
    path.write_bytes(octets)
    answer = loader(path)
    assert not answer["imported"], answer
    assert not answer["events"], answer
    assert answer["outcome"] in ("rejected", "built", "built and asked"), answer
    return str(answer["outcome"])


def test_damage_is_found(campaign: Any, loader: Loader, seeds: Any, tmp_path: Path) -> None:
    def change(seed: int) -> Changed:
        rng = Random(seed)
        octets = seeds(rng, campaign.seconds > 0)
        changed = damaged(octets, rng, WORDS)
        return Changed(changed, changed == octets)

    def found(changed: Changed) -> str:
        outcome = law(loader, tmp_path / "a.mercer", changed.octets)
        assert changed.whole or outcome == "rejected"
        return outcome

    campaign(found, SEEDS.map(change), samples=60)


def test_a_forged_checksum_still_gives_a_model_or_an_error(
    campaign: Any, loader: Loader, seeds: Any, tmp_path: Path
) -> None:
    def change(seed: int) -> bytes:
        rng = Random(seed)
        return forged(seeds(rng, campaign.seconds > 0), rng)

    campaign(lambda octets: law(loader, tmp_path / "a.mercer", octets), SEEDS.map(change), samples=60)
