from typing import Any

import numpy as np
from typer.testing import CliRunner

from quorate.arrays import FloatArray
from quorate.cli.app import app


def posteriors(n: int, m: int, seed: int) -> FloatArray:
    return np.random.default_rng(seed).dirichlet(np.full(m, 0.7), n)


def run(*arguments: object) -> Any:
    """`quorate advise` with these arguments."""
    return CliRunner().invoke(app, ["advise", *map(str, arguments)])
