"""Probabilistic estimators with crowd-kit's options and defaults: Dawid–Skene (with ``initial_error``), GLAD, MACE."""

from typing import Any, Self

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.blocks.memory import blocks_of
from quorate.blocks.worker_rows import dense
from quorate.errors import InputError, OptionError, listing, unknown_name_error
from quorate.estimators.base import Estimator, by_name, confusion_frame, index_of, load_pandas, mapping_of
from quorate.io.arguments import check_arguments
from quorate.io.gold import known_classes
from quorate.io.read_table import Source
from quorate.methods.dawid_skene import fitted_em
from quorate.methods.fit_blocks import result_in_memory
from quorate.methods.glad import GladPriors, fit_glad, glad_result
from quorate.methods.mace import fit_mace, mace_result
from quorate.models.em import counts_by_posterior, fit_confusion_em, normalise_columns, vote_shares
from quorate.models.one_coin import fit_one_coin_em
from quorate.result import Result

STRATEGIES = ("assign", "addition")
MIN_START_ENTRY = 1e-10  # of the first matrices, as in crowd-kit: an unseen answer must not have probability zero


def first_matrices(answers: Answers, gold: IntArray | None, initial_error: Any, strategy: str | None) -> FloatArray:
    """Return the confusion matrices from which EM starts, (workers, answers, classes).

    Args:
        answers: who answered what.
        gold: the known class of each task, -1 where unknown.
        initial_error: a frame with a row for each worker and answer (its index has the names worker and label) and a
            column for each true class: probabilities, or counts of answers.
        strategy: ``assign`` starts from the frame; ``addition`` adds it to the counts of the vote.

    Raises:
        OptionError: no strategy is given.
        InputError: the frame lacks a worker or a class, or has invalid numbers.

    >>> import pandas, quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["ann", "ann"], "label": ["x", "x"]}, classes=["x", "y"])
    >>> rows = pandas.MultiIndex.from_product([["ann"], ["x", "y"]], names=["worker", "label"])
    >>> known = pandas.DataFrame([[8.0, 1.0], [2.0, 4.0]], index=rows, columns=["x", "y"])
    >>> first_matrices(answers, None, known, "assign").tolist()
    [[[0.8, 0.2], [0.2, 0.8]]]
    >>> first_matrices(answers, None, known, "addition").round(2).tolist()
    [[[0.82, 0.2], [0.18, 0.8]]]
    """
    if strategy is None:
        raise OptionError(f"initial_error needs an initial_error_strategy: {' or '.join(STRATEGIES)}")
    counts = _matrices(answers, initial_error, complete=strategy == "assign")
    if strategy == "addition":
        counts = counts + dense(blocks_of(answers, gold).sum(counts_by_posterior, vote_shares)[0])
    else:
        _check_sums(answers, counts)
    return normalise_columns(np.maximum(counts, MIN_START_ENTRY))


def _matrices(answers: Answers, frame: Any, *, complete: bool) -> FloatArray:
    """Return the frame as an array by codes; missing entries are zero, if the frame need not be complete."""
    names = list(getattr(getattr(frame, "index", None), "names", []))
    if names != ["worker", "label"]:
        raise InputError(f"the index of initial_error must be worker and label, not {listing(names) or 'none'}")
    workers = answers.worker_names.to_pylist()
    classes = answers.classes.to_pylist()
    lacking = [name for name in classes if name not in frame.columns]
    if lacking:
        raise InputError(f"initial_error has no column for {listing(lacking)}; it needs one for each class")
    listed_rows = set(frame.index)
    answered_rows = {
        (workers[w], classes[c]) for w, c in zip(answers.worker.tolist(), answers.label.tolist(), strict=True)
    }
    unknown_ids = sorted({str(worker) for worker, _ in answered_rows - listed_rows}) if complete else []
    if unknown_ids:
        raise InputError(
            f"initial_error has no row for some answers of {len(unknown_ids):,} workers: "
            f"{listing(unknown_ids)}. Add them, or use initial_error_strategy='addition'"
        )
    rows = [(worker, label) for worker in workers for label in classes]
    values: FloatArray = frame.reindex(index=frame.index.__class__.from_tuples(rows), columns=classes).to_numpy(
        np.float64
    )
    values = np.where(np.isnan(values), 0.0, values).reshape(len(workers), len(classes), len(classes))
    if (values < 0).any() or not np.isfinite(values).all():
        raise InputError("initial_error has negative or infinite numbers; it takes probabilities, or counts of answers")
    return values


def _check_sums(answers: Answers, counts: FloatArray) -> None:
    """Check that probabilities sum to one over the answers of a worker; counts may have any sum."""
    sums = counts.sum(axis=1)
    wrong = np.flatnonzero((np.abs(sums - 1) > 1e-6).any(axis=1))
    if len(wrong) and (counts <= 1).all():
        names = listing(answers.worker_names[int(worker)].as_py() for worker in wrong)
        raise InputError(
            f"the probabilities in initial_error must sum to one over each worker's answers; not so for {names}"
        )


class _ByExpectation(Estimator):
    """Base of the two classes of Dawid and Skene; by crowd-kit's defaults the frequency of classes is estimated."""

    as_they_appear = ("task", "worker")
    own_parameters = ("initial_error_strategy",)
    loss_history_: list[float]  # the log-likelihood per answer after each step

    @check_arguments
    def __init__(
        self, n_iter: int = 100, tol: float = 1e-5, initial_error_strategy: str | None = None, **options: Any
    ) -> None:
        if initial_error_strategy is not None and initial_error_strategy not in STRATEGIES:
            raise unknown_name_error(initial_error_strategy, STRATEGIES, "initial_error_strategy=")
        self.initial_error_strategy = initial_error_strategy
        super().__init__(**{"n_iter": n_iter, "tol": tol, "class_prior": True, **options})

    @property
    def priors_(self) -> Any:
        """The frequency of each class, a Series by label."""
        return self.probas_.mean().rename("prior")

    @property
    def errors_(self) -> Any:
        """The probability of each worker's answer (rows: worker, label) given the true class (columns)."""
        return confusion_frame(self.result_, self._matrices(self.result_.answers))

    def _matrices(self, answers: Answers) -> FloatArray:
        raise NotImplementedError


class DawidSkene(_ByExpectation):
    """EM with one confusion matrix per worker; with crowd-kit's defaults, which are not those of `quorate.aggregate`.

    Args:
        n_iter: maximum number of steps.
        tol: stop when the posterior changes by less.
        initial_error_strategy: what `fit` does with ``initial_error``: ``assign``, to start from it, or ``addition``,
            to add it to the counts of the vote.
        options: see `Estimator`.
    """

    method = "dawid-skene"

    @check_arguments
    def fit(self, data: Source, true_labels: Source = None, initial_error: Any = None) -> Self:
        """Aggregate the answers.

        Args:
            data: a DataFrame with the columns task, worker and label; or anything that `quorate.read` takes.
            true_labels: known labels: a Series by task.
            initial_error: matrices to start from, in the shape of `errors_`: rows worker and label, columns classes.

        Raises:
            OptionError: there is an initial_error, but no strategy for its use.
            InputError: the data or the initial_error cannot be used.
        """
        self._initial_error = initial_error
        try:
            return super().fit(data, true_labels)
        finally:
            del self._initial_error

    def _run(self, answers: Answers, gold: Source) -> Result:
        known = known_classes(gold, answers)
        start = None
        if self._initial_error is not None:
            start = first_matrices(answers, known, self._initial_error, self.initial_error_strategy)
        blocks = blocks_of(answers, known)
        em = fit_confusion_em(blocks, start=start, **self._options)
        self.loss_history_ = [log_likelihood / max(answers.n_answers, 1) for log_likelihood in em.log_likelihoods]
        return result_in_memory(self.method, answers, known, fitted_em(self.method, blocks, em))

    def _matrices(self, answers: Answers) -> FloatArray:
        counts = np.zeros((answers.n_workers, answers.n_classes, answers.n_classes))
        np.add.at(counts, (answers.worker, answers.label), self.result_.vote.posterior[answers.task])
        return normalise_columns(counts, np.nan)


class OneCoinDawidSkene(_ByExpectation):
    """EM with one accuracy per worker; with crowd-kit's defaults."""

    method = "one-coin"
    scale = "accuracy"

    @check_arguments
    def fit(self, data: Source, true_labels: Source = None, initial_error: Any = None) -> Self:
        """Aggregate the answers; see `Estimator.fit`.

        Raises:
            OptionError: there is an initial_error; this model has no matrices.
        """
        if initial_error is not None:
            raise OptionError("initial_error is for DawidSkene; OneCoinDawidSkene has no matrices. Leave it out")
        return super().fit(data, true_labels)

    def _run(self, answers: Answers, gold: Source) -> Result:
        known = known_classes(gold, answers)
        blocks = blocks_of(answers, known)
        em = fit_one_coin_em(blocks, **self._options)
        self.loss_history_ = [log_likelihood / max(answers.n_answers, 1) for log_likelihood in em.log_likelihoods]
        return result_in_memory(self.method, answers, known, fitted_em(self.method, blocks, em))

    def _matrices(self, answers: Answers) -> FloatArray:
        m = answers.n_classes
        p = self.accuracies_.reindex(answers.worker_names.to_pylist()).to_numpy()[:, None, None]
        matrices: FloatArray = np.where(np.eye(m, dtype=bool), p, (1 - p) / max(m - 1, 1))
        return matrices


class GLAD(Estimator):
    """EM over the ability of workers and the ease of tasks; with crowd-kit's defaults.

    Args:
        n_iter: maximum number of steps.
        tol: stop when the log-posterior per answer increases by less.
        silent: without effect: nothing is printed.
        labels_priors: prior probability of each class, a Series by label; uniform by default.
        alphas_priors_mean: prior mean of each worker's ability, a Series by worker; 1 by default.
        betas_priors_mean: prior mean of each task's log-ease, a Series by task; 1 by default.
        m_step_max_iter: without effect: a step of EM has one Newton step for each ability and ease.
        m_step_tol: without effect, like m_step_max_iter.
        options: see `Estimator`.
    """

    method = "glad"
    as_they_appear = ("worker",)
    own_parameters = (
        "silent",
        "labels_priors",
        "alphas_priors_mean",
        "betas_priors_mean",
        "m_step_max_iter",
        "m_step_tol",
    )
    alphas_: Any  # Series "alpha", by worker: ability
    betas_: Any  # Series "beta", by task: the logarithm of ease
    loss_history_: list[float]  # the log-posterior per answer after each step

    @check_arguments
    def __init__(
        self,
        n_iter: int = 100,
        tol: float = 1e-5,
        silent: bool = True,
        labels_priors: Any = None,
        alphas_priors_mean: Any = None,
        betas_priors_mean: Any = None,
        m_step_max_iter: int = 25,
        m_step_tol: float = 1e-2,
        **options: Any,
    ) -> None:
        super().__init__(**{"n_iter": n_iter, "tol": tol, **options})
        self.silent = silent
        self.m_step_max_iter = m_step_max_iter
        self.m_step_tol = m_step_tol
        self.labels_priors = labels_priors
        self.alphas_priors_mean = alphas_priors_mean
        self.betas_priors_mean = betas_priors_mean

    @property
    def priors_(self) -> Any:
        """The prior probability of each class, a Series by label: `labels_priors`, or uniform."""
        labels = self.probas_.columns
        uniform = load_pandas().Series(1 / max(len(labels), 1), index=labels)
        return uniform if self.labels_priors is None else self.labels_priors

    def _run(self, answers: Answers, gold: Source) -> Result:
        known = known_classes(gold, answers)
        options = dict(self._options)
        means = {name: options.pop(name, None) for name in ("prior", "ability", "ease")}
        prior_means = (
            ("prior", "labels_priors", answers.classes, "classes"),
            ("ability", "alphas_priors_mean", answers.worker_names, "workers"),
            ("ease", "betas_priors_mean", answers.task_names, "tasks"),
        )
        for name, parameter, ids, what in prior_means:
            values = getattr(self, parameter)
            if values is not None:
                means[name] = by_name(ids, mapping_of(parameter, values), f"{what} are not in {parameter}")
        fit = fit_glad(answers, known, GladPriors.of(answers, **means), **options)
        self.loss_history_ = [log_posterior / max(answers.n_answers, 1) for log_posterior in fit.log_posteriors]
        self._fitted_parameters = fit.ability, fit.ease
        return glad_result(answers, fit, known)

    def _keep(self, result: Result, data: Source, accuracies: FloatArray | None = None) -> Self:
        pd = load_pandas()
        answers = result.answers
        ability, ease = self._fitted_parameters
        alphas = pd.Series(ability, index=index_of(answers.worker_names, data, "worker"), name="alpha")
        betas = pd.Series(ease, index=index_of(answers.task_names, data, "task"), name="beta")
        self.alphas_ = alphas.iloc[self._by_appearance(answers.worker_names, "worker")]
        self.betas_ = betas.iloc[self._by_appearance(answers.task_names, "task")]
        del self._fitted_parameters
        return super()._keep(result, data, accuracies)


class MACE(Estimator):
    """Workers who know the answer or guess by their response bias, from several starts; with crowd-kit's defaults.

    Args:
        n_restarts: number of random starts; in crowd-kit all starts have the same numbers.
        n_iter: number of steps from each start.
        method: ``vb``, variational inference, or ``em``.
        smoothing: without effect, as in crowd-kit, whose EM adds 0.01 answers, divided among the classes.
        default_noise: how much the starts differ.
        alpha: pseudo-count of guessed answers of each worker, with ``vb``.
        beta: pseudo-count of known answers of each worker, with ``vb``.
        random_state: seed of the starts.
        verbose: without effect: nothing is printed.
        options: see `Estimator`.
    """

    method = "mace"
    as_they_appear = ("task", "worker")
    own_parameters = ("smoothing", "verbose")
    spamming_: FloatArray  # workers × (guessed, known), in the order of `skills_`
    thetas_: FloatArray  # workers × classes: distribution of each worker's guesses

    @check_arguments
    def __init__(
        self,
        n_restarts: int = 10,
        n_iter: int = 50,
        method: str = "vb",
        smoothing: float = 0.1,
        default_noise: float = 0.5,
        alpha: float = 0.5,
        beta: float = 0.5,
        random_state: int | None = 0,
        verbose: int = 0,
        **options: Any,
    ) -> None:
        em_options: dict[str, Any] = {
            "n_restarts": n_restarts,
            "n_iter": n_iter,
            "method": method,
            "alpha": alpha,
            "beta": beta,
        }
        super().__init__(**em_options, default_noise=default_noise, random_state=random_state, **options)
        self.smoothing = smoothing
        self.verbose = verbose

    def _run(self, answers: Answers, gold: Source) -> Result:
        known = known_classes(gold, answers)
        fit = fit_mace(answers, known, **self._options)
        order = self._by_appearance(answers.worker_names, "worker")
        self.spamming_ = np.stack([fit.bias_rate, fit.knowledge], axis=1)[order]
        self.thetas_ = fit.strategy[order]
        return mace_result(answers, fit, known)
