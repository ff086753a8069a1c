"""BinaryRelevance: several labels per task, one yes/no question for each label."""

from collections.abc import Sequence
from typing import Any, Self

from quorate.errors import InputError, OptionError, rows_phrase, shown
from quorate.estimators.base import COLUMNS, ConstructorParameters, load_pandas
from quorate.estimators.votes import MajorityVote
from quorate.io.arguments import check_arguments
from quorate.io.dataframes import Source, check_columns, names_of


class BinaryRelevance(ConstructorParameters):
    """Several labels per task by one yes/no question per label; an answer is a list of labels, and so is a result.

    After `fit`, `labels_` is a Series of lists by task, `probas_` a frame of tasks × labels with the probability that
    the label applies, and `aggregators_` the fitted aggregator of each label.

    Args:
        base_aggregator: an instance of another estimator; a new one with the same parameters is fitted for each label.

    >>> import pandas
    >>> label_lists = [["cat"], ["cat", "dog"], ["cat"], [], ["dog"], ["dog"]]
    >>> data = pandas.DataFrame({"task": [1, 1, 1, 2, 2, 2], "worker": list("abcabc"), "label": label_lists})
    >>> BinaryRelevance().fit_predict(data).to_dict()
    {1: ['cat'], 2: ['dog']}
    """

    own_parameters = ("base_aggregator",)
    labels_: Any
    probas_: Any
    aggregators_: dict[Any, Any]

    @check_arguments
    def __init__(self, base_aggregator: Any = None) -> None:
        missing = [name for name in ("fit", "get_params") if not hasattr(base_aggregator, name)]
        if base_aggregator is not None and (missing or isinstance(base_aggregator, type)):
            raise OptionError(
                f"base_aggregator must be an instance of an aggregator, such as DawidSkene(), got {base_aggregator!r}"
            )
        self.base_aggregator = base_aggregator

    def __repr__(self) -> str:
        return f"BinaryRelevance({'' if self.base_aggregator is None else f'base_aggregator={self.base_aggregator!r}'})"

    @check_arguments
    def fit(self, data: Source) -> Self:
        """Aggregate the answers.

        Args:
            data: a DataFrame, or data for one, with the columns task, worker and label; a label is a list of labels.

        Raises:
            InputError: a label is not a list, or the base aggregator cannot use the data.
        """
        pd = load_pandas()
        check_columns(names_of(data) or (), COLUMNS, "the table")
        frame = pd.DataFrame(data)[["task", "worker", "label"]]
        label_lists = _lists(frame["label"].tolist())
        base = MajorityVote() if self.base_aggregator is None else self.base_aggregator
        self.aggregators_ = {}
        for label in _in_order(set().union(*label_lists)):
            yes_no_answers = frame[["task", "worker"]].assign(label=[int(label in labels) for labels in label_lists])
            self.aggregators_[label] = type(base)(**base.get_params(deep=False)).fit(yes_no_answers)
        tasks = pd.Index(frame["task"].unique(), name="task")
        if self.aggregators_:
            tasks = next(iter(self.aggregators_.values())).labels_.index
        applies = {label: aggregator.labels_ == 1 for label, aggregator in self.aggregators_.items()}
        label_sets = [[label for label, chosen in applies.items() if chosen[task]] for task in tasks]
        self.labels_ = pd.Series(label_sets, index=tasks, name="agg_label", dtype=object)
        shares = {label: _yes(aggregator.probas_) for label, aggregator in self.aggregators_.items()}
        self.probas_ = pd.DataFrame(shares, index=tasks, columns=pd.Index(list(shares), name="label"))
        return self

    @check_arguments
    def fit_predict(self, data: Source) -> Any:
        """Fit, and return `labels_`."""
        return self.fit(data).labels_


def _lists(labels: Sequence[Any]) -> list[Any]:
    """Return the labels as sets; raise an error with the rows that have no list, because text is a list of letters."""
    wrong = [
        row for row, label in enumerate(labels) if isinstance(label, str | bytes) or not hasattr(label, "__iter__")
    ]
    if wrong:
        raise InputError(
            f"{rows_phrase(wrong)}: the label is not a list: {shown(labels[wrong[0]])}. BinaryRelevance takes a list "
            "of labels per answer; for one label per answer use its base aggregator"
        )
    return [frozenset(label) for label in labels]


def _in_order(labels: set[Any]) -> list[Any]:
    try:
        return sorted(labels)
    except TypeError:  # names of several types
        return sorted(labels, key=str)


def _yes(probas: Any) -> Any:
    return probas[1] if 1 in probas else probas[0] * 0.0  # no yes among the answers, only no
