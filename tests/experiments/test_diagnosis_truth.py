"""Every figure that a diagnosis states, against the truth of all public sets; docs/accuracy.md has the errors."""

from typing import Any

import numpy as np
from experiments.diagnostics import diagnosis_truth as module
from experiments.diagnostics.diagnosis_truth import AGREEMENT, EXPLAINED, KINDS, MOVES, RIGHT, SKILL, statements

from quorate.datasets.sources import SOURCES
from quorate.diagnostics.diagnose import diagnose
from quorate.simulate import collect, crowd

# The mean distance from the truth that docs/accuracy.md states, rounded up, and how many statements there are at the
# least. A crowd whose answers say one thing and whose truth another is off by that; so are ten known tasks, by chance.
MOST_OFF = {RIGHT: (0.08, 50), SKILL: (0.06, 25), EXPLAINED: (0.12, 40), MOVES: (0.04, 25), AGREEMENT: (0.07, 400)}


def test_what_is_stated_is_off_by_no_more_than_the_docs_say(real: Any) -> None:
    every: list[module.Statement] = []
    for name in SOURCES:
        answers = real.load(name).answers
        found = diagnose(answers)
        every += statements(found, module.truth_of(name)[1])
        assert not any("100 %" in each.sentence for each in found.of_kind("class-dependent-accuracy"))
    for kind in KINDS:
        off = [each.off for each in every if each.kind == kind]
        most, least = MOST_OFF[kind]
        assert len(off) >= least, kind
        assert np.abs(off).mean() < most, kind
        assert abs(np.mean(off)) < most / 2, kind  # neither side is favoured
    ranges = [each for each in every if each.kind == RIGHT]
    assert np.mean([each.low <= each.true <= each.high for each in ranges]) >= 0.9


def test_each_kind_is_compared_where_its_truth_is_plain() -> None:
    """An adversary, two buttons and a copy: what is stated of them, and what they are."""
    rng = np.random.default_rng(0)
    skills = np.r_[-0.7, np.full(11, 0.7)]
    drawn = crowd(1500, 12, 8, skills=skills, seed=1)
    a, label = drawn.answers, drawn.answers.label.copy()
    label[np.isin(a.worker, [10, 11])] = 0
    label_table = np.full((1500, 12), -1)
    label_table[a.task, a.worker] = label
    copied = (label_table[:, 4] >= 0) & (label_table[:, 5] >= 0) & (rng.random(1500) < 0.9)
    label_table[copied, 5] = label_table[copied, 4]
    made = collect(a.task, a.worker, label_table[a.task, a.worker], drawn.truth, skills, 2)
    statement_of_kind = {each.kind: each for each in statements(diagnose(made.answers), made.truth)}
    assert {SKILL, EXPLAINED, MOVES, AGREEMENT} <= set(statement_of_kind)
    assert statement_of_kind[SKILL].low <= statement_of_kind[SKILL].true <= statement_of_kind[SKILL].high
    assert abs(statement_of_kind[MOVES].true) < 0.01
    assert abs(statement_of_kind[MOVES].off) < 0.1
    assert abs(statement_of_kind[EXPLAINED].off) < 0.1
    assert abs(statement_of_kind[AGREEMENT].off) < 0.1
