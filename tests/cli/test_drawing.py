"""Charts drawn in another process are those of this one; it ends with its block, and where it fails this one draws."""

import sys
from pathlib import Path

import pytest
import vl_convert

from quorate.charts.vega import canvas, layer, nominal
from quorate.cli.report import ChartProcess, drawing_process
from quorate.reporting.html import converter

CHART = canvas([layer("text", {"text": nominal("text")}, [{"text": "<b> & \u2028é\n"}])], height=50)


def test_the_other_process_draws_the_same_and_imports_nothing_from_where_the_user_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    with drawing_process() as drawer:
        assert isinstance(drawer, ChartProcess)
        assert converter() is drawer
        assert [drawer.vegalite_to_svg(CHART) for _ in range(2)] == [vl_convert.vegalite_to_svg(CHART)] * 2
        assert drawer.process.poll() is None  # so it was this one that drew
    assert drawer.process.returncode is not None
    assert converter() is vl_convert


def test_where_the_other_process_dies_this_one_draws() -> None:
    with drawing_process() as drawer:
        assert drawer is not None
        drawer.process.kill()
        drawer.process.wait()
        assert drawer.vegalite_to_svg(CHART) == vl_convert.vegalite_to_svg(CHART)


def test_what_cannot_be_drawn_fails_as_it_does_here() -> None:
    with drawing_process() as drawer:
        assert drawer is not None
        with pytest.raises(ValueError, match="conversion failed"):
            drawer.vegalite_to_svg({"mark": 7})


def test_an_error_in_the_block_ends_the_other_process() -> None:
    with pytest.raises(KeyboardInterrupt), drawing_process() as drawer:
        raise KeyboardInterrupt
    assert drawer is not None
    assert drawer.process.returncode is not None


@pytest.mark.parametrize("python", ["", "/no/such/python"])
def test_where_there_is_no_python_to_start_this_process_draws(python: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", python)
    with drawing_process() as drawer:
        assert drawer is None
        assert converter() is vl_convert
