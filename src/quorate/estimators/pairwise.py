"""crowd-kit's rankings by pairwise comparisons: BradleyTerry and NoisyBradleyTerry."""

from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from quorate.errors import OptionError
from quorate.estimators.base import ConstructorParameters, load_pandas
from quorate.io.arguments import check_arguments
from quorate.io.exports.pairwise import read_pairs
from quorate.io.pairs import PairOptions, PairRows
from quorate.io.read_table import Source
from quorate.ranking.rank import RankingOptions, rank_rows
from quorate.ranking.ranking import Ranking


class BradleyTerry(ConstructorParameters):
    """Strengths of items from pairwise comparisons, all workers with the same skill; ties count, unlike in crowd-kit.

    The data have the columns left, right and label, which is the winner's name. `scores_` are positive and sum to one,
    in the order of the names, as in crowd-kit; `ranking_` is the whole `quorate.Ranking` with intervals.

    Args:
        n_iter: accepted as in crowd-kit; the fit ends when it has converged.
        tol: accepted as in crowd-kit; see n_iter.

    >>> import pandas
    >>> data = pandas.DataFrame({"left": list("aab"), "right": list("bcc"), "label": list("aab")})
    >>> BradleyTerry(n_iter=100).fit_predict(data).round(1).to_dict()
    {'a': 0.5, 'b': 0.3, 'c': 0.2}
    """

    own_parameters: ClassVar[tuple[str, ...]] = ("n_iter", "tol")
    scores_: Any  # Series by item
    ranking_: Ranking

    @check_arguments
    def __init__(self, n_iter: int = 100, tol: float = 1e-5) -> None:
        if n_iter < 1:
            raise OptionError(f"n_iter must be at least 1, got {n_iter}")
        self.n_iter = n_iter
        self.tol = tol

    @check_arguments
    def fit(self, data: Source) -> Self:
        """Rank the items.

        Raises:
            InputError: the data cannot be used; the message names the rows.
        """
        pandas = load_pandas()
        self.ranking_ = self._rank(read_pairs(data, PairOptions(left="left", right="right", winner="label")))
        strength = self.ranking_.strengths
        scores = np.exp(strength - strength.max())
        self.scores_ = pandas.Series(scores / scores.sum(), index=_index(self.ranking_.comparisons.items), name="score")
        return self

    @check_arguments
    def fit_predict(self, data: Source) -> Any:
        """Rank the items and return `scores_`."""
        return self.fit(data).scores_

    def _rank(self, rows: PairRows) -> Ranking:
        return rank_rows(rows, RankingOptions(judge_skill="off", position=False))


class NoisyBradleyTerry(BradleyTerry):
    """Strengths with the skill and the left bias of each worker; skills may be negative.

    The data have the columns worker, left, right and label. `scores_` as in `BradleyTerry`; `skills_` is the skill of
    each worker (1 typical, 0 answers at random) and `biases_` the preference for the left item in log-odds, by worker.

    Args:
        n_iter: accepted as in crowd-kit; the fit ends when it has converged.
        tol: accepted as in crowd-kit; see n_iter.
        regularization_ratio: accepted as in crowd-kit; shrinkage is estimated from the data.
        random_state: seed of the draws behind the rank intervals of `ranking_`.

    >>> import pandas
    >>> data = pandas.DataFrame({"left": list("abab"), "right": list("baba"), "label": list("aaaa"),
    ...                          "worker": [1, 1, 2, 2]})
    >>> NoisyBradleyTerry().fit_predict(data).idxmax()
    'a'
    """

    own_parameters = ("n_iter", "tol", "regularization_ratio", "random_state")
    skills_: Any  # Series by worker
    biases_: Any  # Series by worker

    @check_arguments
    def __init__(
        self, n_iter: int = 100, tol: float = 1e-5, regularization_ratio: float = 1e-5, random_state: int = 0
    ) -> None:
        super().__init__(n_iter, tol)
        self.regularization_ratio = regularization_ratio
        self.random_state = random_state

    @check_arguments
    def fit(self, data: Source) -> Self:
        """Rank the items and estimate the workers.

        Raises:
            InputError: the data cannot be used; the message names the rows.
            UndeterminedError: a single worker would decide the direction.
        """
        super().fit(data)
        pandas = load_pandas()
        judges = _index(self.ranking_.comparisons.judges)
        table = self.ranking_.judges.to_arrow()
        self.skills_ = pandas.Series(table.column("skill").to_pylist(), index=judges, name="skill")
        sides = [0.0 if value is None else value for value in table.column("left_bias").to_pylist()]
        self.biases_ = pandas.Series(sides, index=judges, name="bias")
        self.skills_.index.name = "worker"
        self.biases_.index.name = "worker"
        return self

    def _rank(self, rows: PairRows) -> Ranking:
        if rows.layout.judge is None:
            raise OptionError("NoisyBradleyTerry needs the column worker; BradleyTerry does without")
        return rank_rows(rows, RankingOptions(judge_skill="on", seed=self.random_state))


def _index(names: tuple[str, ...]) -> list[Any]:
    """Return the names as integers if all of them are integers."""
    try:
        return list(pa.array(names, pa.string()).cast(pa.int64()).to_pylist())
    except pa.ArrowInvalid:
        return list(names)
