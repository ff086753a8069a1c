"""Score and variance of centred skills, from which intervals are computed; for any class prior and response bias.

Let z_it be the answer less the worker's label frequencies f_i, and Y_t = sum_j x_j z_jt over the peers. If the skill of
i is u, z_it · Y_t has mean u G q_2, with G = 1 - sum pi² and q_r the sum of x_j^r over the peers. The answer is l with
probability f_i(l) + u ([l is true] - pi(l)), so, with F for diag(f) - f fᵀ, Pi for diag(pi) - pi piᵀ and tr for the
trace, the second moment of z_it · Y_t is, over the true classes,

    (q_2² - q_4) (tr(F_i Pi) + u B_i) + q_2 tr(F_i F) + u q_3 E_i

where B_i and E_i are third moments of the response bias (both zero for two even classes). For even classes and no
response bias these are the sums of `rank_one_score.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from quorate.arrays import BoolArray, FloatArray
from quorate.blocks.kernels import centred_products, power_sums
from quorate.blocks.memory import blocks_of
from quorate.models.response_bias import ResponseBias
from quorate.skills.intervals import AUTO_FULL_WORKERS, PeerError, WorkerScore
from quorate.skills.priors import Priors
from quorate.skills.rank_one_score import OneCoinInference, SkillInference
from quorate.skills.shrinkage import BIAS_PSEUDO_ANSWERS

# Pseudo-answers toward the crowd's response bias inside variances; without them five equal answers have variance zero.
VARIANCE_PSEUDO_ANSWERS = 20.0
CACHED_ENTRIES = 1 << 15  # of workers × classes: 256 kB
CLASSES_PER_ANSWER = 10  # classes whose cost equals that of one answer


@dataclass(frozen=True, eq=False)
class CentredInference(SkillInference):
    """Skills from centred answers, and the answers behind them.

    >>> import quorate
    >>> from quorate.skills.centred import centred_skills
    >>> crowd = quorate.simulate.crowd(300, 3, 3, skills=np.array([0.8, 0.6, 0.4]), seed=0)
    >>> centred = centred_skills(crowd.answers)
    >>> gold, free = np.zeros(3, bool), np.ones(3, bool)
    >>> inference = CentredInference(crowd.answers, crowd.skills, gold, free, centred.bias_of_workers, centred.ridge)
    >>> bool(np.all(np.abs(inference.score().raw - crowd.skills) < 0.3))
    True
    """

    is_gold: BoolArray  # of each worker
    is_free: BoolArray  # its skill, if it has one, is an estimate: neither gold nor a copy
    bias_of_workers: ResponseBias
    ridge: float  # by which the skills are shrunk toward their mean
    priors: Priors | None = None  # what was known of the workers from before
    pull: FloatArray | None = None  # by which the skills are shrunk toward that
    prior_scale: float = 1.0  # what was known stands in the skills on the scale of this factor

    @property
    def n_answers(self) -> int:
        """How many answers there are, gold's included; counted twice from 20 classes on, and so forth."""
        return self.crowd.n_answers * max(1, self.n_classes // CLASSES_PER_ANSWER)

    @property
    def needs_peer_error(self) -> bool:
        """Whether the errors of the peers' skills can matter beside those of a worker's own answers."""
        return len(self.skills) <= AUTO_FULL_WORKERS

    @cached_property
    def _kept(self) -> FloatArray:
        """c: factor by which an answer's own share in the response bias reduces its agreement with the truth."""
        n = self._bias_answers
        kept: FloatArray = (n + BIAS_PSEUDO_ANSWERS - 1) / (n + BIAS_PSEUDO_ANSWERS)
        return kept

    @property
    def _bias_answers(self) -> FloatArray:
        """Number of answers behind each worker's response bias, pseudo-answers of priors included."""
        n_answers = self.crowd.per_worker.astype(np.float64)
        return n_answers if self.priors is None else n_answers + self.priors.worth

    @cached_property
    def _passes(self) -> tuple[FloatArray, FloatArray]:
        """The sums over peers that `quorate.blocks.numpy_kernels.powers` lists, and those of z_it · Y_t over the tasks.

        Both are weighed by the tasks; the last of the powers is over those who are gold.
        """
        blocks = blocks_of(self.crowd)
        squares = np.where(self.is_gold, self._x**2, 0.0)
        powers: FloatArray = blocks.sum(power_sums, self._x, squares, False)[0]
        return powers, blocks.sum(centred_products, self._x, self.bias_of_workers.frequency)[0]

    @property
    def _known(self) -> FloatArray:
        """D: information of the peers, the sum of omega q_2 over each worker's tasks."""
        known: FloatArray = self._passes[0][0]
        return known

    @cached_property
    def _in_scale(self) -> FloatArray:
        """How much of c the scale of the peers' skills holds already: its mean, for skills come from centred answers.

        Nothing of it where the peer is gold, whose skill is one by definition.
        """
        mean = float(np.average(self._kept, weights=self.crowd.per_worker))
        by_gold = self._passes[0][-1]
        share = np.divide(by_gold, self._known, out=np.zeros_like(by_gold), where=self._known > 0)
        in_scale: FloatArray = mean + (1 - mean) * share
        return in_scale

    def agreement_score(self, skills: FloatArray) -> WorkerScore:
        """Return the score of rank-one at these skills, without centring.

        One test for all methods: the centred score, whose variance includes that of the response bias, would call 20
        workers of the public sets weakly identified instead of none.
        """
        return OneCoinInference(self.crowd, skills, self.is_free).score()

    @property
    def is_known_before(self) -> BoolArray:
        """Which workers' skills are known from an earlier run."""
        if self.priors is None:
            return np.zeros(len(self.skills), dtype=bool)
        return self.priors.is_known

    def score(self) -> WorkerScore:
        """Return each worker's raw estimate and the variance it has, in O(answers); what is known is part of it."""
        batch = self.batch_score()
        if self.priors is None or self.pull is None:
            return batch
        share = self._batch_share
        known = self.priors.skill
        error = np.zeros(len(share))
        np.divide(1.0, self.priors.precision, out=error, where=self.priors.is_known)
        alpha, beta, gamma = (
            np.nan_to_num(coefficient) * share**2 for coefficient in (batch.alpha, batch.beta, batch.gamma)
        )
        raw = np.where(share > 0, share * np.nan_to_num(batch.raw), 0.0) + (1 - share) * known
        is_informed = (share > 0) & ~np.isnan(batch.raw) | self.priors.is_known
        return WorkerScore(np.where(is_informed, raw, np.nan), alpha + (1 - share) ** 2 * error, beta, gamma)

    @cached_property
    def _batch_share(self) -> FloatArray:
        """Share of a raw estimate that comes from the batch rather than from priors: D/(D + prior precision)."""
        pull = np.zeros(len(self._known)) if self.pull is None else self.pull
        both = self._known + pull
        share: FloatArray = np.divide(self._known, both, out=np.ones(len(both)), where=both > 0)
        return share

    @property
    def _to_mean(self) -> float | FloatArray:
        """By how much skills are drawn to their mean: less where something is known, which takes its place."""
        return self.ridge if self.pull is None else np.maximum(self.ridge - self.pull, 0.0)

    def batch_score(self) -> WorkerScore:
        """Return the score of these answers alone, the peers' skills being fixed."""
        spread = self.bias_of_workers.spread
        (_, one, cube, q4, both, _), agreed = self._passes
        pairs = both - q4
        scale = np.where(self._known > 0, self._known, np.nan)
        a, b, c, e = (moment / spread**2 for moment in self._bias_moments())
        alpha = (a * pairs + c * one) / scale**2
        n = np.maximum(self._bias_answers, 1)
        # The response bias is an average over the same answers. The product of its error and that of the mean of Y_t,
        # correlated through the skill, remains of the variance where worker and peers are perfect.
        return WorkerScore(
            agreed / spread / (scale * self._kept / self._in_scale),
            alpha * (1 + 1 / n),
            (b * pairs + e * cube) / scale**2,
            both / scale**2 - 1 / n**2,
        )

    def shrunk_to(self, mean: float) -> FloatArray:
        """Return the raw estimates, shrunk toward a mean as skills are; the mean where peers are uninformative."""
        information = self._known
        raw = np.where(information > 0, np.nan_to_num(self.batch_score().raw), 0.0)
        shrunk: FloatArray = (information * raw + self.ridge * mean) / (information + self.ridge)
        return shrunk

    def on_scale(self, skills: FloatArray, after: float) -> FloatArray:
        """Rescale skills from this G to another; x² G is kept.

        Skills from earlier runs are on the other scale already.
        """
        estimated, known = self.parts(skills)
        return rescaled(estimated, self.bias_of_workers.spread, after) + known

    def parts(self, skills: FloatArray) -> tuple[FloatArray, float | FloatArray]:
        """Split skills into the part that scales with G, and the part from earlier runs, which does not."""
        if self.priors is None or self.pull is None:
            return skills, 0.0
        known = self.pull / np.maximum(self._known + self._to_mean + self.pull, 1e-300) * self.priors.skill
        return skills - self.prior_scale * known, known

    def scale_range(self) -> tuple[float, float]:
        """Return the factors on the skills that the uncertainty of the class prior allows."""
        from quorate.skills.centred_skills import prior_scale_range  # which is built on these scores

        return prior_scale_range(self)

    def noise(self) -> FloatArray:
        """Return the sampling variance of each skill: that of the raw estimate, reduced by the ridge."""
        x = np.clip(self._x, -1 / (self.n_classes - 1), 1.0)
        variance = np.nan_to_num(self.score().variance(x), nan=1.0)  # a worker without peers
        known = self._known if self.pull is None else self._known + self.pull
        shrinkage: FloatArray = known / np.maximum(known + self._to_mean, 1e-12)
        return variance * shrinkage**2

    def _bias_moments(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return tr(F_i Pi), B_i, tr(F_i F) and E_i of each worker; F is the crowd's mean, weighed as the peers are."""
        n = self._bias_answers[:, None]
        mean = self.bias_of_workers.crowd
        label_counts = self.bias_of_workers.frequency * (n + BIAS_PSEUDO_ANSWERS) - BIAS_PSEUDO_ANSWERS * mean
        f = (label_counts + VARIANCE_PSEUDO_ANSWERS * mean) / (n + VARIANCE_PSEUDO_ANSWERS)
        share = self.crowd.per_worker * self._x**2
        share = share / max(float(share.sum()), 1e-300)
        noise = share * self._kept**2  # centring takes from the peers' noise, too
        prior = self.bias_of_workers.prior
        scale = self._in_scale**2
        b, e = _by_rows(partial(_third_moments, crowd=share @ f, prior=prior), f)
        of_prior = _spread_traces(f, prior[None], np.ones(1))
        of_crowd = _spread_traces(f, f, noise)
        return of_prior, b, of_crowd * scale, e * noise.sum() * scale

    def peer_error(self, *, draws: int, seed: int) -> PeerError:
        """Return the errors of the peers' skills, with psi and the curvature as sums over tasks."""
        from quorate.skills.variance_inflation import Curvature, Pulls, peer_error, task_sums

        bias = self.bias_of_workers
        sums = task_sums(self.answers, self._x, bias.frequency, bias.spread, even=False)
        lowest = -1 / (self.n_classes - 1)
        tried = np.clip(np.nan_to_num(self.score().raw), lowest, 1.0) * self._kept / self._in_scale
        pulls = Pulls(sums.block, sums.pulls(tried))
        known = self._known
        if self.priors is not None and self.pull is not None:
            root = np.sqrt(self.priors.precision)
            # By how much what is known of each worker from before may be off.
            off = np.divide(self.pull, root, out=np.zeros(len(root)), where=root > 0)
            pulls = replace(pulls, known=off)
            known = known + self.pull
        curvature = Curvature(known, sums.peers, self.is_free & ~np.isnan(self.skills), self._to_mean)
        return peer_error(curvature, pulls, sums.shared, self._x, draws=draws, seed=seed)


def rescaled(skills: FloatArray, before: float, after: float) -> FloatArray:
    """Rescale skills from one G = 1 - sum pi² to another; x² G is kept.

    >>> rescaled(np.array([0.4]), 0.5, 0.32).tolist()
    [0.5]
    """
    scaled: FloatArray = skills * np.sqrt(before / after)
    return scaled


def _spread_traces(f: FloatArray, peer_frequency: FloatArray, weight: FloatArray) -> FloatArray:
    """Return tr(F_i F) of each worker: F_i = diag(f_i) - f_i f_iᵀ, and F the sum of the others' by their weight."""
    if (
        max(len(f), len(peer_frequency)) < f.shape[1]
    ):  # of many classes a matrix would be larger than a product for every two
        mean = weight @ peer_frequency
        squares = weight @ peer_frequency**2
        traces: FloatArray = f @ (mean - squares) - (f * f) @ mean + (f @ peer_frequency.T) ** 2 @ weight
        return traces
    matrix = np.diag(weight @ peer_frequency) - (peer_frequency * weight[:, None]).T @ peer_frequency
    return _by_rows(lambda rows: (_traces(rows, matrix),), f)[0]


def _traces(f: FloatArray, matrix: FloatArray) -> FloatArray:
    """Return tr((diag(f_i) - f_i f_iᵀ) matrix) of each worker."""
    traces: FloatArray = f @ np.diag(matrix) - ((f @ matrix) * f).sum(axis=1)
    return traces


def _by_rows(moments: Callable[[FloatArray], tuple[FloatArray, ...]], f: FloatArray) -> tuple[FloatArray, ...]:
    """Compute moments of each worker for some workers at a time, so that what they need stays in the cache."""
    size = max(CACHED_ENTRIES // f.shape[1], 1)
    parts = [moments(f[low : low + size]) for low in range(0, max(len(f), 1), size)]
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


def _third_moments(f: FloatArray, crowd: FloatArray, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return B_i and E_i: how the second moment changes where the answer is the true class rather than any.

    With d_l = e_l - f_i, B is the mean over g ~ pi of sum_l ([g=l] - pi_l) ((e_g - pi) · d_l)², and E that of
    sum_l ([g=l] - pi_l) sum_k ([g=k] - pi_k) (d_l(k) - d_l · f)², f being the crowd's label frequencies.
    """
    f_dot_prior = (f @ prior)[:, None]
    a = f_dot_prior - f
    elsewhere = prior * (1 + 2 * a - 2 * prior) + a * a - 2 * a * (prior @ prior) + (prior**3).sum()
    b = ((1 - prior + a) ** 2 - elsewhere) @ prior
    k = (f @ crowd)[:, None] - crowd
    at = (1 - f + k) ** 2
    elsewhere = prior * (at - (k - f) ** 2) + k * k - 2 * k * f_dot_prior + ((f * f) @ prior)[:, None]
    return b, (at - elsewhere) @ prior
