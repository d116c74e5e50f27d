"""From a source to what solvers minimise: one pass finds out what there is, and every later one adds up losses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mercer.data.sources.base import Chunk, Source
from mercer.data.table import Table
from mercer.designs import Category, Terms
from mercer.designs.category import category_places
from mercer.designs.coordinates import that_count
from mercer.designs.streamed import Reading, Responses, StreamedObservations
from mercer.designs.survey import Drawing, Survey
from mercer.designs.terms import with_categories
from mercer.engines.folding import fold
from mercer.solvers.least_squares.streamed_rows import refuse_no_weight


def observe(
    source: Source,
    read: Reading,
    responses: Callable[[Survey], Responses],
    *,
    labels: bool,
    intercept: bool,
    shifted: bool = True,
    names: tuple[str, ...] | None = None,
    drop_first: bool = True,
) -> StreamedObservations:
    """Rows of a source, after one pass.

    Parameters
    ----------
    source : Source
        Where they come from.
    read : callable
        Takes a chunk, and gives its rows as they were checked; can be pickled.
    responses : callable
        Takes what was found out, and says how responses become numbers.
    labels : bool
        Whether responses are labels.
    intercept : bool
        Whether there is an intercept.
    shifted : bool
        Whether columns may be shifted: not where the intercept is penalised.
    names : tuple of str, optional
        Of the columns.
    drop_first : bool
        Whether the first level of a category has no coefficient.
    """
    first = read(source.head())
    drawing = Drawing.of(first, source.n_rows, labels=labels)
    survey = fold(partial(_surveyed, read, drawing), source, Survey.merge)
    refuse_no_weight(survey.heavy)
    how = responses(survey)  # refuses labels before anything is computed from them
    columns = survey.sample.columns()
    n_columns = first.X.shape[1]
    places = category_places(first.X) if isinstance(first.X, Table) else []
    categories = {
        j: Category(first.X.names[j], levels.in_order(), drop_first)
        for j, levels in zip(places, survey.levels, strict=True)
    }
    pilot = that_count(columns[0], columns[-1 - survey.has_offset] if survey.weighted else None)
    coordinates = survey.coordinates(first.X, pilot, intercept=intercept, shifted=intercept and shifted)
    if categories:
        coordinates = with_categories(coordinates, categories, n_columns)
    terms = Terms(n_columns, names, categories, coordinates)
    return StreamedObservations.of(source, read, terms, how, survey, columns)


def _surveyed(read: Reading, drawing: Drawing, chunk: Chunk) -> Survey:
    return Survey.of(read(chunk), drawing)
