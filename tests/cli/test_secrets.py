"""No output of any command shows what is secret in an address, whichever option the address is given to."""

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import quorate
from quorate.addresses import hide_secrets, known_addresses, render_address, render_addresses
from quorate.backends import aggregate, read
from quorate.backends.choose_engine import choose_engine
from quorate.backends.engine import EngineOptions, connect
from quorate.cli.app import main
from quorate.errors import EngineError, QuorateError, UnreadableFileError, shown
from tests.cli import running
from tests.cli.command_lines import ANSWERS, arguments, is_output, text_parameters

SECRET = "S3cr3t"
ADDRESSES = [
    f"https://ann:{SECRET}@127.0.0.1:9/answers.csv",
    f"https://127.0.0.1:9/answers.csv?sv=1&code={SECRET}",
    f"postgres://ann:{SECRET}@127.0.0.1:1/crowd",
    f"https://{SECRET}@127.0.0.1:9/answers.parquet",
    f"http://127.0.0.1:9/answers.csv#access={SECRET}",
    f"s3://KEY:{SECRET}@bucket/answers.parquet",
    f"s3://bucket/answers.parquet?s3_access_key_id=K&s3_secret_access_key={SECRET}",
    f"gs://bucket/part-*.csv?key={SECRET}",
    f"postgres://127.0.0.1:1/crowd?user=u&password={SECRET}",
    f"postgres://ann:{SECRET}/x@127.0.0.1:1/crowd",
    f"postgres://ann:x@{SECRET}@127.0.0.1:1/crowd",
    f"postgres://ann:%20{SECRET}%zz@127.0.0.1:1/crowd",
    f"postgres://ann:two words {SECRET}@127.0.0.1:1/crowd",
    f"postgres://ann:{SECRET}",
    f"sqlite:///nowhere/crowd.db?password={SECRET}",
    f"duckdb:///nowhere/crowd.db?password={SECRET}",
    f"mysql://ann:{SECRET}@host/crowd",
    f"nosuch://ann:{SECRET}@host/crowd",
    f"https:/ann:{SECRET}@host/answers.csv",
    f"host=127.0.0.1 port=1 user=u password={SECRET}",
    f"ann:{SECRET}@host/crowd",
    f"https://ann:{'x' * 900}{SECRET}@host/answers.csv",
]
# Text that the command is asked to write or show: it is the user's own.
SHOWN = {"title", "agent", "predictions_name"}
SKIPPED = {
    "master": "starts Spark",
    "token": "is sent to a server, and never part of a message",
}


def takes_address(parameter: Any) -> bool:
    return any(mark in (parameter.metavar or "") for mark in ("FILE", "URL", "LEDGER", "FOLDER"))


def cases() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every option of every command that may hold an address; any other text, once for each name."""
    names = set()
    for path, each in text_parameters():
        if each.name not in SHOWN and each.name not in SKIPPED and (takes_address(each) or each.name not in names):
            yield path, each
        names.add(each.name)


CASES = [pytest.param(path, each, id=f"{'-'.join(path)}-{each.name}") for path, each in cases()]


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is drawn, nothing is fetched from the network, and files are made in a folder that goes."""
    import ibis

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("quorate.reporting.report.to_svg", lambda *_: "<svg/>")
    offline = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    monkeypatch.setattr(ibis.duckdb, "connect", partial(ibis.duckdb.connect, **offline))


def addresses_for(path: tuple[str, ...], parameter: Any) -> list[str]:
    """All of them for two options of different code; for the others they take turns."""
    if path == ("aggregate",) and parameter.name in ("file", "connect"):
        return ADDRESSES
    turn = len(path[0] + parameter.name)
    return ADDRESSES[turn % 8 :: 8] if takes_address(parameter) and not is_output(parameter) else [ADDRESSES[turn % 22]]


@pytest.mark.parametrize(("path", "parameter"), CASES)
def test_no_command_shows_a_secret(
    path: tuple[str, ...], parameter: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for address in addresses_for(path, parameter):
        _, out, err = running.quorate(capsys, *arguments(path, tmp_path, parameter, address))
        assert SECRET not in out + err, (address, out, err)
        assert "Traceback" not in err


def test_the_text_of_a_message_stays_whole() -> None:
    """A user "u" was once taken out of every word: "Connection ref***sed"."""
    for url in ("postgres://127.0.0.1:1/crowd?user=u", "postgres://u:e@127.0.0.1:1/crowd"):
        with pytest.raises(EngineError, match=r"(?i)connection (to server at .*)?refused|failed") as caught:
            connect(EngineOptions(connect=url))
        assert "ref***" not in str(caught.value)
        assert caught.value.__cause__ is None


def message_of(call: Callable[[], object]) -> str:
    """Everything that a traceback would show of the error."""
    try:
        call()
    except QuorateError as error:
        return f"{error} {error.__cause__}"
    return ""


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_function_of_the_library_shows_a_secret(address: str, tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text(ANSWERS)
    calls: list[Any] = [
        lambda: quorate.read(address),
        lambda: quorate.read(Path(address)),
        lambda: quorate.read_export(address),
        lambda: quorate.aggregate(tmp_path / "answers.csv", gold=address),
        lambda: quorate.aggregate(tmp_path / "answers.csv", skills=address),
        lambda: quorate.estimate(tmp_path / "answers.csv", predictions=address),
        lambda: quorate.check(tmp_path / "answers.csv", config=address),
        lambda: quorate.Ledger().add(address),
        lambda: quorate.Ledger.load(address),
        lambda: quorate.Ledger().save(address),
        lambda: read(address),
        lambda: read(connect=address),
        lambda: aggregate(tmp_path / "answers.csv", output=address, most=0),
    ]
    for call in calls:
        messages = message_of(call)
        assert SECRET not in messages


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_text_form_of_an_object_shows_a_secret(address: str) -> None:
    options = EngineOptions(connect=address)
    assert SECRET not in repr(options)
    with contextlib.suppress(QuorateError):
        assert SECRET not in repr(choose_engine(address, EngineOptions(table="answers")))
    from quorate.backends.output import KeptLabels
    from quorate.io.read import Reading

    assert SECRET not in repr(Reading(quorate.read({"task": [1], "worker": [1], "label": [1]}), address))
    kept = KeptLabels(connect(), None, address)  # type: ignore[arg-type]
    assert SECRET not in f"{kept!r} {kept.run()}"


def test_an_id_that_is_an_address_is_shown() -> None:
    rows = {"task": ["https://host/image?id=7"] * 2, "worker": ["a", "a"], "label": ["x", "y"]}
    with pytest.raises(QuorateError, match=r"'https://host/image\?id=7'"):
        quorate.read(rows)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("postgres://ann:pw@host:5432/crowd", "postgres://***@host:5432/crowd"),
        ("postgres://host:5432/crowd", "postgres://host:5432/crowd"),
        ("postgres://ann:p/w@x@host/crowd", "postgres://***@host/crowd"),
        ("postgres://[::1]:5432/crowd", "postgres://[::1]:5432/crowd"),
        ("https://host/a.csv?sig=x", "https://host/a.csv?***"),
        ("hf://datasets/org/data@main/a.csv", "hf://datasets/org/data@main/a.csv"),
        ("s3://bucket/*.parquet", "s3://bucket/*.parquet"),
        ("C:/data/me@work.csv", "C:/data/me@work.csv"),
        ("answers.csv", "answers.csv"),
        ("a folder/answers: new.csv", "a folder/answers: new.csv"),
        ("host=h password='a b' user=u", "host=h password=*** user=u"),
    ],
)
def test_what_is_shown_of_an_address(address: str, expected: str) -> None:
    assert render_address(address) == expected


def test_an_address_that_is_cut_shows_no_secret() -> None:
    address = f"https://{SECRET}{'x' * 100}@host/a.csv"
    assert SECRET not in shown(address)
    assert SECRET not in str(UnreadableFileError(f"{'x' * 780} {address}"))


def test_a_message_of_another_library_is_searched_for_parts_of_an_address() -> None:
    address = "postgres://ann:a%40b%20c@host/crowd?sslkey=k1"
    text = "no user 'ann' with 'a@b c' or 'a%40b%20c' at host; k1 is no file; manner, k12 and rank stay"
    hidden = "no user '***' with '***' or '***' at host; *** is no file; manner, k12 and rank stay"
    assert hide_secrets(text, address) == hidden
    with known_addresses([address]):
        assert hide_secrets(text) == hidden
    assert hide_secrets(text) == text
    assert render_addresses(text) == text


def test_the_report_of_a_database_has_the_title_of_its_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import sqlite3

    con = sqlite3.connect(tmp_path / "crowd.db")
    con.execute("CREATE TABLE tone_of_reviews (task text, worker text, label text)")
    rows = [line.split(",")[:3] for line in ANSWERS.splitlines()[1:]]
    con.executemany("INSERT INTO tone_of_reviews VALUES (?, ?, ?)", rows)
    con.commit()
    con.close()
    for source in (str(tmp_path / "crowd.db"), f"sqlite://{tmp_path / 'crowd.db'}"):
        for more in ([], ["--table", "tone_of_reviews"]):
            code, _, _ = running.quorate(capsys, "report", source, *more, "-o", tmp_path / "r.html", "--compare", "")
            assert code == 0
            page = (tmp_path / "r.html").read_text()
            assert "<h1>Tone of reviews</h1>" in page
            assert "None" not in page.partition("</h1>")[0]


def test_a_report_tells_no_secret_of_where_the_answers_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from quorate.io.read import Reading

    reading = Reading(quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]}), ADDRESSES[1])
    page = quorate.report(reading, methods=[]).html()
    assert SECRET not in page


def test_junit_names_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "answers.csv").write_text(ANSWERS)
    with pytest.raises(SystemExit):
        main(["check", "answers.csv", "--min-answers", "1", "--junit", "checks.xml"])
    assert 'name="quorate check answers.csv"' in Path("checks.xml").read_text()
