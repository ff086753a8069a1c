"""Beta prior of one worker's accuracy: its strength, in pseudo-answers of the crowd's mean.

If the accuracies of a crowd have the Beta distribution with parameters a and b, the posterior mean of one worker's
accuracy counts the crowd's mean as a + b additional answers. The prior of confusion matrices is in
`confusion_prior.py`.
"""

import numpy as np

RELATIVE_SPREAD = 0.7  # standard deviation of accuracies over (mean - 1/M); by `make accuracy`
# Bounds in pseudo-answers of two classes, because a mean from few answers is noisy.
MIN_PRIOR_STRENGTH = 5.0
MAX_PRIOR_STRENGTH = 300.0
# Bounds of the mean accuracy: the strength is infinite at 1/M and zero at one.
MIN_ABOVE_GUESSING = 1e-3
MAX_MEAN_ACCURACY = 1 - 1e-6


def beta_strength(mean: float, variance: float) -> float:
    """Return a + b of the Beta distribution with this mean and variance.

    >>> round(beta_strength(0.75, 1 / 48), 6)  # of accuracies whose skills are uniform on [0, 1], for two classes
    8.0
    """
    return mean * (1 - mean) / variance - 1


def above_guessing(mean: float, n_classes: int) -> float:
    """Return a crowd's mean accuracy, clipped to lie above 1/M and below one.

    >>> above_guessing(0.2, n_classes=2), above_guessing(0.7, n_classes=2)
    (0.501, 0.7)
    """
    return float(np.clip(mean, 1 / n_classes + MIN_ABOVE_GUESSING, MAX_MEAN_ACCURACY))


def prior_strength_of_crowd(mean: float, n_classes: int) -> float:
    """Return the prior strength, in pseudo-answers, of a crowd with this mean accuracy, which must exceed 1/M.

    >>> round(prior_strength_of_crowd(0.8, n_classes=2), 2), prior_strength_of_crowd(0.501, n_classes=2)
    (5.0, 300.0)
    """
    spread = RELATIVE_SPREAD * (mean - 1 / n_classes)
    return float(np.clip(beta_strength(mean, spread**2), MIN_PRIOR_STRENGTH, MAX_PRIOR_STRENGTH))
