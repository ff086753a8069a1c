from typing import Any

import numpy as np
import typer
from typer.testing import CliRunner

from quorate.arrays import FloatArray
from quorate.cli.advise import advise as command


def posteriors(n: int, m: int, seed: int) -> FloatArray:
    return np.random.default_rng(seed).dirichlet(np.full(m, 0.7), n)


def run(*arguments: object) -> Any:
    """`quorate advise` with these arguments."""
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, [str(each) for each in arguments])
