"""Update of bias, scale and noise of each rater, and of the crowd's hyperparameters, from the sums of a pass.

Priors: (a_w, b_w) ~ N((0, 1), diag(V_a, V_b)); s_w² ~ scaled inverse chi² (s_0², nu_0); q_t ~ N(mu, tau²). All of mu,
tau², V_a, V_b, s_0², nu_0 and rho are estimated. Scores are standardised, so the bounds below have no unit.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.rating.passes import (
    BIAS,
    H1,
    H2,
    N_INPUTS,
    NOISE_VARIANCE,
    P11,
    P12,
    P22,
    SCALE,
    SUM_1,
    SUM_FOURTH,
    SUM_NOISE,
    SUM_SQUARE,
    T_FLOOR,
    T_FLOOR_WEIGHT,
    T_M,
    T_MM,
    T_N_PAIRS,
    T_NM,
    T_PAIR,
    T_PAIR_FIT,
    T_V,
    CrowdParameters,
)

# Lower bounds of variances, because an estimate of zero would stay at zero (conventional).
MIN_TASK_VARIANCE = 1e-3
MIN_LINE_VARIANCE = 1e-4
MIN_NOISE_VARIANCE = 1e-4  # a standard deviation of 1 % of that of the scores
FIXED_PRECISION = 1e10  # prior precision of a scale or bias that is not estimated
# Lower bound of the task variance, as a share of the covariance of pairs of raters, which does not depend on the
# noises: with EM steps alone, near-constant raters pull the task variance to zero (Snow et al., joy and surprise with 3
# to 5 answers).
MIN_SHARE_OF_PAIR_COVARIANCE = 0.5
HALF_WEIGHT_ANSWERS = 5.0  # number of answers at which a rater has half its weight in the crowd's variances
SCALE_PRIOR_RATERS = 2.0  # pseudo-raters of scale variance 0.05
START_SCALE_VARIANCE = 0.05
NOISE_DF_BOUNDS = (2.0, 200.0)
START_NOISE_DF = 4.0
MIN_RATERS_FOR_DF = 5  # with at least MIN_ANSWERS_FOR_DF answers each, to estimate how much noises differ
MIN_ANSWERS_FOR_DF = 4
TAIL_BOUNDS = (0.1, 1.0)  # of `Raters.tails`
MAX_RHO = 0.95
DAMPING = 0.5  # weight of the new sums of a rater, for belief propagation on a graph with cycles
TINY = 1e-12


@dataclass(frozen=True)
class Design:
    """What is fixed during the fit: the numbers of answers, and which parameters are estimated."""

    n_answers: FloatArray  # of each rater
    n_tasks: int
    scale_is_free: BoolArray  # of each rater: False if the scale is fixed at 1
    bias_is_free: bool = True
    noise_pool: IntArray | None = None  # raters with the same number share one noise; -1 for a separate noise
    one_noise: bool = False  # all raters have one noise

    @property
    def has_free_scales(self) -> bool:
        """Whether any scale is estimated."""
        return bool(self.scale_is_free.any())


@dataclass(frozen=True)
class Raters:
    """State of the fit: lines, noises and hyperparameters; standardised scores."""

    line: FloatArray  # bias and scale, 2 × raters
    sums: FloatArray  # Σ1/d, Σm/d, Σm²/d, Σy/d, Σym/d, 5 × raters
    noise: FloatArray  # s²
    mean: float  # mu
    variance: float  # tau²
    bias_variance: float  # V_a
    scale_variance: float  # V_b
    noise_level: float  # s_0²
    noise_df: float  # nu_0
    rho: float = 0.0
    tails: float = 1.0  # n answers determine a noise variance as well as tails × n normal answers
    covariance: FloatArray | None = None  # of (bias, scale): var, cov, var; 3 × raters
    is_first: bool = False

    def crowd(self) -> CrowdParameters:
        """Return the hyperparameters that a pass needs."""
        return CrowdParameters(
            self.mean, self.variance, self.bias_variance, self.scale_variance, self.rho, self.is_first
        )

    def table(self, design: Design) -> FloatArray:
        """Return the table that a pass reads, raters × `N_INPUTS`."""
        bias_precision, scale_precision = prior_precisions(self, design)
        out = np.empty((len(self.noise), N_INPUTS))
        out[:, BIAS] = self.line[0]
        out[:, SCALE] = self.line[1]
        out[:, NOISE_VARIANCE] = self.noise
        if self.is_first:  # the start is the centre of the prior; it contains no answers
            out[:, P11] = bias_precision
            out[:, P12] = 0.0
            out[:, P22] = scale_precision
            out[:, H1] = self.line[0] * bias_precision
            out[:, H2] = self.line[1] * scale_precision
            return out
        out[:, P11] = bias_precision + self.sums[0]
        out[:, P12] = self.sums[1]
        out[:, P22] = scale_precision + self.sums[2]
        out[:, H1] = self.sums[3]
        out[:, H2] = scale_precision + self.sums[4]
        return out

    def vector(self) -> FloatArray:
        """Return the state as one vector, with logarithms of positive quantities."""
        crowd = [self.variance, self.bias_variance, self.scale_variance, self.noise_level, self.noise_df]
        return np.concatenate(
            [self.line.ravel(), np.log(self.noise), [self.mean, self.rho], np.log(crowd), self.sums.ravel()]
        )

    def with_vector(self, vector: FloatArray) -> "Raters | None":
        """Return the state of a vector; None if the vector is not a possible state."""
        n = len(self.noise)
        line = vector[: 2 * n].reshape(2, n)
        noise = np.exp(vector[2 * n : 3 * n])
        mean, rho = vector[3 * n : 3 * n + 2]
        crowd = np.exp(vector[3 * n + 2 : 3 * n + 7])
        sums = vector[3 * n + 7 :].reshape(5, n)
        determinant = sums[0] * sums[2] - sums[1] ** 2
        is_possible = (sums[0] >= 0).all() and (sums[2] >= 0).all() and (determinant >= -1e-9 * sums[0] * sums[2]).all()
        if not (is_possible and np.isfinite(vector).all() and np.isfinite(crowd).all() and np.isfinite(noise).all()):
            return None
        return replace(
            self,
            line=line.copy(),
            sums=sums.copy(),
            noise=noise,
            mean=float(mean),
            rho=float(np.clip(rho, 0.0, MAX_RHO)),
            variance=float(crowd[0]),
            bias_variance=float(crowd[1]),
            scale_variance=float(crowd[2]),
            noise_level=float(crowd[3]),
            noise_df=float(np.clip(crowd[4], *NOISE_DF_BOUNDS)),
        )


def prior_precisions(raters: Raters, design: Design) -> tuple[float, FloatArray]:
    """Return the prior precision of the biases, and that of each rater's scale."""
    bias = 1 / raters.bias_variance if design.bias_is_free else FIXED_PRECISION
    return bias, np.where(design.scale_is_free, 1 / raters.scale_variance, FIXED_PRECISION)


def update(raters: Raters, sums: FloatArray, totals: FloatArray, design: Design) -> Raters:
    """Return the next state: lines and noises from the sums of a pass, then hyperparameters, on the panel's scale.

    Args:
        raters: the state that the pass was run with.
        sums: sums of the pass, raters × 8.
        totals: totals of the pass.
        design: what is fixed.
    """
    n = design.n_answers
    line_sums = sums[:, :5].T
    if not raters.is_first:
        line_sums = (1 - DAMPING) * raters.sums + DAMPING * line_sums
    bias_precision, scale_precision = prior_precisions(raters, design)
    p11 = bias_precision + line_sums[0]
    p12 = line_sums[1]
    p22 = scale_precision + line_sums[2]
    h1 = line_sums[3]
    h2 = scale_precision + line_sums[4]
    determinant = p11 * p22 - p12**2
    covariance = np.stack([p22, -p12, p11]) / determinant
    line = np.stack([covariance[0] * h1 + covariance[1] * h2, covariance[1] * h1 + covariance[2] * h2])
    noise_sum = sums[:, SUM_NOISE - SUM_1]
    tails = tail_factor(sums[:, SUM_SQUARE - SUM_1], sums[:, SUM_FOURTH - SUM_1], n)
    noise = np.maximum(_noises(noise_sum, n, tails, raters, design), MIN_NOISE_VARIANCE)

    # Hyperparameters of the crowd.
    n_answers = n.sum()
    mean = totals[T_NM] / n_answers
    square = totals[T_V] + totals[T_MM] - 2 * mean * totals[T_M] + design.n_tasks * mean**2
    pair_covariance = totals[T_FLOOR] / max(totals[T_FLOOR_WEIGHT], TINY)
    variance = max(square / design.n_tasks, MIN_SHARE_OF_PAIR_COVARIANCE * pair_covariance, MIN_TASK_VARIANCE)
    weight = n / (n + HALF_WEIGHT_ANSWERS)
    bias_variance = max(np.average(line[0] ** 2 + covariance[0], weights=weight), MIN_LINE_VARIANCE)
    scale_variance = raters.scale_variance
    free = design.scale_is_free
    if design.has_free_scales:
        deviation = weight[free] @ ((line[1] - 1) ** 2 + covariance[2])[free]
        of_prior = SCALE_PRIOR_RATERS * START_SCALE_VARIANCE
        scale_variance = max((deviation + of_prior) / (weight[free].sum() + SCALE_PRIOR_RATERS), MIN_LINE_VARIANCE)
    noise_level = float(np.exp(np.average(np.log(noise), weights=weight)))
    noise_df = _noise_df(noise_sum, n, tails, noise_level, weight, raters.noise_df)
    rho = raters.rho
    if totals[T_N_PAIRS] > 0:
        rho = float(np.clip((totals[T_PAIR] - totals[T_PAIR_FIT]) / totals[T_N_PAIRS], 0.0, MAX_RHO))
    new = Raters(
        line,
        line_sums,
        noise,
        float(mean),
        float(variance),
        float(bias_variance),
        float(scale_variance),
        noise_level,
        noise_df,
        rho,
        tails,
        covariance,
    )
    return to_panel_scale(new, design)


def tail_factor(square: FloatArray, fourth: FloatArray, n: FloatArray) -> float:
    """Return how many normal answers one answer is worth for a variance: 2/(kurtosis - 1), kurtosis pooled over raters.

    The denominator of the kurtosis is a U-statistic: products of squared errors of different answers.
    """
    several = n > 1
    if not several.any():
        return 1.0
    different = ((square**2 - fourth)[several] / (n[several] - 1)).sum()
    kurtosis = fourth[several].sum() / max(different, TINY)
    return float(np.clip(2 / max(kurtosis - 1, 1e-3), *TAIL_BOUNDS))


def _noises(noise_sum: FloatArray, n: FloatArray, tails: float, raters: Raters, design: Design) -> FloatArray:
    """Return the noise variance of each rater, shrunk to the crowd's; pooled for raters who share one noise."""
    if design.one_noise:
        return np.full(len(n), noise_sum.sum() / n.sum())
    strength = raters.noise_df
    noise = (strength * raters.noise_level + tails * noise_sum) / (strength + tails * n)
    pool = design.noise_pool
    if pool is not None and (pool >= 0).any():
        pooled = pool >= 0
        of_pool = np.bincount(pool[pooled], noise_sum[pooled])
        answers = np.bincount(pool[pooled], n[pooled])
        shared = (strength * raters.noise_level + tails * of_pool) / (strength + tails * answers)
        noise[pooled] = shared[pool[pooled]]
    return noise


def _noise_df(
    noise_sum: FloatArray, n: FloatArray, tails: float, level: float, weight: FloatArray, before: float
) -> float:
    """Return nu_0, by the variance of the logarithms of the noises beyond that of sampling."""
    has_enough = n >= MIN_ANSWERS_FOR_DF
    if has_enough.sum() < MIN_RATERS_FOR_DF:
        return before
    ratio = np.maximum(noise_sum / np.maximum(n, 1), 1e-9)[has_enough] / level
    excess = np.average(np.log(ratio) ** 2, weights=weight[has_enough])
    excess -= np.average(special.polygamma(1, tails * n[has_enough] / 2), weights=weight[has_enough])
    return float(np.clip(2 / max(excess, 1e-3), *NOISE_DF_BOUNDS))


def panel_weights(raters: Raters, design: Design) -> FloatArray:
    """Return each rater's weight in the panel's scale: answers × reliability, the share of variance due to tasks.

    A reversed rater has weight zero. With the correlation instead of its square, a rater who answers at random shrank
    the unit of all scores by 1 to 3 % (a chance scale of 0.1 to 0.25), which moved extreme scores by up to 0.44 se.
    """
    scale = np.maximum(raters.line[1], 0.0)
    due_to_tasks = scale**2 * raters.variance
    return np.asarray(design.n_answers * due_to_tasks / (due_to_tasks + raters.noise) + TINY)


def unit_variance(raters: Raters, design: Design) -> float:
    """Return the sampling variance of the panel's unit, the weighted mean of the raters' scales.

    A unit that is wrong by a factor f moves a score by (f - 1) times its distance from the mean. The passes do not show
    this error, because all raters share it.
    """
    if not design.has_free_scales:
        return 0.0
    weight = panel_weights(raters, design)
    share = weight / weight.sum()
    n_effective = 1 / float(share @ share)
    deviation = float(share**2 @ (raters.line[1] - 1) ** 2)
    return deviation * n_effective / max(n_effective - 1, 1.0)


def to_panel_scale(raters: Raters, design: Design) -> Raters:
    """Return the state on the panel's own scale: mean bias 0 and mean scale 1, with the weights of `panel_weights`.

    With q' = f q + c every line becomes (a - b c / f, b / f).
    """
    bias, scale = raters.line
    weight = panel_weights(raters, design)
    f = float(np.average(scale, weights=weight)) if design.has_free_scales else 1.0
    c = float(np.average(bias, weights=weight)) if design.bias_is_free else 0.0
    s1, sm, smm, sy, sym = raters.sums
    var_a, cov, var_b = np.zeros((3, len(bias))) if raters.covariance is None else raters.covariance
    new_scale = np.where(design.scale_is_free, scale / f, 1.0)
    return replace(
        raters,
        line=np.stack([bias - scale * c / f, new_scale]),
        sums=np.stack([s1, f * sm + c * s1, f**2 * smm + 2 * f * c * sm + c**2 * s1, sy, f * sym + c * sy]),
        covariance=np.stack([var_a - 2 * cov * c / f + var_b * (c / f) ** 2, (cov - var_b * c / f) / f, var_b / f**2]),
        mean=f * raters.mean + c,
        variance=f**2 * raters.variance,
        scale_variance=max(raters.scale_variance / f**2, MIN_LINE_VARIANCE),
    )
