"""One command writes everything, once, and writes the same bytes for the same seed."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from experiments.paper import learnability
from experiments.runner.reproduce import FAILED, ITEMS, UNCHANGED, WRITTEN, reproduce, source_hash

from quorate.errors import QuorateError, UnknownNameError, UnreadableFileError, UnwritableFileError
from quorate.progress import listening
from tests.experiments.shrunk import NEED_DATA, shrink


@pytest.fixture(autouse=True)
def _smallest(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)


def contents(folder: Path) -> dict[str, bytes]:
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: content for name, content in files.items() if "-measured." not in name}


@pytest.mark.parametrize("name", [name for name in ITEMS if name not in NEED_DATA])
def test_every_item_writes_its_files_and_the_same_seed_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    first, second = (reproduce([name], tmp_path / place, quick=True, seed=3) for place in ("a", "b"))
    assert [each.status for each in (*first, *second)] == [WRITTEN, WRITTEN]
    written = {path.name for path in first[0].files}
    assert {f"{name}.csv", f"{name}.md", f"{name}.svg", f"{name}.png"} <= written
    assert all(path.stat().st_size > 0 for path in first[0].files)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


@pytest.mark.parametrize("name", sorted(NEED_DATA))
def test_items_on_public_data_write_their_files(real: Any, name: str, tmp_path: Path) -> None:
    real.load("temp")
    first, second = (reproduce([name], tmp_path / place, quick=True) for place in ("a", "b"))
    assert first[0].status == WRITTEN, first[0].reason
    assert second[0].status == WRITTEN
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_a_quick_look_shows_no_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learnability, "FULL", learnability.QUICK)
    for quick in (True, False):
        reproduce(["learnability"], tmp_path / str(quick), quick=quick)
        page = (tmp_path / str(quick) / "index.html").read_text()
        assert ('class="good"' in page) is not quick
        assert ("## Claims" in (tmp_path / str(quick) / "learnability" / "learnability.md").read_text()) is not quick


def test_another_seed_gives_other_figures(tmp_path: Path) -> None:
    for seed in (0, 1):
        reproduce(["error-bound"], tmp_path / str(seed), quick=True, seed=seed)
    one, two = ((tmp_path / str(seed) / "error-bound" / "error-bound.csv").read_bytes() for seed in (0, 1))
    assert one != two


def test_a_second_call_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reproduce(["learnability"], tmp_path, quick=True)
    before = contents(tmp_path)

    def refuse(**_: Any) -> None:
        raise AssertionError("it was run again")

    monkeypatch.setattr(learnability, "run", refuse)
    again = reproduce(["learnability"], tmp_path, quick=True)
    assert [each.status for each in again] == [UNCHANGED]
    assert {path.name for path in again[0].files} == {p.name for p in (tmp_path / "learnability").iterdir()} - {
        "stamp.json"
    }
    assert contents(tmp_path) == before


@pytest.mark.parametrize("change", ["seed", "length", "file lost", "half written"])
def test_an_item_is_run_again_when_its_inputs_or_files_have_changed(change: str, tmp_path: Path) -> None:
    reproduce(["learnability"], tmp_path, quick=True)
    if change == "file lost":
        (tmp_path / "learnability" / "learnability.svg").unlink()
    if change == "half written":
        (tmp_path / "learnability" / "stamp.json").write_text('{"inp')
    again = reproduce(["learnability"], tmp_path, quick=change != "length", seed=int(change == "seed"))
    assert [each.status for each in again] == [WRITTEN]


def test_the_hash_sees_the_experiment_and_not_its_siblings() -> None:
    one, two = source_hash(ITEMS["learnability"].module), source_hash(ITEMS["error-bound"].module)
    assert one != two
    assert one == source_hash(ITEMS["learnability"].module)


def test_an_unknown_item_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown item 'figure-7'.*graph-types.*all"):
        reproduce(["learnability", "figure-7"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(UnwritableFileError, match="taken"):
        reproduce(["learnability"], tmp_path / "taken", quick=True)


def test_without_the_extra_the_error_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(QuorateError, match=r"quorate\[report\]"):
        reproduce(["learnability"], tmp_path, quick=True)


def test_an_item_that_fails_is_marked_and_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(**_: Any) -> None:
        raise UnreadableFileError("no <data> here")

    monkeypatch.setattr(learnability, "run", missing)
    found = {each.name: each for each in reproduce(["learnability", "error-bound"], tmp_path, quick=True)}
    assert (found["learnability"].status, found["error-bound"].status) == (FAILED, WRITTEN)
    page = (tmp_path / "index.html").read_text()
    assert "no &lt;data&gt; here" in page
    assert "<data>" not in page


def test_the_page_is_in_the_papers_order_and_needs_no_network(tmp_path: Path) -> None:
    reproduce(["error-bound"], tmp_path, quick=True)
    reproduce(["learnability", "gradients"], tmp_path, quick=True)
    page = (tmp_path / "index.html").read_text()
    assert re.findall(r'<section id="([^"]+)"', page) == ["gradients", "learnability", "error-bound"]
    assert not re.findall(r'(?:src|href)\s*=\s*["\']?\s*(?:https?:)?//', page)
    assert "<script" not in page
    assert "@import" not in page
    assert "url(http" not in page
    assert page.count("<svg") == 3
    identifiers = re.findall(r'\bid="([^"]+)"', page)
    assert len(identifiers) == len(set(identifiers))
    for target in re.findall(r'(?:src|href)="([^"#]+)"', page):
        assert (tmp_path / target).is_file(), target


def test_seconds_stay_out_of_the_page(tmp_path: Path) -> None:
    outcome = reproduce(["time-complexity"], tmp_path, quick=True)[0]
    assert {path.name for path in outcome.files if "-measured." in path.name} == {
        f"time-complexity-measured.{kind}" for kind in ("csv", "md", "svg", "png")
    }
    page = (tmp_path / "index.html").read_text()
    assert 'src="time-complexity/time-complexity-measured.svg"' in page


def test_progress_is_reported(tmp_path: Path) -> None:
    reports: list[tuple[str, int, int | None]] = []
    with listening(lambda *progress: reports.append(progress)):
        reproduce(["learnability"], tmp_path, quick=True)
    assert ("items", 0, 1) in reports
    assert ("items", 1, 1) in reports
    assert any(stage == "learnability" for stage, _, _ in reports)
