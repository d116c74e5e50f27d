"""Fit time of support vector machines against the number of rows: a table, and a plot beside it."""

from __future__ import annotations

import re
from functools import partial

from sklearn import svm
from sklearnex import svm as intelex

from bench.fits import Entrant
from bench.harness import Options, Race, Workload
from bench.machine import describe_environment
from bench.margins import clusters, fit_race
from bench.results import Outcome, Report
from mercer import SVC

COLUMNS = 40
ROWS = (2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
#: rows up to which memory is measured, by one more fit of each: libsvm takes minutes for more
MEMORY_ROWS = 32_000

make_arrays = partial(clusters, columns=COLUMNS, informative=20, new=0)


def of(rows: int) -> Workload:
    """The race of so many rows."""
    rivals = {"scikit-learn (libsvm)": Entrant(svm.SVC), "scikit-learn-intelex": Entrant(intelex.SVC)}
    return Workload(
        name="svc_scaling",
        shape=f"{COLUMNS}",
        rows=rows,
        make_arrays=make_arrays,
        races=(fit_race(Entrant(SVC), rivals, task=f"fit {rows:,} rows"),),
    )


class Scaling:
    """The same race at every size."""

    name = "svc_scaling"
    make_arrays = staticmethod(make_arrays)

    def run(self, options: Options) -> Report:
        sizes = ROWS if options.rows is None else (options.rows,)
        outcomes: list[Outcome] = []
        for rows in sizes:
            memory = options.memory and rows <= MEMORY_ROWS
            outcomes += of(rows).run(Options(options.threads, memory=memory)).outcomes
        size = f"{sizes[0]:,} to {sizes[-1]:,} × {COLUMNS}, C = 1"
        return Report(self.name, size, describe_environment(options.threads), outcomes=tuple(outcomes))

    def race(self, task: str) -> Race:
        """The race that names so many rows: how the process that measures memory finds it."""
        return of(int(re.sub(r"\D", "", task))).race(task)


WORKLOAD = Scaling()
