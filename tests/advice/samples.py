import numpy as np

from quorate.arrays import FloatArray


def posteriors(n: int, m: int, seed: int) -> FloatArray:
    return np.random.default_rng(seed).dirichlet(np.full(m, 0.7), n)
