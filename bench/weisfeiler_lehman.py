"""The Weisfeiler–Lehman subtree kernel: the matrix of a set of small graphs, shaped like molecules.

GraKeL is given its own graphs, made before the clock starts; mercer is given arrays of edges and labels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from grakel import Graph
from grakel.kernels import VertexHistogram
from grakel.kernels import WeisfeilerLehman as Theirs
from numpy.typing import NDArray

from bench.harness import Contender, Race, Results, Workload
from mercer.kernels import WeisfeilerLehman

Array = NDArray[Any]

NODES, RINGS, ROUNDS = 30, 3, 5
#: elements of a molecule: one in two nodes is carbon, and some are rare
SHARES = (0.5, 0.2, 0.12, 0.08, 0.04, 0.02, 0.01, 0.01, 0.01, 0.01)


class Molecules(NamedTuple):
    X: Array  # the edges of all graphs
    graphs: list[tuple[Array, Array]]


def molecules(count: int) -> Molecules:
    """Random trees that branch little, each with some rings closed."""
    rng = np.random.default_rng(0)
    graphs = []
    for _ in range(count):
        children = np.arange(1, NODES)
        parents = children - 1 - np.minimum(rng.geometric(0.7, NODES - 1) - 1, children - 1)
        starts = rng.integers(0, NODES - 6, RINGS)
        edges = np.concatenate(
            [np.stack([parents, children], 1), np.stack([starts, starts + rng.integers(4, 6, RINGS)], 1)]
        )
        graphs.append((edges, rng.choice(len(SHARES), NODES, p=SHARES)))
    return Molecules(np.concatenate([edges for edges, _ in graphs]), graphs)


def with_grakel(data: Molecules) -> Callable[[], Array]:
    graphs = [
        Graph({*map(tuple, edges.tolist()), *map(tuple, edges[:, ::-1].tolist())}, dict(enumerate(labels.tolist())))
        for edges, labels in data.graphs
    ]
    return lambda: np.asarray(Theirs(n_iter=ROUNDS, base_graph_kernel=VertexHistogram).fit_transform(graphs))


def results(matrix: Array, data: Molecules) -> Results:
    return {"matrix": matrix}


WORKLOAD = Workload(
    name="weisfeiler_lehman",
    shape=f"{NODES} nodes, {ROUNDS} rounds",
    rows=4_110,
    make_arrays=molecules,
    races=(
        Race(
            "matrix",
            Contender("mercer", lambda data: lambda: WeisfeilerLehman(rounds=ROUNDS)(data.graphs)),
            (Contender("GraKeL", with_grakel, reach=10),),
            results,
        ),
    ),
)
