"""How many answers the crowd's mean is worth, where one worker's accuracy is shrunk toward it.

An accuracy found from few answers is often 0 or 1 by chance. If the accuracies of a crowd follow a Beta law, the best
guess of one worker's counts the mean as so many further answers as the law's two parameters add up to.
"""

import numpy as np

SPREAD = 0.7  # standard deviation of accuracies, as a share of how far the crowd is above guessing; by `make accuracy`
LEAST_WORTH, MOST_WORTH = 5.0, 300.0  # answers of two classes; so much whatever the crowd's mean is, lest noise decide
LEAST_ABOVE, MOST_MEAN = 1e-3, 1 - 1e-6  # the mean is kept so far above guessing and below one: the rule divides by it


def beta_worth(mean: float, variance: float) -> float:
    """Return the sum of the parameters of the Beta law with this mean and variance.

    >>> round(beta_worth(0.75, 1 / 48), 6)  # of accuracies whose skills are uniform on [0, 1], for two classes
    8.0
    """
    return mean * (1 - mean) / variance - 1


def above_guessing(mean: float, n_classes: int) -> float:
    """Keep a crowd's mean accuracy above guessing and below one, by a little.

    >>> above_guessing(0.2, n_classes=2), above_guessing(0.7, n_classes=2)
    (0.501, 0.7)
    """
    return float(np.clip(mean, 1 / n_classes + LEAST_ABOVE, MOST_MEAN))


def prior_strength_of_crowd(mean: float, n_classes: int) -> float:
    """Return how many answers a mean accuracy, above guessing, is worth: accuracies spread as far as it is above.

    >>> round(prior_strength_of_crowd(0.8, n_classes=2), 2), prior_strength_of_crowd(0.501, n_classes=2)
    (5.0, 300.0)
    """
    spread = SPREAD * (mean - 1 / n_classes)
    return float(np.clip(beta_worth(mean, spread**2), LEAST_WORTH, MOST_WORTH))
