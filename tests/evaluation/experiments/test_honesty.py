"""The experiment behind docs/confidence.md: what it counts, and that it can rebuild the table that ships."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate
from quorate.errors import UnreadableFileError
from quorate.evaluation import simulate
from quorate.evaluation.experiments import honesty
from quorate.evaluation.experiments.honest_figures import KNOWN, METHODS, Figures, judge, show
from quorate.evaluation.experiments.public_crowds import NAMES, folder_of_more, public_crowd
from quorate.evaluation.score import calibration_error, expected_error, log_loss
from quorate.gold import named_gold
from quorate.voting.population import N_CROWDS, TABLE, expected_calibration, population


def test_the_figures_are_those_of_the_scores() -> None:
    crowd = simulate.crowd(200, 8, 3, seed=0)
    result = quorate.aggregate(crowd.answers)
    found = judge(result.ballot.posterior, crowd.truth, np.ones(200, dtype=bool))
    assert found.error == pytest.approx(expected_error(result, crowd.truth_table).error)
    assert found.log_loss == pytest.approx(log_loss(result, crowd.truth_table))
    assert found.calibration_error == pytest.approx(calibration_error(result, crowd.truth_table))


@pytest.mark.parametrize("n", [0, 12])
def test_ours_is_what_the_package_states(n: int) -> None:
    crowd = simulate.crowd(200, 8, 4, seed=0)
    case, known = honesty.case_of(crowd.answers, crowd.truth), honesty.known_labels(crowd.truth, n, 0)
    gold = named_gold(known, crowd.answers) if n else None
    posterior = honesty.ours(case.views, expected_calibration(case.rho), known)
    stated = quorate.aggregate(crowd.answers, gold=gold).ballot.posterior
    assert posterior[known < 0] == pytest.approx(stated[known < 0])


def test_every_method_is_measured_with_every_number_of_known_labels(capsys: pytest.CaptureFixture[str]) -> None:
    crowd = simulate.crowd(120, 8, 4, seed=0)
    found = honesty.measure(honesty.case_of(crowd.answers, crowd.truth), population(), seeds=1)
    assert set(found) == {(name, n) for name in METHODS for n in KNOWN}
    show("One crowd", {"mine": found})
    assert "| default | 30 |" in capsys.readouterr().out


def test_what_is_kept_is_not_measured_again_and_the_parts_make_the_whole(tmp_path: Path) -> None:
    run, asked = honesty.Run(tmp_path, 3, tmp_path / "kept"), []

    def work() -> dict[tuple[str, int], Figures]:
        asked.append(1)
        return {("default", 30): Figures(0.1, 0.2, 0.3, -0.4)}

    assert run.measured("bias, 20%", work) == run.measured("bias, 20%", work) == work()
    assert len(asked) == 2
    parts = [honesty.Run(tmp_path, 3, part=(k, 3)).mine(NAMES) for k in (1, 2, 3)]
    assert sorted(name for part in parts for name in part) == sorted(NAMES)


def test_the_public_crowds_are_found_or_asked_for(tmp_path: Path, real: Any) -> None:
    assert len(NAMES) == N_CROWDS
    assert (public_crowd("bluebird", tmp_path).truth >= 0).all()
    (tmp_path / "bm").mkdir()
    (tmp_path / "bm" / "labels.csv").write_text("task,worker,label\n1,a,x\n1,b,y\n2,a,x\n")
    (tmp_path / "bm" / "truth.csv").write_text("task,label\n1,z\n")
    assert public_crowd("bm", tmp_path).truth.tolist() == [-2, -1]
    with pytest.raises(UnreadableFileError, match="--more"):
        folder_of_more(str(tmp_path / "nowhere"))


def test_the_table_is_written_as_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(honesty, "tables", lambda _: population())
    honesty.rebuild(tmp_path, tmp_path / "again.csv")
    shipped = (files("quorate.voting") / TABLE).read_text()
    assert (tmp_path / "again.csv").read_text().splitlines()[0] == shipped.splitlines()[0]
    again = [float(line.split(",")[2]) for line in (tmp_path / "again.csv").read_text().splitlines()[1:]]
    assert np.array(again) == pytest.approx(population()[0].ravel(), rel=1e-2)
