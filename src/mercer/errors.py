"""Exceptions and warnings of mercer, to be caught and filtered by name.

Exceptions derive from the built-in type that scikit-learn raises for the same mistake, so that code written for
scikit-learn keeps catching them. `MercerError` catches all exceptions of mercer and no others, `DataError` all that
concern the data. Ctrl-C during a fit raises a `KeyboardInterrupt` with the best solution so far. Each message says
what is wrong, where, and what to do about it.

Examples
--------
>>> from mercer import GLM, errors, load
>>> try:
...     model = load("model.mercer")
... except errors.MissingModelFileError as error:
...     print(error)
'model.mercer' cannot be read: no such file or directory. Name a file that `save` or `mercer fit` wrote.

A family of errors has a common base, and a built-in one:

>>> try:
...     GLM("poisson").fit([[1.0], [2.0]], [1, -1])
... except errors.DataError as error:
...     print(type(error).__name__, isinstance(error, ValueError))
SupportError True

Warnings are filtered, or turned into errors, by their class:

>>> import warnings
>>> with warnings.catch_warnings():
...     warnings.simplefilter("error", errors.SeparationWarning)
...     try:
...         GLM("bernoulli").fit([[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1])
...     except errors.SeparationWarning as warning:
...         print(str(warning).split(":")[0])
A hyperplane separates the responses completely
"""

from mercer._errors import (
    AsymmetricKernelError,
    BandwidthError,
    BinsError,
    CalibrationWarning,
    CheckpointError,
    CheckpointWarning,
    CollinearWarning,
    ColumnMismatchError,
    ColumnTypeError,
    ComparisonInterrupted,
    CostError,
    DataError,
    DataNotFoundError,
    DecodingError,
    DegenerateDataError,
    DeviceError,
    DeviceMemoryError,
    DivergedWarning,
    EmptyDataError,
    EngineError,
    ExperimentInterrupted,
    ExportError,
    FamilyError,
    FitInterrupted,
    FormulaError,
    FrozenKernelError,
    IndefiniteKernelWarning,
    InferenceError,
    KernelError,
    KernelShapeError,
    LinkError,
    LongFitWarning,
    MercerError,
    MercerWarning,
    MergeError,
    MissingDependencyError,
    MissingModelFileError,
    ModelFileError,
    NewerModelFileError,
    NoClosedFormError,
    NoCounterpartError,
    NoDensityError,
    NoExplanationError,
    NoFeatureMapError,
    NoLinearFormError,
    NonFiniteError,
    NoRepresenterError,
    NoSpectrumError,
    NotConvergedWarning,
    NotPositiveDefiniteError,
    OutOfReachError,
    PenaltyError,
    PrecisionWarning,
    PriorError,
    ScoresOnlyError,
    SeparationError,
    SeparationWarning,
    ServeError,
    SingularCovarianceError,
    SourceChangedError,
    SpentSourceError,
    SupportError,
    TargetLeakError,
    TargetLeakWarning,
    TextError,
    TooLargeError,
    TooManyColumnsError,
    TooManyPatternsError,
    UnequalEdgesError,
    UnsavableError,
    UnseenCategoryError,
    UnseenCategoryWarning,
    UnseenCodeError,
    UnseenRowsError,
    UnsuitableSolverError,
    VocabularyError,
    WeightingError,
    WriteError,
)

__all__ = [
    "AsymmetricKernelError",
    "BandwidthError",
    "BinsError",
    "CalibrationWarning",
    "CheckpointError",
    "CheckpointWarning",
    "CollinearWarning",
    "ColumnMismatchError",
    "ColumnTypeError",
    "ComparisonInterrupted",
    "CostError",
    "DataError",
    "DataNotFoundError",
    "DecodingError",
    "DegenerateDataError",
    "DeviceError",
    "DeviceMemoryError",
    "DivergedWarning",
    "EmptyDataError",
    "EngineError",
    "ExperimentInterrupted",
    "ExportError",
    "FamilyError",
    "FitInterrupted",
    "FormulaError",
    "FrozenKernelError",
    "IndefiniteKernelWarning",
    "InferenceError",
    "KernelError",
    "KernelShapeError",
    "LinkError",
    "LongFitWarning",
    "MercerError",
    "MercerWarning",
    "MergeError",
    "MissingDependencyError",
    "MissingModelFileError",
    "ModelFileError",
    "NewerModelFileError",
    "NoClosedFormError",
    "NoCounterpartError",
    "NoDensityError",
    "NoExplanationError",
    "NoFeatureMapError",
    "NoLinearFormError",
    "NoRepresenterError",
    "NoSpectrumError",
    "NonFiniteError",
    "NotConvergedWarning",
    "NotPositiveDefiniteError",
    "OutOfReachError",
    "PenaltyError",
    "PrecisionWarning",
    "PriorError",
    "ScoresOnlyError",
    "SeparationError",
    "SeparationWarning",
    "ServeError",
    "SingularCovarianceError",
    "SourceChangedError",
    "SpentSourceError",
    "SupportError",
    "TargetLeakError",
    "TargetLeakWarning",
    "TextError",
    "TooLargeError",
    "TooManyColumnsError",
    "TooManyPatternsError",
    "UnequalEdgesError",
    "UnsavableError",
    "UnseenCategoryError",
    "UnseenCategoryWarning",
    "UnseenCodeError",
    "UnseenRowsError",
    "UnsuitableSolverError",
    "VocabularyError",
    "WeightingError",
    "WriteError",
]
