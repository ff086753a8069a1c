"""Base classes of the estimators: options under crowd-kit's and our names, answers in, pandas objects out.

`get_params` and `set_params` are those of scikit-learn, so that `sklearn.clone` and searches work.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.errors import ArgumentError, InputError, argument_called, listing, not_installed, shown
from quorate.io.arguments import check_arguments, check_type, keyword_types
from quorate.io.columns import encode, positions
from quorate.io.dataframes import is_series
from quorate.io.gold import check_labels_given
from quorate.io.options import ROLES, ConflictPolicy, ReadOptions
from quorate.io.read_table import Source, read_table
from quorate.io.rows import read_rows
from quorate.methods.aggregate import AggregateKeywords, aggregate
from quorate.methods.registry import METHODS, check_option_names, option_names
from quorate.result import Result
from quorate.voting.vote import Vote, accuracy, plug_in_vote, weighted_majority


class ConstructorParameters:
    """Constructor parameters by name, as scikit-learn's ``get_params`` and ``set_params``.

    >>> from quorate.estimators import KOS
    >>> KOS(n_iter=5).set_params(random_state=3)
    KOS(n_iter=5, random_state=3)
    """

    own_parameters: ClassVar[tuple[str, ...]] = ()  # parameters of the constructor, kept as attributes

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._parameters().items())})"

    def _parameters(self) -> dict[str, Any]:
        """Return the arguments of the constructor by name."""
        return {name: getattr(self, name) for name in self.own_parameters}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; ``deep`` adds those of nested estimators, as ``outer__inner``."""
        parameters = self._parameters()
        if not deep:
            return parameters
        inner = {
            f"{name}__{inner_name}": setting
            for name, value in parameters.items()
            if hasattr(value, "get_params") and not isinstance(value, type)
            for inner_name, setting in value.get_params().items()
        }
        return {**parameters, **inner}

    def set_params(self, **changed: Any) -> Self:
        """Change some parameters; fitted attributes stay until the next `fit`.

        Raises:
            OptionError: there is no such parameter.
        """
        parameters = self._parameters()
        for name, value in changed.items():
            outer, _, inner = name.partition("__")
            if inner and hasattr(parameters.get(outer), "set_params"):
                parameters[outer].set_params(**{inner: value})
            else:
                parameters = self._with(parameters, name, value)
        self.__init__(**parameters)  # type: ignore[misc]  # the constructor only checks and stores
        return self

    def _with(self, parameters: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
        return {**parameters, name: value}


COLUMNS = dict.fromkeys(ROLES, "Rename the columns to task, worker and label")
# Names of crowd-kit for options that have other names in Quorate's methods.
RENAMED = {
    "n_iter": ("max_iterations", "iterations"),
    "tol": ("tolerance",),
    "random_state": ("seed",),
    "n_restarts": ("restarts",),
    "default_noise": ("noise",),
    "method": ("inference",),
    "lr_init": ("rate",),
    "lr_steps_to_reduce": ("slower_every",),
    "lr_reduce_factor": ("slower_by",),
    "eps": ("head_start",),
}


class Estimator(ConstructorParameters):
    """Base class; the options are those of the method, with Quorate's names or crowd-kit's.

    Args:
        on_conflict: when a worker gave one task two different labels: ``error``, ``first``, ``last`` or ``drop``.
        skip_missing: leave out rows with a missing field instead of raising an error.
        options: of the method, e.g. ``n_iter``, ``tol``, ``random_state``; see `quorate.methods.registry.METHODS`.

    Raises:
        OptionError: the method has no such option.
    """

    method: ClassVar[str]
    # "task" and "worker" are in the order of the data if they are listed here, else sorted, as in crowd-kit.
    as_they_appear: ClassVar[tuple[str, ...]] = ()
    scale: ClassVar[str] = "skill"  # values of `skills_`: skill, accuracy or weight, as in crowd-kit's class
    own_parameters: ClassVar[tuple[str, ...]] = ()  # in addition to `on_conflict`, `skip_missing` and the options
    labels_: Any  # Series "agg_label", by task
    probas_: Any  # DataFrame, tasks × labels
    skills_: Any  # Series "skill", by worker, on the scale of the class; NaN where not determined
    accuracies_: Any
    weights_: Any
    result_: Result

    @check_arguments
    def __init__(self, *, on_conflict: ConflictPolicy = "error", skip_missing: bool = False, **options: Any) -> None:
        self.on_conflict = on_conflict
        self.skip_missing = skip_missing
        self.options = options
        self._options = _translate(self.method, options)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.options.items())})"

    def __getattr__(self, name: str) -> Any:
        """Return an option as an attribute, as in crowd-kit and scikit-learn: `DawidSkene().n_iter`."""
        options = self.__dict__.get("options", {})  # missing while a copy is made
        if name in options:
            return options[name]
        kind = type(self)
        is_declared = hasattr(kind, name) or any(name in getattr(base, "__annotations__", {}) for base in kind.__mro__)
        is_fitted = "result_" in self.__dict__
        hint = " yet; call fit first" if is_declared and name.endswith("_") and not is_fitted else ""
        raise AttributeError(f"{kind.__name__} has no attribute {name!r}{hint}")

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an option, with the checks of the constructor; other attributes as usual."""
        if name in self.__dict__.get("options", {}):
            self.set_params(**{name: value})
        else:
            super().__setattr__(name, value)

    def _parameters(self) -> dict[str, Any]:
        rows = {"on_conflict": self.on_conflict, "skip_missing": self.skip_missing}
        return super()._parameters() | rows | self.options

    def _with(self, parameters: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
        """Replace an option, also if it is stored under its other name."""
        meant = next(iter(_translate(self.method, {name: value}, check=False)))
        same_option = {
            option
            for option in self.options
            if option != name and meant in _translate(self.method, {option: 0}, check=False)
        }
        return {key: setting for key, setting in parameters.items() if key not in same_option} | {name: value}

    @check_arguments
    def fit(self, data: Source, true_labels: Source = None) -> Self:
        """Aggregate the answers.

        Args:
            data: a DataFrame with the columns task, worker and label; or anything that `quorate.read` takes.
            true_labels: known labels: a Series by task.

        Raises:
            QuorateError: pandas is not installed.
            InputError: the data cannot be used; the message names the rows.
        """
        load_pandas()
        answers = self._read(data)
        with argument_called("gold=", "true_labels="):
            result = self._run(answers, gold_of(true_labels))
        return self._keep(result, data)

    def _run(self, answers: Answers, gold: Source) -> Result:
        return aggregate(answers, self.method, gold=gold, **self._options)

    @check_arguments
    def fit_predict(self, data: Source, *more: Any, **named: Any) -> Any:
        """Fit, and return `labels_`."""
        return self.fit(data, *more, **named).labels_

    @check_arguments
    def fit_predict_proba(self, data: Source, *more: Any, **named: Any) -> Any:
        """Fit, and return `probas_`."""
        return self.fit(data, *more, **named).probas_

    def _read(self, data: Source) -> Answers:
        table = read_table(data, COLUMNS, fixed=True)  # the columns must have crowd-kit's names
        self._appearance = {what: encode(table.column(what), what)[1] for what in ("task", "worker")}
        return read_rows(table, ReadOptions(on_conflict=self.on_conflict, skip_missing=self.skip_missing))

    def _keep(self, result: Result, data: Source, accuracies: FloatArray | None = None) -> Self:
        pd = load_pandas()
        answers = result.answers
        self.labels_, self.probas_ = self._outcome(answers, result.vote, data)
        workers = index_of(answers.worker_names, data, "worker")
        right = accuracy(result.skills, answers.n_classes) if accuracies is None else accuracies
        columns = {"skill": result.skills, "accuracy": right, "weight": result.weights}
        frame = self._ordered(pd.DataFrame(columns, index=workers), answers.worker_names, "worker")
        self.accuracies_ = frame["accuracy"]
        self.weights_ = frame["weight"]
        self.skills_ = frame[self.scale].rename("skill")
        self.result_ = result
        return self

    def _outcome(self, answers: Answers, task_vote: Vote, data: Source) -> tuple[Any, Any]:
        pd = load_pandas()
        tasks = index_of(answers.task_names, data, "task")
        classes = index_of(answers.classes, data, "label")
        chosen = classes.take(task_vote.label)
        if (task_vote.label < 0).any():  # tasks without answers
            chosen = pd.Series(chosen).where(task_vote.label >= 0).to_numpy()
        labels = pd.Series(chosen, index=tasks, name="agg_label")
        probas = pd.DataFrame(task_vote.posterior, index=tasks, columns=classes).sort_index(axis=1)
        return self._ordered(labels, answers.task_names, "task"), self._ordered(probas, answers.task_names, "task")

    def _ordered(self, named: Any, names: pa.Array, what: str) -> Any:
        return named.iloc[self._by_appearance(names, what)] if what in self.as_they_appear else named.sort_index()

    def _by_appearance(self, names: pa.Array, what: str) -> IntArray:
        """Return the positions of tasks or workers in the order of their first appearance in the data read last."""
        return np.argsort(positions(names, self._appearance[what]))


class Voter(Estimator):
    """An estimator whose result is a weighted vote, which can also label other tasks of the same workers."""

    @check_arguments
    def predict(self, data: Source) -> Any:
        """Label tasks, fitted or new, by a vote with the fitted weights; return a Series like `labels_`."""
        return self._vote(data)[0]

    @check_arguments
    def predict_proba(self, data: Source) -> Any:
        """Vote as `predict` does; return a DataFrame like `probas_`."""
        return self._vote(data)[1]

    def _vote(self, data: Source) -> tuple[Any, Any]:
        answers = self._read(data)
        weights = by_worker(answers, self.weights_.to_dict(), "fitted")
        vote = plug_in_vote if METHODS[self.method].posterior else weighted_majority
        return self._outcome(answers, vote(answers, weights), data)


def load_pandas() -> Any:
    """Import pandas, or raise an error that names the extra to install.

    >>> load_pandas().__name__
    'pandas'
    """
    try:
        import pandas
    except ImportError:
        raise not_installed("an estimator", "pandas", "[pandas]") from None
    return pandas


def _translate(method: str, options: Mapping[str, Any], *, check: bool = True) -> dict[str, Any]:
    """Return the options with the names of the method; a seed of None becomes 0."""
    run = METHODS[method].load()
    known = option_names(run, dict(options))
    name_given = {}  # by the method's name of the option
    for name in options:
        candidates = (name, *RENAMED.get(name, ()))
        option = next((candidate for candidate in candidates if candidate in known), name)
        name_given[option] = name
    translated = {option: options[name] for option, name in name_given.items()}
    has_no_seed = "seed" in translated and translated["seed"] is None
    if has_no_seed:
        translated["seed"] = 0
    if check:
        check_option_names(method, run, translated, excluded=("gold",))
        types = keyword_types(AggregateKeywords)
        for option, name in name_given.items():
            if option in types and not (option == "seed" and has_no_seed):
                check_type(name, options[name], types[option], None)
    return translated


def gold_of(true_labels: Any) -> Any:
    """Return known labels, a Series by task, in the form that the methods take.

    >>> gold_of(load_pandas().Series({7: "cat"}))
    {'task': [7], 'label': ['cat']}
    """
    if true_labels is not None:
        check_labels_given(true_labels, None, "true_labels=")
    if not is_series(true_labels):
        return true_labels
    return {"task": true_labels.index.tolist(), "label": true_labels.tolist()}


def index_of(names: pa.Array, data: Source, column: str) -> Any:
    """Return an index of names, with the type of the column in the data frame.

    >>> index_of(pa.array(["a"]), None, "worker").tolist()
    ['a']
    """
    pd = load_pandas()
    index = pd.Index(names.to_pylist(), name=column)
    kind = getattr(getattr(data, "get", lambda _: None)(column), "dtype", None)
    if kind is None or not isinstance(data, pd.DataFrame):
        return index
    return index.astype(getattr(kind, "categories", index).dtype if kind == "category" else kind)


def mapping_of(name: str, values: Any) -> dict[Any, float]:
    """Return a Series or a mapping of numbers as a dictionary.

    Raises:
        ArgumentError: it is neither, or has values that are not numbers.

    >>> mapping_of("skills", {"ann": 0.5})
    {'ann': 0.5}
    """
    if not is_series(values) and not isinstance(values, Mapping):
        raise ArgumentError(f"{name}= takes numbers by name: a Series or a mapping, not {shown(values, 40)}")
    try:
        return {key: float(value) for key, value in values.items()}
    except (TypeError, ValueError):
        raise ArgumentError(f"{name}= takes numbers by name, and holds something else: {shown(values, 40)}") from None


def by_worker(answers: Answers, values: Mapping[Any, float], what: str, default: float | None = None) -> FloatArray:
    """Return the value of each worker of the answers; `default` for workers without one.

    Raises:
        InputError: a worker has no value, and there is no default.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["ann", "bob"], "label": ["x", "y"]})
    >>> by_worker(answers, {"ann": 0.5}, "given a skill", default=0.0).tolist()
    [0.5, 0.0]
    """
    return by_name(answers.worker_names, values, f"workers were not {what}", default, "Leave their answers out")


def by_name(
    names: pa.Array, values: Mapping[Any, float], lacking: str, default: float | None = None, remedy: str = "Add them"
) -> FloatArray:
    """Return the value of each name; `default` for names without one.

    Raises:
        InputError: a name has no value, and there is no default.

    >>> by_name(pa.array(["x", "y"]), {"y": 0.5, "x": 0.25}, "classes have no share").tolist()
    [0.25, 0.5]
    """
    listed = names.to_pylist()
    unknown_ids = [name for name in listed if name not in values]
    if unknown_ids and default is None:
        raise InputError(f"{len(unknown_ids):,} {lacking}: {listing(unknown_ids)}. {remedy}")
    return np.array([float(values.get(name, default or 0.0)) for name in listed])


def confusion_frame(result: Result, matrices: FloatArray) -> Any:
    """Return confusion matrices (workers × answers × classes) as a frame like crowd-kit's: rows (worker, label).

    >>> from quorate.methods.aggregate import majority_vote
    >>> result = majority_vote({"task": [1, 1], "worker": ["ann", "bob"], "label": ["x", "y"]})
    >>> confusion_frame(result, np.zeros((2, 2, 2))).shape
    (4, 2)
    """
    pd = load_pandas()
    answers = result.answers
    classes = answers.classes.to_pylist()
    rows = pd.MultiIndex.from_product([answers.worker_names.to_pylist(), classes], names=["worker", "label"])
    frame = pd.DataFrame(matrices.reshape(len(rows), -1), index=rows, columns=pd.Index(classes))
    return frame.sort_index().sort_index(axis=1)
