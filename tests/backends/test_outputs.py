"""An engine destroys nothing, keeps links and permissions, reads CSV as memory does, and shows no password."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import quorate
from quorate.backends import aggregate
from quorate.backends.engine import EngineOptions, connect
from quorate.errors import EngineError, InputError, UnwritableFileError
from quorate.result import Result

ROWS = {"task": ["1", "1", "1"], "worker": ["a", "b", "c"], "label": ["x", "x", "y"]}


def test_a_folder_and_a_pattern_are_refused_before_anything_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quorate.backends.source.MAX_ANSWERS", 0)  # so that the engine itself writes
    folder = tmp_path / "r.parquet"
    folder.mkdir()
    (folder / "precious").write_text("data")
    with pytest.raises(UnwritableFileError, match="is a folder"):
        aggregate(ROWS, "majority", output=folder)
    assert (folder / "precious").read_text() == "data"
    with pytest.raises(UnwritableFileError, match="pattern"):
        aggregate(ROWS, "majority", output=tmp_path / "a*b.csv")


@pytest.mark.skipif(sys.platform == "win32", reason="links and permissions as Unix has them")
def test_a_link_stays_a_link_and_a_file_keeps_its_permissions(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("before")
    (tmp_path / "real.csv").chmod(0o600)
    (tmp_path / "labels.csv").symlink_to("real.csv")
    aggregate(ROWS, "majority", output=tmp_path / "labels.csv")
    assert (tmp_path / "labels.csv").is_symlink()
    assert "task,label" in (tmp_path / "real.csv").read_text()
    assert (tmp_path / "real.csv").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "rows",
    [
        "1,a,'tis\n1,b,bob'\n2,a,'yes'\n2,b,x\n",
        "1,a,x\n1,b,\x0b\n",
        '1,a,"x, y"\n1,b,"say ""y"""\n2,a,5" pipe\n',
        "#1,a,x\n1,b,NULL\n2,c,\\N\n",
        " 1,a , x\n1,b,x\n",
        "007,1e5,true\n7,1,1.0\n",
        '1,a,x\n1,c,"y\n2,a,x\n',
        "1,a,x,\n1,c,y\n",
    ],
)
@pytest.mark.parametrize("header", ["task,worker,label\n", "a title\ntask,worker,label\n"])
def test_csv_is_read_as_in_memory(tmp_path: Path, header: str, rows: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(header + rows)

    def outcome(run: Callable[[], Result]) -> object:
        try:
            labels = run().labels
        except InputError:
            return "refused"
        return sorted(zip(labels["task"].to_pylist(), labels["label"].to_pylist(), strict=True))

    here = outcome(lambda: quorate.aggregate(path, "majority", tool="table"))
    assert outcome(lambda: aggregate(path, "majority")) == here


@pytest.mark.parametrize(
    "url",
    [
        "nosuch://user:SECRET@h/db",
        "nosuch://u:SEC%40RET@h/db?password=SECRET",
        "postgres://x:SECRET@127.0.0.1:1/d",
        "host=127.0.0.1 port=1 user=x password=SECRET",
        "postgres:/x:SECRET@127.0.0.1:1/d",
    ],
)
def test_no_password_is_shown(url: str) -> None:
    with pytest.raises(EngineError) as caught:
        connect(EngineOptions(connect=url))
    assert "SECRET" not in str(caught.value)
    assert "RET" not in str(caught.value).replace("***", "")
    assert caught.value.__cause__ is None


def test_a_short_name_of_a_user_leaves_the_message_whole() -> None:
    with pytest.raises(EngineError, match="Don't know how to connect"):
        connect(EngineOptions(connect="nosuch://o:SECRET@h/db"))
