"""Every experiment at its smallest, so that tests are fast."""

import pytest
from experiments.advice import advising
from experiments.calibration import coverage, reliability
from experiments.estimation import estimate_coverage
from experiments.paper import (
    benchmark_sets,
    error_bound,
    gradients,
    graph_sizes,
    graph_types,
    learnability,
    skill_distributions,
    sparsification,
    time_complexity,
    trajectories,
    weightings,
)

SMALLEST = {
    graph_types: graph_types.Settings(1, (11, 33), 1),
    skill_distributions: skill_distributions.Settings(2, 2, (5, 9)),
    graph_sizes: graph_sizes.Settings(1, (21, 51), (2, 11)),
    weightings: weightings.Settings(1, 1),
    benchmark_sets: benchmark_sets.Settings(1, ("quorate",), ("wsd",), ("wsd", "temp")),
    trajectories: trajectories.Settings(40, (0.5,), ("temp",), ("all pairs", "unweighted")),
    sparsification: sparsification.Settings(1, (20, 5), ("temp",)),
    gradients: gradients.Settings(200, 1),
    time_complexity: time_complexity.Settings(1, (50, 100), (20, 40), (4, 8), 500),
    learnability: learnability.Settings(2, (0.7, 1.0, 1.4)),
    error_bound: error_bound.Settings(2, (30, 100)),
    advising: advising.Settings(1, batch=400, most=1_200, after=1_200, n_classes=(2,), broken=5),
    coverage: coverage.Settings(60, (2, 4), (3,), (30,)),
    reliability: reliability.Settings(1, 1, ("wsd", "temp")),
    estimate_coverage: estimate_coverage.Settings(2, (30,), ("wsd", "temp"), 1),
}
NEED_DATA = {"benchmark-sets", "calibration", "trajectories", "sparsification"}


def shrink(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the settings of the quick look."""
    for module, settings in SMALLEST.items():
        monkeypatch.setattr(module, "QUICK", settings)
