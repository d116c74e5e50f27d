"""The Weisfeiler–Lehman subtree kernel: graphs counted by hand, isomorphism, the laws."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import mercer
from mercer import kernels as k
from mercer._errors import ColumnTypeError, DataError, KernelError, NonFiniteError
from mercer.testing import check_kernel

Pair = tuple[Any, Any]

PATH: Pair = ([(0, 1), (1, 2)], ["C", "O", "C"])
EDGE: Pair = ([(0, 1)], ["C", "O"])
TRIANGLE: Pair = ([(0, 1), (1, 2), (2, 0)], ["C", "O", "C"])
GRAPHS: list[Pair] = [PATH, EDGE, TRIANGLE, ([], ["C"]), ([], []), ([(0, 0)], ["N"]), ([(0, 1)], ["N", "N"])]


@st.composite
def graphs(draw: st.DrawFn, labels: int = 2) -> Pair:
    n = draw(st.integers(0, 6))
    ends = st.tuples(st.integers(0, max(n - 1, 0)), st.integers(0, max(n - 1, 0)))
    edges = draw(st.lists(ends, max_size=9)) if n else []
    return np.array(edges, dtype=int).reshape(-1, 2), np.array(
        draw(st.lists(st.integers(0, labels - 1), min_size=n, max_size=n))
    )


def written_out(graph: Pair, rounds: int) -> Counter[Any]:
    """The labels of all rounds, nested and never abbreviated."""
    edges, labels = np.asarray(graph[0], dtype=int).reshape(-1, 2), list(graph[1])
    neighbours: list[set[int]] = [set() for _ in labels]
    for a, b in edges.tolist():
        neighbours[a].add(b)
        neighbours[b].add(a)
    now: list[Any] = [str(label) for label in labels]
    found = Counter((0, label) for label in now)
    for turn in range(1, rounds + 1):
        now = [repr((now[v], sorted(now[u] for u in neighbours[v]))) for v in range(len(now))]
        found.update((turn, label) for label in now)
    return found


@settings(max_examples=60)
@given(
    X=st.lists(graphs(), min_size=1, max_size=5),
    Z=st.lists(graphs(3), min_size=1, max_size=5),
    rounds=st.integers(0, 3),
)
def test_labels_agree_with_the_definition(X: list[Pair], Z: list[Pair], rounds: int) -> None:
    one, two = ([written_out(graph, rounds) for graph in graphs] for graphs in (X, Z))
    expected = [[sum(count * z[label] for label, count in x.items()) for z in two] for x in one]
    np.testing.assert_array_equal(k.WeisfeilerLehman(rounds)(X, Z), expected)


def test_small_graphs_by_hand() -> None:
    """Round 0: C C O and C O. Round 1: C(O) C(O) O(CC) and C(O) O(C). From then on only C(O) looked alike."""
    for rounds, expected in [(0, [[5, 3], [3, 2]]), (1, [[10, 5], [5, 4]]), (2, [[15, 5], [5, 6]])]:
        np.testing.assert_array_equal(k.WeisfeilerLehman(rounds)([PATH, EDGE]), expected)


def test_shapes_alone() -> None:
    """All nodes alike: round 0 counts nodes, round 1 degrees."""
    kernel = k.WeisfeilerLehman(1, label=None)
    np.testing.assert_array_equal(kernel([PATH, TRIANGLE]), [[9 + 5, 9 + 3], [9 + 3, 9 + 9]])
    np.testing.assert_array_equal(kernel([nx.path_graph(3), nx.cycle_graph(3)]), kernel([PATH, TRIANGLE]))


def test_a_hexagon_and_two_triangles_are_not_distinguished() -> None:
    """Differences that the Weisfeiler–Lehman test is known to miss."""
    triangles = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    K = k.WeisfeilerLehman()([nx.cycle_graph(6), triangles])
    np.testing.assert_array_equal(K, np.full((2, 2), 6 * 36))


@settings(max_examples=40)
@given(X=st.lists(graphs(), min_size=1, max_size=5), seed=st.integers(0, 99), rounds=st.integers(0, 4))
def test_the_order_of_nodes_and_edges_does_not_matter(X: list[Pair], seed: int, rounds: int) -> None:
    rng = np.random.default_rng(seed)

    def shuffled(graph: Pair) -> Pair:
        place = rng.permutation(len(graph[1]))
        edges = place[graph[0]] if len(graph[0]) else graph[0]
        turned = np.where(rng.random((len(edges), 1)) < 0.5, edges, edges[:, ::-1])
        return rng.permutation(turned), graph[1][np.argsort(place)]

    kernel = k.WeisfeilerLehman(rounds)
    K = kernel(X)
    np.testing.assert_array_equal(kernel([shuffled(graph) for graph in X]), K)
    np.testing.assert_array_equal(kernel([shuffled(graph) for graph in X], X), K)


@settings(max_examples=40)
@given(X=st.lists(graphs(), min_size=1, max_size=6))
def test_graph_kernels_obey_the_laws(X: list[Pair]) -> None:
    for kernel in (
        k.WeisfeilerLehman(2),
        k.WeisfeilerLehman(1).normalised(),
        k.WeisfeilerLehman(1) + 2 * k.WeisfeilerLehman(2, label=None),
        k.WeisfeilerLehman(1) * k.WeisfeilerLehman(0),
    ):
        laws = check_kernel(kernel, X)
        assert "the matrix is positive semidefinite" in laws
        assert "⟨ψ(x), ψ(z)⟩ is the kernel where ψ is finite" in laws
        assert k.check_positive_definite(kernel, X).kind == "by construction"


def test_many_graphs_make_many_tiles() -> None:
    rng = np.random.default_rng(0)
    X = [(rng.integers(0, 8, (9, 2)), rng.integers(0, 3, 8)) for _ in range(700)]
    kernel = k.WeisfeilerLehman(3)
    K, features = kernel(X), kernel.feature_map(X)(X)
    np.testing.assert_array_equal(K, (features @ features.T).toarray())
    np.testing.assert_array_equal(k.Gram(kernel, X).rows([699, 3]), K[[699, 3]])
    np.testing.assert_array_equal(kernel(X[350:], X[:350]), K[350:, :350])
    with mercer.engine(threads=1):
        np.testing.assert_array_equal(kernel(X), K)


# What graphs may be.


def test_edges_given_twice_are_one_edge() -> None:
    twice = ([(0, 1), (1, 0), (1, 2), (1, 2)], ["C", "O", "C"])
    many = nx.MultiGraph([(0, 1), (0, 1), (1, 2)])
    nx.set_node_attributes(many, dict(enumerate("COC")), "label")
    np.testing.assert_array_equal(
        k.WeisfeilerLehman()([twice, many], [PATH]), k.WeisfeilerLehman()([PATH, PATH], [PATH])
    )


def test_a_loop_makes_a_node_its_own_neighbour() -> None:
    loop, pair = ([(0, 0)], ["N"]), ([(0, 1)], ["N", "N"])
    np.testing.assert_array_equal(k.WeisfeilerLehman(1)([loop, pair]), [[2, 4], [4, 8]])


def test_nodes_without_edges_and_graphs_without_nodes() -> None:
    alone, none = ([], ["C"]), ([], [])
    np.testing.assert_array_equal(k.WeisfeilerLehman(2)([alone, none, EDGE]), [[3, 0, 1], [0, 0, 0], [1, 0, 6]])
    np.testing.assert_array_equal(k.WeisfeilerLehman(2).normalised()([none, alone]), [[0, 0], [0, 1]])
    np.testing.assert_array_equal(k.WeisfeilerLehman(2)([nx.Graph()]), [[0]])
    assert k.WeisfeilerLehman(2)([], [EDGE]).shape == (0, 1)


def test_directions_count_if_requested() -> None:
    forth, back = ([(0, 1)], ["a", "b"]), ([(1, 0)], ["a", "b"])
    np.testing.assert_array_equal(k.WeisfeilerLehman(1)([forth], [back]), [[4]])
    np.testing.assert_array_equal(k.WeisfeilerLehman(1, directed=True)([forth], [back]), [[2]])
    directed = nx.DiGraph([(0, 1)])
    nx.set_node_attributes(directed, {0: "a", 1: "b"}, "label")
    np.testing.assert_array_equal(k.WeisfeilerLehman(1, directed=True)([directed], [forth]), [[4]])
    np.testing.assert_array_equal(k.WeisfeilerLehman(1)([directed], [back]), [[4]])


def in_networkx(graph: Pair, name: str = "label") -> nx.Graph:
    """Return the graph in networkx, with nodes that are not numbers, in another order."""
    result = nx.Graph()
    for v in reversed(range(len(graph[1]))):
        result.add_node(f"node {v}", **{name: graph[1][v]})
    result.add_edges_from((f"node {a}", f"node {b}") for a, b in graph[0])
    return result


def test_graphs_of_networkx_agree_with_arrays() -> None:
    expected = k.WeisfeilerLehman(2)(GRAPHS)
    np.testing.assert_array_equal(k.WeisfeilerLehman(2)([in_networkx(graph) for graph in GRAPHS], GRAPHS), expected)
    named = k.WeisfeilerLehman(2, label="element")
    np.testing.assert_array_equal(named([in_networkx(graph, "element") for graph in GRAPHS]), expected)


def test_networkx_is_not_loaded() -> None:
    code = (
        "import sys; from mercer.kernels import WeisfeilerLehman as W; W()([([(0, 1)], ['C', 'O'])]); "
        "sys.exit('networkx' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "given",
    [
        lambda pairs: [(np.array(edges).reshape(-1, 2).astype(np.int32), np.array(labels)) for edges, labels in pairs],
        lambda pairs: [[edges, tuple(labels)] for edges, labels in pairs],
        lambda pairs: [(edges, np.array(labels, dtype=object)) for edges, labels in pairs],
        lambda pairs: [(edges, np.array([ord(label) for label in labels], dtype=int)) for edges, labels in pairs],
        lambda pairs: [(edges, [ord(label) for label in labels]) for edges, labels in pairs],
        lambda pairs: np.array([*pairs, None], dtype=object)[:-1],
        tuple,
    ],
    ids=["arrays", "lists", "objects", "integers", "numbers", "array of pairs", "tuple"],
)
def test_neither_the_container_nor_the_labels_matter(given: Callable[[list[Pair]], Any]) -> None:
    kernel = k.WeisfeilerLehman(2)
    np.testing.assert_array_equal(kernel(given(GRAPHS)), kernel(GRAPHS))
    np.testing.assert_array_equal(kernel(given(GRAPHS), given(GRAPHS[:2])), kernel(GRAPHS)[:, :2])


def partly() -> nx.Graph:
    graph = nx.path_graph(3)
    graph.nodes[0]["label"] = "C"
    return graph


def positioned() -> nx.Graph:
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, 0.5, "place")
    return graph


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([EDGE, None], NonFiniteError, "None in row 1"),
        ([EDGE, float("nan")], NonFiniteError, "nan in row 1"),
        ([3], ColumnTypeError, "row 0 is 3"),
        (["CO"], ColumnTypeError, "which is not a graph"),
        (np.eye(3), ColumnTypeError, "which is not a graph"),
        ("CO", ColumnTypeError, "where graphs"),
        (7, ColumnTypeError, "where graphs"),
        (nx.path_graph(2), DataError, "one graph"),
        ([([(0, 2)], ["C", "O"])], DataError, "beyond its 2 nodes"),
        ([EDGE, ([(-1, 0)], ["C", "O"])], DataError, r"\(-1, 0\) of graph 1"),
        ([([(0, 1, 2)], ["C", "O"])], ColumnTypeError, "two columns"),
        ([([(0.0, 1.0)], ["C", "O"])], ColumnTypeError, "two columns"),
        ([([(0, 1)], 2)], ColumnTypeError, "labels of graph 0"),
        ([([(0, 1)], {0: "C", 1: "O"})], ColumnTypeError, "in their order"),
        ([([(0, 1)], {"C", "O"})], ColumnTypeError, "in their order"),
        ([([(0, 1)], ["C", pd.NA])], NonFiniteError, "missing"),
        ([EDGE, ([(0, 1)], ["C", None])], NonFiniteError, "node 1 of graph 1"),
        ([([(0, 1)], ["C", np.nan])], NonFiniteError, "missing"),
        ([([(0, 1)], [0.5, 1.5])], ColumnTypeError, "bins"),
        ([([(0, 1)], np.array([0.5, 1.5]))], ColumnTypeError, "bins"),
        ([([(0, 1)], [np.float32(0.5), 1])], ColumnTypeError, "bins"),
        ([([(0, 1)], np.eye(2, dtype=int))], ColumnTypeError, "labels of graph 0"),
        ([([(0, 1)], [["C"], ["O"]])], ColumnTypeError, "texts or whole numbers"),
        ([partly()], DataError, "node 1 of graph 0 has no 'label'"),
        ([positioned()], DataError, "have 'place'"),
    ],
)
def test_invalid_graphs_are_rejected(rows: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        k.WeisfeilerLehman(1)(rows)


def test_parameters_out_of_range_are_rejected() -> None:
    with pytest.raises(KernelError, match="0 or more"):
        k.WeisfeilerLehman(-1)
    with pytest.raises(KernelError, match="label"):
        k.WeisfeilerLehman(label=3)
    with pytest.raises(KernelError, match="directed"):
        k.WeisfeilerLehman(directed="no")


# Values and features.


def test_kernels_are_compared_by_value() -> None:
    kernel = k.WeisfeilerLehman(2).normalised()
    assert repr(kernel) == "WeisfeilerLehman(rounds=2, label='label', directed=False).normalised()"
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert hash(kernel.replaced(kernel__rounds=3)) == hash(k.WeisfeilerLehman(3).normalised())
    assert k.kernel_from("weisfeiler_lehman", rounds=1) == k.WeisfeilerLehman(1)
    assert not kernel.numeric


def test_features_are_of_the_graphs_they_were_made_from() -> None:
    kernel = k.WeisfeilerLehman(1)
    features = kernel.feature_map([PATH])
    assert features.n_features == 4
    np.testing.assert_array_equal(features([PATH, EDGE, ([], ["N"])]).toarray(), [[2, 1, 2, 1], [1, 1, 1, 0], [0] * 4])
    same = pickle.loads(pickle.dumps(features))
    np.testing.assert_array_equal(same([EDGE]).toarray(), features([EDGE]).toarray())
    # what has no column still counts for the length of a row
    np.testing.assert_allclose(kernel.normalised()([EDGE], [PATH]), [[5 / np.sqrt(40)]])


def test_linear_models_accept_the_features() -> None:
    rng = np.random.default_rng(0)
    rings = [nx.cycle_graph(int(n)) for n in rng.integers(5, 9, 30)]
    trees = [nx.random_labeled_tree(int(n), seed=int(n) + i) for i, n in enumerate(rng.integers(5, 9, 30))]
    X, y = rings + trees, np.repeat([1, 0], 30)
    features = k.WeisfeilerLehman(2).feature_map(X[::2])
    assert LogisticRegression().fit(features(X[::2]), y[::2]).score(features(X[1::2]), y[1::2]) == 1.0
