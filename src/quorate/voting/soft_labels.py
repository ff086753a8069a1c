"""Soft labels: probability of every class of every task, and a weight per task for training on hard labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.arrays import FloatArray, Shown, Table, from_numpy, table_of
from quorate.errors import count
from quorate.voting.vote import Vote, skill_of


@dataclass(frozen=True, repr=False)
class SoftLabels(Shown):
    """Probabilities of classes: tasks × classes, NaN where the answers support no confidence."""

    tasks: pa.Array
    classes: pa.Array
    probabilities: FloatArray

    def weights(self) -> FloatArray:
        """Return one weight per task for training on hard labels: 1 for a certain label, 0 for one at chance."""
        return training_weights(self.probabilities)

    def to_numpy(self) -> FloatArray:
        """Return the probabilities; the columns are in the order of `classes`."""
        return self.probabilities

    @property
    def table(self) -> Table:
        """One row per task: the column task, and one column per class; a class called task makes it task_id."""
        classes = [str(name) for name in self.classes.to_pylist()]
        columns: dict[str, Any] = {"task" if "task" not in classes else "task_id": self.tasks}
        columns |= {
            name: from_numpy(p, mask=np.isnan(p)) for name, p in zip(classes, self.probabilities.T, strict=True)
        }
        return Table(table_of(columns))

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame` with the tasks as its index, one column per class, and a method ``weights``."""
        from quorate.voting.soft_label_frame import SoftLabelFrame

        index = self.tasks.to_pandas()
        index.name = "task"
        return SoftLabelFrame(self.probabilities, index=index, columns=self.classes.to_pylist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        array: FloatArray = np.array(self.probabilities, dtype=dtype, copy=copy is not False)
        return array

    def __len__(self) -> int:
        return len(self.tasks)

    def summary(self) -> str:
        """Describe how many tasks and classes there are."""
        return f"Probabilities of {count(len(self.classes), 'class')} for {count(len(self.tasks), 'task')}"

    def _tables(self) -> tuple[Table, ...]:
        return (self.table,)


def training_weights(probabilities: FloatArray) -> FloatArray:
    """Return (M p - 1)/(M - 1) of each row, with p its greatest probability: 0 at chance, 1 if certain, 0 for NaN.

    For two classes, the gradient of cross-entropy with soft labels is this weight times the gradient with the hard
    label, plus a part that does not depend on the hard label.

    >>> training_weights(np.array([[0.5, 0.5], [0.9, 0.1], [np.nan, np.nan]])).round(2).tolist()
    [0.0, 0.8, 0.0]
    """
    n_classes = probabilities.shape[1]
    if n_classes < 2:
        return np.ones(len(probabilities))
    return np.nan_to_num(skill_of(probabilities.max(axis=1, initial=0.0), n_classes), nan=0.0)


def soft_labels_of(vote: Vote, answers: Answers) -> SoftLabels:
    """Return the posterior of a vote as soft labels; NaN where its answers support none.

    >>> import quorate
    >>> result = quorate.aggregate({"task": [1, 1, 1], "worker": list("abc"), "label": list("xxy")}, "majority")
    >>> soft_labels_of(result.vote, result.answers).to_numpy().round(2).tolist()
    [[0.67, 0.33]]
    """
    posterior = vote.posterior
    if vote.is_stated is not None:
        posterior = np.where(vote.is_stated[:, None], posterior, np.nan)
    return SoftLabels(answers.task_names, answers.classes, posterior)
