"""RaterModel: numeric scores in the style of crowd-kit, which has no class for them."""

from typing import Any, Self

from quorate.errors import OptionError
from quorate.estimators.base import ConstructorParameters, load_pandas
from quorate.io.arguments import check_arguments
from quorate.io.read_table import Source
from quorate.io.scores import ScorePolicy
from quorate.rating.rate import PASSES, TOLERANCE, rate
from quorate.rating.rating import Rating


class RaterModel(ConstructorParameters):
    """One score per task from raters who differ in bias, scale and noise; see `quorate.rate`.

    The data have the columns task, worker and score (or label). `scores_` is the score of each task; `intervals_` has
    the columns se, low and high; `biases_`, `scales_`, `noises_` and `weights_` are by worker; `rating_` is the
    `quorate.Rating` with notes and reliability.

    Args:
        n_iter: largest number of passes over the answers.
        tol: largest change at which the fit ends, in standard deviations of the scores.
        same_scale: hold all scales at 1.
        level: level of the intervals.
        on_conflict: when a worker gave a task two scores: ``error``, ``mean``, ``first``, ``last`` or ``drop``.

    >>> import pandas
    >>> rows = [(t, w, q + b) for t, q in enumerate([1, 2, 4, 5]) for w, b in (("ann", 0), ("bob", 1), ("eve", -1))]
    >>> model = RaterModel().fit(pandas.DataFrame(rows, columns=["task", "worker", "score"]))
    >>> model.scores_.round().to_dict()
    {0: 1.0, 1: 2.0, 2: 4.0, 3: 5.0}
    >>> model.biases_.round().abs().to_dict()
    {'ann': 0.0, 'bob': 1.0, 'eve': 1.0}
    """

    own_parameters = ("n_iter", "tol", "same_scale", "level", "on_conflict")
    scores_: Any  # Series by task
    intervals_: Any  # DataFrame by task
    biases_: Any  # Series by worker
    scales_: Any
    noises_: Any
    weights_: Any
    rating_: Rating

    @check_arguments
    def __init__(
        self,
        n_iter: int = PASSES,
        tol: float = TOLERANCE,
        same_scale: bool = False,
        level: float = 0.95,
        on_conflict: ScorePolicy = "error",
    ) -> None:
        if n_iter < 1:
            raise OptionError(f"n_iter must be at least 1, got {n_iter}")
        self.n_iter = n_iter
        self.tol = tol
        self.same_scale = same_scale
        self.level = level
        self.on_conflict = on_conflict

    @check_arguments
    def fit(self, data: Source, gold: Any = None) -> Self:
        """Rate the tasks.

        Args:
            data: task, worker and score of each answer.
            gold: known scores of some tasks, by task; the scores are then on their scale.

        Raises:
            ScoreError: a score is not a number, or the scores determine nothing.
            InputError: the data cannot be used; the message names the rows.
        """
        pandas = load_pandas()
        if gold is not None and hasattr(gold, "to_dict"):
            gold = gold.to_dict()
        self.rating_ = rate(
            data,
            gold=gold,
            level=self.level,
            same_scale=self.same_scale,
            passes=self.n_iter,
            tol=self.tol,
            on_conflict=self.on_conflict,
        )
        tasks = pandas.Index(self.rating_.task_ids.to_pylist(), name="task")
        workers = pandas.Index(self.rating_.worker_ids.to_pylist(), name="worker")
        scores = self.rating_.tasks
        raters = self.rating_.raters
        self.scores_ = pandas.Series(scores.score, index=tasks, name="score")
        self.intervals_ = pandas.DataFrame({"se": scores.se, "low": scores.low, "high": scores.high}, index=tasks)
        self.biases_ = pandas.Series(raters.bias, index=workers, name="bias")
        self.scales_ = pandas.Series(raters.scale, index=workers, name="scale")
        self.noises_ = pandas.Series(raters.noise, index=workers, name="noise")
        self.weights_ = pandas.Series(raters.weight, index=workers, name="weight")
        return self

    @check_arguments
    def fit_predict(self, data: Source, gold: Any = None) -> Any:
        """Rate the tasks and return `scores_`."""
        return self.fit(data, gold).scores_
