"""The claims on public data; they need the source files (see CONTRIBUTING.md)."""

from typing import Any

import pytest

import quorate
from quorate.datasets.layouts import LAYOUTS
from quorate.datasets.sources import FILES, SOURCES
from quorate.evaluation.metrics import expected_error
from quorate.io.gold import match_truth

# Errors measured with an independent implementation run to convergence, tau = 1; ties split evenly.
RANK_ONE = {"rte1": 0.0725, "temp": 0.0628, "dogs": 0.1673, "wsd": 0.0056, "web": 0.1719, "bluebird": 0.2778}
MAJORITY = {
    "rte1": 0.1031,
    "temp": 0.0639,
    "dogs": 0.1778,
    "wsd": 0.0056,
    "web": 0.2693,
    "bluebird": 0.2407,
    "trec": 0.3486,
    "weather_cf": 0.1178,
    "weather_amt": 0.1467,
    "music_genre": 0.2958,
    "product": 0.1034,
    "face": 0.3633,
    "bm": 0.3040,
    "labelme": 0.2340,
    "athlete": 0.0500,
    "netflix": 0.0250,
    "slr_tech": 0.1050,
    "slr_older": 0.1100,
    "cifar10s": 0.0705,
}
SIZES = {
    "rte1": (800, 164, 8000, 2),
    "temp": (462, 76, 4620, 2),
    "wsd": (177, 34, 1770, 3),
    "dogs": (807, 109, 8070, 4),
    "web": (2665, 177, 15567, 5),
    "bluebird": (108, 39, 4212, 2),
    "trec": (19033, 762, 88385, 2),
    "weather_cf": (300, 461, 1720, 5),
    "weather_amt": (300, 110, 6025, 5),
    "music_genre": (700, 44, 2945, 10),
    "zencrowd_all": (2040, 78, 20125, 2),  # of 21,855 rows: repeats count once, and the last of those that conflict
    "product": (8315, 176, 24945, 2),
    "face": (584, 27, 5242, 4),
    "bm": (1000, 83, 5000, 2),
    "labelme": (1000, 59, 2547, 8),
    "athlete": (500, 50, 20000, 2),
    "netflix": (500, 50, 20000, 2),
    "slr_intervention": (100, 105, 1439, 3),
    "slr_tech": (100, 32, 500, 3),
    "slr_older": (100, 41, 500, 3),
    "cifar10s": (1000, 248, 6200, 10),
}


@pytest.mark.parametrize("name", SIZES)
def test_the_sets_have_their_published_sizes(real: Any, name: str) -> None:
    answers = real.load(name).answers
    assert (answers.n_tasks, answers.n_workers, answers.n_answers, answers.n_classes) == SIZES[name]


@pytest.mark.parametrize("name", RANK_ONE)
@pytest.mark.parametrize("solver", ["coordinate", "gradient"])
def test_rank_one_reaches_the_errors_of_an_independent_implementation(real: Any, name: str, solver: str) -> None:
    data = real.load(name)
    # The paper's step is fixed, and small steps are many: 10,000, the usual limit, do not end on web.
    result = quorate.aggregate(data.answers, "rank-one", solver=solver, max_iterations=200_000)
    assert expected_error(result, data.truth).error == pytest.approx(RANK_ONE[name], abs=5e-5)
    assert result.solution is not None
    assert result.solution.converged


def test_rank_one_on_trec(real: Any) -> None:
    """Three components, two of them workers alone; the error is given as about 0.42."""
    data = real.load("trec")
    result = quorate.aggregate(data.answers, "rank-one")
    assert expected_error(result, data.truth).error == pytest.approx(0.42, abs=0.005)
    assert result.identifiability.sizes.tolist() == [760, 1, 1]
    assert (result.identifiability.determined == (result.identifiability.component == 0)).all()


@pytest.mark.parametrize("name", MAJORITY)
def test_majority_vote_reaches_the_published_errors(real: Any, name: str) -> None:
    data = real.load(name)
    assert expected_error(quorate.aggregate(data.answers, "majority"), data.truth).error == pytest.approx(
        MAJORITY[name], abs=5e-5
    )


def test_every_set_has_an_address_and_a_hash_for_each_file(real: Any) -> None:
    assert set(SIZES) == set(SOURCES)
    for source in SOURCES.values():
        assert len(source.addresses) == len(source.files) >= 1
        assert all(address.startswith("https://") for address in source.addresses)
        assert all(len(FILES[file][1]) == 64 for file in source.files)
        assert source.layout in LAYOUTS
    assert {file for source in SOURCES.values() for file in source.files} == set(FILES)


@pytest.mark.parametrize("name", SIZES)
def test_the_truth_speaks_of_the_tasks_and_the_classes(real: Any, name: str) -> None:
    data = real.load(name)
    tasks, labels = match_truth(data.truth, data.answers)
    assert (tasks.codes >= 0).all()
    assert (labels.codes >= 0).mean() > 0.99  # a class that nobody gave is true of a task or two
    assert len(set(tasks.codes.tolist())) == len(tasks.codes)
