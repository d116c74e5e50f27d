"""scikit-learn's tests of vectorizers, on ours."""

from __future__ import annotations

from mercer.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from mercer.text.analysis import strip_accents_ascii, strip_accents_unicode
from tests.sklearn_suite._swap import load_swapped

globals().update(
    load_swapped(
        "sklearn.feature_extraction.tests.test_text",
        {
            "CountVectorizer": CountVectorizer,
            "HashingVectorizer": HashingVectorizer,
            "TfidfTransformer": TfidfTransformer,
            "TfidfVectorizer": TfidfVectorizer,
            "strip_accents_ascii": strip_accents_ascii,
            "strip_accents_unicode": strip_accents_unicode,
        },
        exclude={
            "test_countvectorizer_sort_features_64bit_sparse_indices": "calls a private method",
            "test_pickling_vectorizer": "pickles functions of the test module, which cannot be imported here",
        },
    )
)
