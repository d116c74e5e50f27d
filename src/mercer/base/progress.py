"""Progress of a fit: a line on the terminal if `verbose`, and scikit-learn's callbacks where it has them.

A callback may end a fit as Ctrl-C does: `mercer.optim.descent.descend` then returns the best point, and
`mercer.base.validation.raise_if_interrupted` raises once the model has stored it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from mercer.optim.descent import Callback, Step

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # before scikit-learn 1.9; still experimental there

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """An empty class where scikit-learn has no callbacks."""

    def _with_callbacks(method: Any) -> Any:
        return method


M = TypeVar("M", bound=Callable[..., Any])


def with_callbacks(method: M) -> M:
    """Decorate a method so that callbacks are torn down however it ends."""
    return cast(M, _with_callbacks(method))


class StoppedByCallback(KeyboardInterrupt):
    """A callback ended the fit: solvers treat it as Ctrl-C, and a model keeps the best iterate so far."""


@dataclass
class Watch:
    """The functions that are called after each step of a fit; a solver calls `callback`."""

    watchers: list[Callable[[Any], Any]]
    #: whether one of them has ended the fit
    stopped: bool = False

    @property
    def callback(self) -> Callable[[Any], None] | None:
        return self._report if self.watchers else None

    def _report(self, step: Any) -> None:
        try:
            for watcher in self.watchers:
                watcher(step)
        except StoppedByCallback:
            self.stopped = True
            raise


@contextmanager
def watch_fit(
    estimator: Any, *, verbose: int, X: Any, y: Any, sentence: Callable[[Any], str] | None = None
) -> Iterator[Watch]:
    """Yield the `Watch` of a fit; for methods decorated by `with_callbacks`.

    `sentence` returns the text on the terminal for a step; by default its number, the objective and the distance.
    """
    with ExitStack() as stack:
        watchers: list[Callable[[Any], Any]] = []
        if verbose:
            watchers.append(stack.enter_context(show_line(type(estimator).__name__, sentence or _describe_step)))
        if hasattr(estimator, "_skl_callbacks"):
            watchers.append(stack.enter_context(_callbacks(estimator, X, y)))
        yield Watch(watchers)


@contextmanager
def show_bar(estimator: Any, *, verbose: Any, total: int, what: str) -> Iterator[Callable[[], None]]:
    """Show a bar on the terminal if `verbose`, and yield a function to be called after each of `total` steps."""
    if not verbose:
        yield lambda: None
        return
    from rich.progress import Progress as RichProgress

    with RichProgress() as progress:
        task = progress.add_task(f"{type(estimator).__name__}: {what}", total=total)
        yield lambda: progress.advance(task)


@contextmanager
def show_line(name: str, sentence: Callable[[Any], str]) -> Iterator[Callable[[Any], None]]:
    """Show a line on the terminal, and yield the function that updates it; the last one stays."""
    from rich.console import Console

    console, last = Console(), list[str]()
    with console.status(f"{name}: before the first step") as status:

        def show(step: Any) -> None:
            last[:] = [f"{name}: {sentence(step)}"]
            status.update(last[0])

        yield show
    for text in last:
        console.print(text)


def _describe_step(step: Step) -> str:
    return f"{step.iteration} steps, objective {step.objective:.10g}, distance to the optimum {step.distance:.1e}"


@contextmanager
def _callbacks(estimator: Any, X: Any, y: Any) -> Iterator[Callback]:
    """Report each step to scikit-learn's callbacks as a task; raise `StoppedByCallback` where one requests a stop."""
    context = estimator._init_callback_context(max_subtasks=None)
    context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def report(step: Step) -> None:
        if step.iteration == 0:  # not a step
            return
        task = context.subcontext(task_name="step")
        task.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
        if task.call_on_fit_task_end(estimator=estimator, X=X, y=y):
            raise StoppedByCallback

    yield report
    context.call_on_fit_task_end(estimator=estimator, X=X, y=y, reconstruction_attributes={})
