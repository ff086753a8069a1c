"""What a reader is told of workers who err together: a warning where there are several and they do."""

import pytest

from quorate.skills.notes import DEPENDENT
from quorate.voting.basis import STRONG, Basis


@pytest.mark.parametrize(
    ("answers", "rho", "warned"),
    [(5.0, STRONG, True), (5.0, STRONG - 0.01, False), (1.0, 0.9, False), (1.0, 0.0, False)],
)
def test_a_warning_needs_several_answers_that_err_together(answers: float, rho: float, warned: bool) -> None:
    basis = Basis("measured", rho, answers, 1.5, 1.2, 1.9)
    assert [note.kind for note in basis.notes()] == [DEPENDENT] * warned
    told = basis.lines(0.9, 100)
    assert any(line.startswith("votes: ") for line in told) == (answers > 1 and not warned)  # one or the other
