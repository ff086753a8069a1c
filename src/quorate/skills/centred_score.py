"""Score and variance of centred skills, from which intervals are computed; for any class prior and response bias.

Let z_it be the answer minus the worker's label frequencies f_i, and Y_t = sum_j x_j z_jt over the peers. If the skill
of i is u, z_it · Y_t has mean u G q_2, with G = 1 - sum pi² and q_r the sum of x_j^r over the peers. The answer is l
with probability f_i(l) + u ([l is true] - pi(l)), so, with F for diag(f) - f fᵀ, Pi for diag(pi) - pi piᵀ and tr for
the trace, the second moment of z_it · Y_t is, over the true classes,

    (q_2² - q_4) (tr(F_i Pi) + u B_i) + q_2 tr(F_i F) + u q_3 E_i

where B_i and E_i are third moments of the response bias (both zero for two even classes). For even classes without
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
MAX_CACHED_ENTRIES = 1 << 15  # of a matrix of workers × classes: 256 kB
CLASSES_PER_ANSWER = 10  # number of classes whose cost equals that of one answer


@dataclass(frozen=True, eq=False)
class CentredInference(SkillInference):
    """Skills from centred answers, and the answers from which they were estimated.

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
    is_free: BoolArray  # workers whose skill, if they have one, is an estimate: neither gold nor in a copying cluster
    bias_of_workers: ResponseBias
    ridge: float  # strength of the shrinkage toward the mean
    priors: Priors | None = None  # skills of workers from earlier runs
    prior_strength: FloatArray | None = None  # strength of the shrinkage toward them
    prior_scale: float = 1.0  # factor on the prior skills in the skills

    @property
    def n_answers(self) -> int:
        """Number of answers, gold included, times a factor for the cost of many classes: 2 from 20 classes on, etc."""
        return self.crowd.n_answers * max(1, self.n_classes // CLASSES_PER_ANSWER)

    @property
    def needs_peer_error(self) -> bool:
        """Whether the errors of the peers' skills can matter in addition to the errors of a worker's own answers."""
        return len(self.skills) <= AUTO_FULL_WORKERS

    @cached_property
    def _centring_factor(self) -> FloatArray:
        """Factor c = (n - 1)/n of each worker by which centring reduces its agreement with the truth.

        An answer is one of the n answers and pseudo-answers from which its worker's response bias is estimated.
        """
        n = self._bias_answers
        factor: FloatArray = (n + BIAS_PSEUDO_ANSWERS - 1) / (n + BIAS_PSEUDO_ANSWERS)
        return factor

    @property
    def _bias_answers(self) -> FloatArray:
        """Number of answers from which each worker's response bias is estimated, with the pseudo-answers of priors."""
        n_answers = self.crowd.per_worker.astype(np.float64)
        return n_answers if self.priors is None else n_answers + self.priors.pseudo_answers

    @cached_property
    def _passes(self) -> tuple[FloatArray, FloatArray]:
        """Each worker's sums over peers (`quorate.blocks.numpy_kernels.powers`), and its sums of z_it · Y_t over tasks.

        Both have the weights of the tasks. The last of the sums over peers is over gold only.
        """
        blocks = blocks_of(self.crowd)
        squares = np.where(self.is_gold, self._x**2, 0.0)
        powers: FloatArray = blocks.sum(power_sums, self._x, squares, False)[0]
        return powers, blocks.sum(centred_products, self._x, self.bias_of_workers.frequency)[0]

    @property
    def _information(self) -> FloatArray:
        """D: information of each worker's peers, the weighted sum of q_2 over its tasks."""
        information: FloatArray = self._passes[0][0]
        return information

    @cached_property
    def _peer_factor(self) -> FloatArray:
        """Part of c that the scale of the peers' skills already includes: the mean of c over the answers.

        The peers' skills are estimated from centred answers. The skill of gold is one by definition, so the factor is 1
        for the share of the information that comes from gold.
        """
        mean = float(np.average(self._centring_factor, weights=self.crowd.per_worker))
        by_gold = self._passes[0][-1]
        share = np.divide(by_gold, self._information, out=np.zeros_like(by_gold), where=self._information > 0)
        in_scale: FloatArray = mean + (1 - mean) * share
        return in_scale

    def agreement_score(self, skills: FloatArray) -> WorkerScore:
        """Return the score of rank-one at these skills, without centring.

        All methods use this test. With the centred score, whose variance includes that of the response bias, 20 workers
        of the public sets would be weakly identified instead of none.
        """
        return OneCoinInference(self.crowd, skills, self.is_free).score()

    @property
    def is_known_before(self) -> BoolArray:
        """Mask of the workers whose skills are known from an earlier run."""
        if self.priors is None:
            return np.zeros(len(self.skills), dtype=bool)
        return self.priors.is_known

    def score(self) -> WorkerScore:
        """Return each worker's raw estimate and its variance, in O(answers); prior skills are part of the estimate."""
        batch = self.batch_score()
        if self.priors is None or self.prior_strength is None:
            return batch
        share = self._batch_share
        error = np.zeros(len(share))
        np.divide(1.0, self.priors.precision, out=error, where=self.priors.is_known)
        alpha, beta, gamma = (
            np.nan_to_num(coefficient) * share**2 for coefficient in (batch.alpha, batch.beta, batch.gamma)
        )
        raw = np.where(share > 0, share * np.nan_to_num(batch.raw), 0.0) + (1 - share) * self.priors.skill
        is_informed = (share > 0) & ~np.isnan(batch.raw) | self.priors.is_known
        return WorkerScore(np.where(is_informed, raw, np.nan), alpha + (1 - share) ** 2 * error, beta, gamma)

    @cached_property
    def _batch_share(self) -> FloatArray:
        """Share of each raw estimate that comes from the answers and not from priors: D/(D + prior strength)."""
        total = self._information
        if self.prior_strength is not None:
            total = total + self.prior_strength
        share: FloatArray = np.divide(self._information, total, out=np.ones(len(total)), where=total > 0)
        return share

    @property
    def _ridge_to_mean(self) -> float | FloatArray:
        """Strength of the shrinkage toward the mean: reduced by that toward a prior skill, at least zero."""
        return self.ridge if self.prior_strength is None else np.maximum(self.ridge - self.prior_strength, 0.0)

    def batch_score(self) -> WorkerScore:
        """Return the score from these answers without priors, for fixed skills of the peers."""
        spread = self.bias_of_workers.spread
        (_, q2, q3, q4, q2_squared, _), agreed = self._passes
        pairs = q2_squared - q4
        scale = np.where(self._information > 0, self._information, np.nan)
        a, b, c, e = (moment / spread**2 for moment in self._bias_moments())
        alpha = (a * pairs + c * q2) / scale**2
        n = np.maximum(self._bias_answers, 1)
        # The response bias is an average over the same answers, so its error and the error of the mean of Y_t are
        # correlated through the skill. For a perfect worker with perfect peers, only their product is left.
        return WorkerScore(
            agreed / spread / (scale * self._centring_factor / self._peer_factor),
            alpha * (1 + 1 / n),
            (b * pairs + e * q3) / scale**2,
            q2_squared / scale**2 - 1 / n**2,
        )

    def shrunk_to(self, mean: float) -> FloatArray:
        """Return the raw estimates, shrunk toward a mean like the skills; the mean where peers have no information."""
        information = self._information
        raw = np.where(information > 0, np.nan_to_num(self.batch_score().raw), 0.0)
        shrunk: FloatArray = (information * raw + self.ridge * mean) / (information + self.ridge)
        return shrunk

    def on_scale(self, skills: FloatArray, after: float) -> FloatArray:
        """Return the skills rescaled from this G to another such that x² G stays the same.

        The part from earlier runs is not rescaled, because it is already on the other scale.
        """
        estimated, from_priors = self.parts(skills)
        return rescaled(estimated, self.bias_of_workers.spread, after) + from_priors

    def parts(self, skills: FloatArray) -> tuple[FloatArray, float | FloatArray]:
        """Split skills into the part that depends on the scale G, and the part from earlier runs, which does not."""
        if self.priors is None or self.prior_strength is None:
            return skills, 0.0
        total = self._information + self._ridge_to_mean + self.prior_strength
        from_priors = self.prior_strength / np.maximum(total, 1e-300) * self.priors.skill
        return skills - self.prior_scale * from_priors, from_priors

    def scale_range(self) -> tuple[float, float]:
        """Return the least and greatest factor on all skills within the standard error of the class prior."""
        from quorate.skills.centred_skills import prior_scale_range  # it imports this module

        return prior_scale_range(self)

    def noise(self) -> FloatArray:
        """Return the sampling variance of each skill: the variance of the raw estimate, reduced by the shrinkage."""
        x = np.clip(self._x, -1 / (self.n_classes - 1), 1.0)
        variance = np.nan_to_num(self.score().variance(x), nan=1.0)  # a worker without peers
        information = self._information
        if self.prior_strength is not None:
            information = information + self.prior_strength
        shrinkage: FloatArray = information / np.maximum(information + self._ridge_to_mean, 1e-12)
        return variance * shrinkage**2

    def _bias_moments(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return tr(F_i Pi), B_i, tr(F_i F) and E_i of each worker; F is the crowd's mean with the weights of peers."""
        n = self._bias_answers[:, None]
        mean = self.bias_of_workers.crowd
        label_counts = self.bias_of_workers.frequency * (n + BIAS_PSEUDO_ANSWERS) - BIAS_PSEUDO_ANSWERS * mean
        f = (label_counts + VARIANCE_PSEUDO_ANSWERS * mean) / (n + VARIANCE_PSEUDO_ANSWERS)
        share = self.crowd.per_worker * self._x**2
        share = share / max(float(share.sum()), 1e-300)
        noise = share * self._centring_factor**2  # centring reduces the noise of the peers, too
        prior = self.bias_of_workers.prior
        scale = self._peer_factor**2
        b, e = _by_rows(partial(_third_moments, crowd=share @ f, prior=prior), f)
        of_prior = _spread_traces(f, prior[None], np.ones(1))
        of_crowd = _spread_traces(f, f, noise)
        return of_prior, b, of_crowd * scale, e * noise.sum() * scale

    def peer_error(self, *, draws: int, seed: int) -> PeerError:
        """Return what the errors of the peers' skills add to the variances of the raw estimates."""
        from quorate.skills.variance_inflation import Curvature, ScoreContributions, peer_error, task_sums

        bias = self.bias_of_workers
        sums = task_sums(self.answers, self._x, bias.frequency, bias.spread, even=False)
        lowest = -1 / (self.n_classes - 1)
        raw = np.clip(np.nan_to_num(self.score().raw), lowest, 1.0)
        contributions = ScoreContributions(
            sums.block, sums.contributions(raw * self._centring_factor / self._peer_factor)
        )
        diagonal = self._information
        if self.priors is not None and self.prior_strength is not None:
            root = np.sqrt(self.priors.precision)
            # Standard error of each prior skill, times the strength of its shrinkage.
            prior_errors = np.divide(self.prior_strength, root, out=np.zeros(len(root)), where=root > 0)
            contributions = replace(contributions, prior_errors=prior_errors)
            diagonal = diagonal + self.prior_strength
        curvature = Curvature(diagonal, sums.peers, self.is_free & ~np.isnan(self.skills), self._ridge_to_mean)
        return peer_error(curvature, contributions, sums.shared, self._x, draws=draws, seed=seed)


def rescaled(skills: FloatArray, before: float, after: float) -> FloatArray:
    """Return skills rescaled from one G = 1 - sum pi² to another such that x² G stays the same.

    >>> rescaled(np.array([0.4]), 0.5, 0.32).tolist()
    [0.5]
    """
    scaled: FloatArray = skills * np.sqrt(before / after)
    return scaled


def _spread_traces(f: FloatArray, peer_frequency: FloatArray, weight: FloatArray) -> FloatArray:
    """Return tr(F_i F) of each worker, with F_i = diag(f_i) - f_i f_iᵀ and F the weighted sum of the peers' F_j."""
    # With more classes than workers, the products of pairs of workers take less memory than a matrix of classes.
    if max(len(f), len(peer_frequency)) < f.shape[1]:
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
    """Compute moments of each worker in batches of workers whose frequencies fit into the cache."""
    size = max(MAX_CACHED_ENTRIES // f.shape[1], 1)
    parts = [moments(f[low : low + size]) for low in range(0, max(len(f), 1), size)]
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


def _third_moments(f: FloatArray, crowd: FloatArray, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return B_i and E_i of each worker: change of the second moment if the answer is the true class and not any class.

    With d_l = e_l - f_i, B is the mean over g ~ pi of sum_l ([g=l] - pi_l) ((e_g - pi) · d_l)², and E that of
    sum_l ([g=l] - pi_l) sum_k ([g=k] - pi_k) (d_l(k) - d_l · f)², f being the crowd's label frequencies.
    """
    f_dot_prior = (f @ prior)[:, None]
    a = f_dot_prior - f
    if_any = prior * (1 + 2 * a - 2 * prior) + a * a - 2 * a * (prior @ prior) + (prior**3).sum()
    b = ((1 - prior + a) ** 2 - if_any) @ prior
    k = (f @ crowd)[:, None] - crowd
    if_true = (1 - f + k) ** 2
    if_any = prior * (if_true - (k - f) ** 2) + k * k - 2 * k * f_dot_prior + ((f * f) @ prior)[:, None]
    return b, (if_true - if_any) @ prior
