"""scikit-learn's callbacks of logistic regressions: a task per step, which can see the coefficients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from mercer._warn import warn
from mercer.models._progress import CallbackSupportMixin
from mercer.models.logistic._path import Coefficients

Told = Callable[[Coefficients], None]


class LogisticCallbacks(CallbackSupportMixin):
    """Takes callbacks, with scikit-learn's warning where its solver would ignore them."""

    solver: str

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Have a fit watched by scikit-learn's callbacks.

        Parameters
        ----------
        *callbacks : callback instances
            They see the coefficients of `LogisticRegression` after every step. `LogisticRegressionCV` takes them and
            calls none, as in scikit-learn 1.9.

        Returns
        -------
        self : object
            The model itself.
        """
        if self.solver != "lbfgs":
            warn(
                f"Callbacks are only supported in {type(self).__name__} for solver='lbfgs'. This estimator has "
                f"solver='{self.solver}', callbacks will be ignored during the solving of the regression.",
                UserWarning,
            )
        super().set_callbacks(*callbacks)
        return self


@contextmanager
def told_of_steps(estimator: Any, X: Any, y: Any, sample_weight: Any, start: Coefficients) -> Iterator[Told | None]:
    """The fit as a task, with a subtask for each step; in scikit-learn only lbfgs tells of its steps.

    As there, each step begins where the last one ended, so that one more is begun than is made, and one at least is.
    """
    root = estimator._init_callback_context(max_subtasks=max(estimator.max_iter, 1) + 1)
    about: dict[str, Any] = {"estimator": estimator, "X": X, "y": y}
    about["metadata"] = None if sample_weight is None else {"sample_weight": sample_weight}
    root.call_on_fit_task_begin(**about)
    if estimator.solver != "lbfgs":
        yield None
    else:
        steps = _Steps(root, about, start)
        yield steps.told
        steps.close()
    root.call_on_fit_task_end(**about, reconstruction_attributes={})


class _Steps:
    def __init__(self, root: Any, about: dict[str, Any], start: Coefficients) -> None:
        self._root, self._about, self._last, self._made = root, about, start, 0
        self._task = self._begun()

    def _begun(self) -> Any:
        task = self._root.subcontext(task_name="lbfgs-iter")
        task.call_on_fit_task_begin(**self._about, reconstruction_attributes=self._attributes())
        return task

    def _attributes(self) -> dict[str, Any]:
        return {"coef_": self._last.coef, "intercept_": self._last.intercept}

    def told(self, coefficients: Coefficients) -> None:
        """A step has led to these coefficients."""
        self._last = coefficients
        self._made += 1
        self._task.call_on_fit_task_end(**self._about, reconstruction_attributes=self._attributes())
        self._task = self._begun()

    def close(self) -> None:
        if not self._made:
            self.told(self._last)
        self._task.call_on_fit_task_end(estimator=self._about["estimator"])
