import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.simulate import crowd

EASY = crowd(n_tasks=400, n_workers=25, per_task=6, n_classes=3, skills=np.linspace(0.2, 0.9, 25), seed=1)


def votes_for(answers: Answers, task: int, klass: int) -> FloatArray:
    """g_i(k), one worker at a time."""
    mine = (answers.task == task) & (answers.label == klass)
    return np.isin(np.arange(answers.n_workers), answers.worker[mine]).astype(np.float64)


def awkward() -> tuple[Answers, IntArray, FloatArray]:
    """Answers of three classes, labels that are not always the majority, and weights of both signs."""
    answers = crowd(n_tasks=25, n_workers=8, per_task=4, n_classes=3, seed=3).answers
    rng = np.random.default_rng(0)
    return answers, rng.integers(0, 3, 25), rng.standard_normal(8)
