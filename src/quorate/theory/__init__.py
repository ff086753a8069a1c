"""The statements of [Ma20] as functions: objective, algorithms, step sizes, spectrum, bounds, identifiability.

>>> import numpy as np
>>> from quorate import theory
>>> s = np.array([0.8, 0.6, 0.5])
>>> i, j = np.array([0, 0, 1]), np.array([1, 2, 2])
>>> objective = theory.PairObjective(3, i, j, np.full(3, 100.0), s[i] * s[j])
>>> theory.pgd(objective).skills.round(6).tolist()
[0.8, 0.6, 0.5]
>>> theory.smallest_eigenvalue(theory.signless_laplacian(3, i, j))
1.0
"""

from quorate.graph.laplacian import signless_laplacian, smallest_eigenvalue
from quorate.graph.pairs import guesser_threshold
from quorate.skills.pgd import (
    corollary_step,
    exponentiated_step,
    first_order_constant,
    lipschitz_step,
    theory_step,
)
from quorate.theory.algorithms import PairObjective, expgrad, flow, pgd
from quorate.theory.constructive import constructive_skills
from quorate.theory.label_bounds import (
    average_regret,
    committee_potential,
    expected_loss,
    optimal_error,
    optimal_error_bounds,
    plug_in_bound,
    skill_error,
    task_bounds,
    weight_error_bound,
)
from quorate.theory.learnability import Learnability, learnability_conditions
from quorate.theory.skill_bounds import SkillBound, skill_bound
from quorate.theory.steps import corollary_range, exponentiated_iterations, least_eigenvalue, lyapunov_step
from quorate.theory.tasks_needed import SkillErrorBound

__all__ = [
    "Learnability",
    "PairObjective",
    "SkillBound",
    "SkillErrorBound",
    "average_regret",
    "committee_potential",
    "constructive_skills",
    "corollary_range",
    "corollary_step",
    "expected_loss",
    "expgrad",
    "exponentiated_iterations",
    "exponentiated_step",
    "first_order_constant",
    "flow",
    "guesser_threshold",
    "learnability_conditions",
    "least_eigenvalue",
    "lipschitz_step",
    "lyapunov_step",
    "optimal_error",
    "optimal_error_bounds",
    "pgd",
    "plug_in_bound",
    "signless_laplacian",
    "skill_bound",
    "skill_error",
    "smallest_eigenvalue",
    "task_bounds",
    "theory_step",
    "weight_error_bound",
]
