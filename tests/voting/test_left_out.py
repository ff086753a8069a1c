"""No answer vouches for itself: scores by matrices that were counted from the other tasks."""

import numpy as np
import pytest

from quorate.evaluation import simulate
from quorate.voting.confusion import cells_of
from quorate.voting.left_out import left_out_scores
from quorate.voting.posterior import one_more_each
from quorate.voting.refine import pooled_matrix, relative_errors, tilted


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_is_what_counting_again_without_the_task_gives(n_classes: int) -> None:
    """By a loop: each task's answers are taken from their workers' counts; the crowd's own matrix stays as it is."""
    crowd = simulate.crowd(40, 6, 3, n_classes=n_classes, seed=0)
    answers, q = crowd.answers, np.random.default_rng(1).dirichlet(np.ones(n_classes), 40)
    counts = cells_of(answers).expected_counts(q)
    pooled, strength = pooled_matrix(counts.sum(axis=0))
    prior = strength * tilted(pooled, relative_errors(counts.sum(axis=(1, 2)), crowd.skills, n_classes))
    expected = np.tile(np.log(one_more_each(q)), (40, 1))
    for task, worker, label in zip(answers.task, answers.worker, answers.label, strict=True):
        mine = counts[worker].copy()
        mine[label] -= q[task]
        theta = (mine + prior[worker]) / (mine + prior[worker]).sum(axis=0)
        expected[task] += np.log(theta[label])
    assert left_out_scores(answers, q, crowd.skills) == pytest.approx(expected)


def test_tasks_without_answers_have_the_prior() -> None:
    crowd = simulate.crowd(30, 5, 3, seed=0)
    answers = crowd.answers.where(crowd.answers.task != 7)
    scores = left_out_scores(answers, np.full((30, 2), 0.5), crowd.skills)
    assert scores[7] == pytest.approx(np.log([0.5, 0.5]))
