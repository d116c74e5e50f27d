"""Forged files of every kind of model: no process goes down or hangs, and methods answer or explain."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mercer.files._table import names
from tests.fuzz.conftest import MINUTES

ROOT = Path(__file__).parents[2]
#: mutations in `make test`, and those that a process makes in a minute of `make fuzz`
FEW, EACH_MINUTE = 2_000, 2_000


#: storable classes that no example holds, by the reason
UNREACHED = {
    "is a part of a linear form, which is computed from a model and asked, not kept": """
        mercer.models.linear_forms.features.Among
        mercer.models.linear_forms.features.Centred
        mercer.models.linear_forms.features.CentredMonomials
        mercer.models.linear_forms.features.CentredSquares
        mercer.models.linear_forms.features.ColumnStatistics
        mercer.models.linear_forms.features.Indicators
        mercer.models.linear_forms.features.ObservedColumns
        mercer.models.linear_forms.features.RowStatistics
        mercer.models.linear_forms.linear_form.FeatureMap
        mercer.models.linear_forms.linear_form.LinearForm
        mercer.models.linear_forms.statistic_features.StatisticFeatures
    """,
    "is what a kernel computes with, made anew of the kernel and its rows": """
        mercer.kernels._counts.CountMap
        mercer.kernels._counts.Counts
        mercer.kernels._counts.Runs
        mercer.kernels._sequences.Sequences
        mercer.kernels.algebra.Of
        mercer.kernels.explicit.After
        mercer.kernels.explicit.Coordinates
        mercer.kernels.explicit.Monomials
        mercer.kernels.explicit.One
        mercer.kernels.explicit.Products
        mercer.kernels.explicit.Stacked
        mercer.kernels.explicit.Times
        mercer.kernels.explicit.Unit
        mercer.kernels.graphs.Neighbourhoods
        mercer.kernels.monomials.MonomialOrder
        mercer.kernels.one_feature.OneDimensional
        mercer.kernels.strings.SubstringMap
        mercer.kernels.strings.Substrings
    """,
    "holds a class, which is no value of a file": """
        sklearn.model_selection._split.RepeatedKFold
        sklearn.model_selection._split.RepeatedStratifiedKFold
    """,
    "is known while a table or a source is read, and no example is fitted to such a one": """
        mercer.data.coding.Coded
        mercer.data.formats.DateFormat
        mercer.data.formats.NumberFormat
        mercer.data.seen_values.Seen
        mercer.designs.row_sample.RowSample
        mercer.designs.survey.Levels
        mercer.designs.survey.Survey
        mercer.models.streaming.sampled_source.Outline
        mercer.models.tables._spread.DaysSeen
        mercer.models.tables._spread.Spread
        mercer.models.tables.numbers.OnlyGaps
        mercer.models.tables.source.Glance
        mercer.models.tables.treatment.LeftOut
    """,
    "is an intermediate result of a fit or a search, and no example keeps one": """
        mercer.decide._conformal.Promise
        mercer.decide.costs.Costs
        mercer.decide.costs.Range
        mercer.families._prior.Prior
        mercer.families.penalties.Strengths
        mercer.families.power_links.LogOdds
        mercer.families.tweedie.TweedieParameters
        mercer.features.landmarks.Landmarks
        mercer.features.nystroem.LandmarkMap
        mercer.features.text.interpreted.OtherVocabulary
        mercer.models._kernel_choice.AnyPolynomial
        mercer.models.discriminants._covariance.FixedShrinkage
        mercer.models.discriminants._covariance.OracleShrinkage
        mercer.models.discriminants._covariance.StandardisedShrinkage
        mercer.models.discriminants._covariance.Structure
        mercer.models.discriminants._fisher.Directions
        mercer.models.discriminants._gaussian_classes.SharedAxes
        mercer.models.generative._unweighted.Unweighted
        mercer.models.generative.parts._base.Smoothing
        mercer.models.generative.parts.gaussian_vector.Normal
        mercer.models.glm.separation.SeparationFinding
        mercer.models.kernel_features._nystroem_rows.ByMatrix
        mercer.models.kernel_models._ridge_tuning.Tried
        mercer.models.linear.ridge_cv.Identity
        mercer.smoothing.autocorrelation.Autocorrelation
        mercer.smoothing.classes.ClassBandwidths
        mercer.smoothing.rules.reference.UnscaledScott
        mercer.smoothing.rules.reference.UnscaledSilverman
        mercer.smoothing.tolerance.Tolerance
        mercer.solvers.start.Midway
        mercer.stats.distinct_rows.DistinctRows
        mercer.stats.goodness.Goodness
        mercer.stats.normal_equations.NormalEquations
        mercer.stats.quadratic.Quadratic
        mercer.stats.r_factor.RFactor
        mercer.stats.softmax_quadratic.SoftmaxQuadratic
    """,
}


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked, and their memory is bounded as Linux has it")
def test_forged_files_are_refused_or_answer(tmp_path: Path) -> None:
    count = max(FEW, int(EACH_MINUTE * MINUTES / 4))
    seed = "0" if not MINUTES else str(int.from_bytes(os.urandom(4)))
    record = tmp_path / "found.json"
    told = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.forge", str(count), "--seed", seed, "--workers", "2", "--json", str(record)],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert record.exists(), told.stderr
    found = json.loads(record.read_text())
    assert found["finds"] == [], f"seed {seed}: {told.stdout}"
    assert found["mutations"] == count
    listed = {name for several in UNREACHED.values() for name in several.split()}
    assert names("class") - set(found["classes"]) == listed
