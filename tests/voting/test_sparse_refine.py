"""The refinement where classes are many: a task may have thousands of answers."""

import numpy as np

from quorate.voting.sparse_refine import refine_sparse
from quorate.voting.sparse_voices import counted
from tests.crowds import answers_of


def test_a_task_of_thousands_of_answers_is_no_number_too_large() -> None:
    """Scores of thousands apart: what is far below the best is nothing, and what is best is not infinite."""
    n = 3000
    rows = [(t, f"w{w}", f"c{(t, 2, 3)[w % 3 if w % 5 == 0 else 0]}") for t in range(2) for w in range(n)]
    answers = answers_of(rows)
    votes = counted(answers, np.ones(answers.n_answers), np.zeros(2), np.zeros(answers.n_classes))
    scores = refine_sparse(answers, votes, np.full(n, 0.8)).table()
    assert np.isfinite(scores).all()
    assert [answers.classes[int(c)].as_py() for c in scores.argmax(axis=1)] == ["c0", "c1"]
