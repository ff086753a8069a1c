import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.main import get_command

from quorate import __version__
from quorate.blocks import in_use
from quorate.cli.app import app, main
from quorate.datasets.sources import SOURCES
from tests.cli.running import ROWS, quorate


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    path = tmp_path / "answers.csv"
    path.write_text(ROWS)
    return path


def test_aggregate_writes_labels_and_workers(capsys: Any, answers: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    workers = tmp_path / "workers.parquet"
    soft_labels = tmp_path / "soft_labels.jsonl"
    code, out, err = quorate(
        capsys, "aggregate", answers, "-o", labels, "--workers-out", workers, "--soft-labels-out", soft_labels
    )
    assert (code, err) == (0, "")
    assert "8 labels from 24 answers by 3 workers" in out
    assert labels.read_text().splitlines()[0] == "task,label,confidence,margin,n_answers,tied"
    assert len(labels.read_text().splitlines()) == 9
    assert pq.read_table(workers).column("worker").to_pylist() == ["a", "b", "c"]
    first = json.loads(soft_labels.read_text().splitlines()[0])
    assert list(first) == ["task", "x", "y"]
    assert (first["task"], first["x"] + first["y"]) == ("t0", pytest.approx(1, abs=1e-5))
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(
        [answers.name, labels.name, workers.name, soft_labels.name]
    )


def test_in_a_pipe_the_labels_go_out_and_the_summary_to_standard_error(capsys: Any, answers: Path) -> None:
    code, out, err = quorate(capsys, "aggregate", answers)
    assert code == 0
    assert out.splitlines()[0].startswith("task,label")
    assert "8 labels from 24 answers" in err
    code, out, _ = quorate(capsys, "aggregate", answers, "--output-format", "jsonl")
    assert [json.loads(line)["task"] for line in out.splitlines()] == [f"t{k}" for k in range(8)]


def test_json_is_one_object(capsys: Any, answers: Path, tmp_path: Path) -> None:
    _, out, err = quorate(capsys, "aggregate", answers, "--json")
    found = json.loads(out)
    assert err == ""
    sizes = [found[name] for name in ("tasks", "workers", "answers", "classes")]
    assert (found["method"], sizes) == ("quorate", [8, 3, 24, 2])
    assert len(found["labels"]) == 8
    assert found["solution"]["status"] == "converged"
    _, out, _ = quorate(capsys, "aggregate", answers, "--json", "--method", "rank-one:solver=gradient")
    assert json.loads(out)["solution"]["solver"] == "gradient"
    _, out, _ = quorate(capsys, "aggregate", answers, "--json", "-o", tmp_path / "x.csv", "--method", "majority")
    assert "labels" not in json.loads(out)


def test_diagnose(capsys: Any, answers: Path) -> None:
    code, out, _ = quorate(capsys, "diagnose", answers)
    assert code == 0
    assert "3 of 3 workers have too few answers to be rated" in out  # eight tasks tell no skill from zero
    _, out, _ = quorate(capsys, "diagnose", answers, "--json")
    found = json.loads(out)
    assert {"tasks", "workers", "answers", "classes", "components", "unidentifiable_workers"} <= set(found)
    assert {"workers", "bipartite", "identifiable", "witness", "lambda_min"} <= set(found["components"][0])


def test_simulate_and_score(capsys: Any, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("answers.parquet", "truth.csv", "skills.csv", "labels.csv")]
    code, out, err = quorate(
        capsys, "simulate", "-o", files[0], "--truth-out", files[1], "--skills-out", files[2], "--tasks", 200,
        "--workers", 12, "--per-task", 4, "--classes", 3, "--skills", "beta:5:1", "--activity", "zipf:0.5", "--seed", 5,
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert out.count("\n") == 1
    quorate(capsys, "aggregate", files[0], "-o", files[3])
    _, out, _ = quorate(capsys, "score", files[3], files[1], "--json")
    found = json.loads(out)
    assert found["n_scored"] == 200
    assert found["error"] < 0.15
    files[1].write_text("\n".join(files[1].read_text().splitlines()[:101]) + "\nstranger,c0\n")
    _, out, _ = quorate(capsys, "score", files[3], files[1])
    assert "of 100 labels" in out
    assert "the true label is not known: 100 tasks" in out
    assert "there is no label: 1 task" in out


@pytest.mark.parametrize(
    ("options", "files", "following"),
    [
        ([], ["a b.csv"], "report 'a b.csv'"),
        (["--truth-out", "t.csv"], ["a b.csv", "t.csv"], "compare 'a b.csv' --truth t.csv"),
        (["--scores", "--truth-out", "t.csv"], ["a b.csv", "t.csv"], "rate 'a b.csv'"),
    ],
)
def test_simulate_names_its_files_and_a_next_command_that_runs(
    options: list[str], files: list[str], following: str, capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = quorate(capsys, "simulate", "-o", "a b.csv", *options, "--tasks", 40, "--workers", 5)
    assert (code, err) == (0, "")
    assert out == f"Written to {' and '.join(files)}. Next: quorate {following}\n"
    assert quorate(capsys, *shlex.split(following))[0] == 0
    _, out, err = quorate(capsys, "simulate", "-o", "-", "--truth-out", "t.csv", "--tasks", 3, "--workers", 3)
    assert out.startswith("task,worker,label\n")
    assert err == "Written to t.csv.\n"


def test_every_reading_option_works_on_every_command_that_reads(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "odd.dat"
    path.write_bytes("item;who;verdict\n1;Zoé;x\n1;b;y\n1;b;x\n1;c;x\n2;;x\n2;b;y\n2;c;y\n".encode("latin-1"))
    options = ["--task", "item", "--worker", "who", "--label", "verdict", "--delimiter", ";", "--encoding", "latin-1"]
    options += ["--from", "csv", "--on-conflict", "last", "--skip-missing"]
    for command in ("aggregate", "diagnose"):
        code, out, _ = quorate(capsys, command, path, *options, "--json")
        found = json.loads(out)
        assert code == 0
        assert (found["answers"], found["conflicting"], found["skipped"]) == (5, 1, 1)
    rest = {"advise": "--budget 1", "agreement": "", "check": "--min-answers 1", "compare": "--methods majority"}
    rest |= {"estimate": "", "report": "-o -"}
    commands = get_command(app).commands  # type: ignore[attr-defined]
    assert {"aggregate", "diagnose", "rate", *rest} == {
        name for name, command in commands.items() if "on_conflict" in {parameter.name for parameter in command.params}
    }
    for command, more in rest.items():
        code, _, err = quorate(capsys, command, path, *options, *more.split())
        assert code == 0, (command, err)


def test_gold_is_read_from_the_same_columns(capsys: Any, answers: Path, tmp_path: Path) -> None:
    gold = tmp_path / "gold.csv"
    gold.write_text("task,label\nt0,y\n")
    _, out, _ = quorate(capsys, "aggregate", answers, "--gold", gold, "--json")
    assert json.loads(out)["labels"][0] == {
        "task": "t0", "label": "y", "confidence": 1.0, "margin": 1.0, "n_answers": 3, "tied": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["aggregate"], "No file is given"),
        (["compare"], "No file is given"),
        (["aggregate", "nothing.csv"], "There is no file nothing.csv"),
        (["aggregate", "ANSWERS", "--method", "magic"], "Unknown method 'magic'"),
        (["advise", "ANSWERS", "--budget", "x"], "Invalid value for '--budget'"),
        (["aggregate", "ANSWERS", "--task", "item"], "no column 'item'"),
        (["aggregate", "ANSWERS", "-o", "no/such/folder/x.csv"], "Cannot write"),
        (["aggregate", "ANSWERS", "-o", ""], "-o names no file"),
        (["aggregate", ""], "The name of the file is empty"),
        (["aggregate", "ANSWERS", "--gold", ""], "The name of the file is empty"),
        (["aggregate", "ANSWERS", "--output-format", "xlsx"], "cannot go to standard output"),
        (["aggregate", "ANSWERS", "--method", "majority:solver=gradient"], "has no option 'solver'"),
        (["aggregate", "ANSWERS", "--method", "rank-one:tau"], "The option 'tau' of rank-one needs a value"),
        (["compare", "ANSWERS", "--methods", ""], "names no method"),
        (["check", "ANSWERS"], "No limits are given"),
        (["nonsense"], "No such command 'nonsense'"),
        (["simulate", "-o", "-", "--skills", "magic"], "--skills has an unknown distribution"),
        (["score", "nothing.csv", "ANSWERS"], "There is no file nothing.csv"),
    ],
)
def test_errors_are_one_line_with_commands_below_and_exit_code_2(
    capsys: Any, answers: Path, arguments: list[str], says: str
) -> None:
    code, out, err = quorate(capsys, *(str(answers) if each == "ANSWERS" else each for each in arguments))
    assert code == 2
    assert out == ""
    assert err.startswith("quorate: ")
    message, *hints = err.splitlines()
    assert all(each.startswith(("Run: ", "Or: ", "To see what the file holds: ")) for each in hints)
    assert says in message


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path, answers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from quorate.io import write_table as output

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(output, "_write_csv", interrupted)
    target = tmp_path / "labels.csv"
    target.write_text("the old labels")
    with pytest.raises(SystemExit) as end:
        main(["aggregate", str(answers), "-o", str(target)])
    assert end.value.code == 130
    assert target.read_text() == "the old labels"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["answers.csv", "labels.csv"]


def test_ids_are_data_and_never_markup(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("task,worker,label\n[bold]t[/],[red]w,[/x]\n1,[red]w,ok\n1,b,ok\n1,c,[/x]\n")
    assert quorate(capsys, "aggregate", path, "-o", tmp_path / "o.csv")[0] == 0
    assert "[bold]t[/]" in (tmp_path / "o.csv").read_text()
    code, out, _ = quorate(capsys, "diagnose", path)
    assert code == 0
    assert "[red]w" in out


def run(*arguments: str, stdin: str | None = None) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "quorate", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)


def test_standard_input_and_output() -> None:
    done = run("aggregate", "-", "-o", "-", stdin=ROWS)
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].startswith("task,label")
    assert "8 labels from 24 answers" in done.stderr
    as_json = run("diagnose", "-", "--json", stdin='{"task": 1, "worker": "a", "label": 0}\n')
    assert json.loads(as_json.stdout)["unidentifiable_workers"] == ["a"]


@pytest.mark.skipif(sys.platform == "win32", reason="a shell's pipe, as Unix has it")
def test_a_reader_who_leaves_early_is_no_error(answers: Path) -> None:
    command = f"{sys.executable} -m quorate simulate -o - --tasks 20000 | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout == "task,worker,label\n"
    assert "Traceback" not in done.stderr


def test_version_and_help_start_fast() -> None:
    assert run("--version").stdout == f"quorate {__version__}, kernels in {in_use()}\n"
    before = os.times()
    run("--help")
    after = os.times()
    # Half a second is the promise; shared machines stall, so the limit is on CPU time, and twice that.
    assert after.children_user + after.children_system - before.children_user - before.children_system < 1.0
    code = "import sys, quorate.cli.app; print([m for m in ('numpy', 'pyarrow', 'scipy', 'ssl') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("typed", "completions"),
    [
        (["quorate", "aggregate", "--gol"], ["--gold", "--gold-column"]),
        (["quorate", "ledger", "ad"], ["add"]),
        (["quorate", "ledger", "merge", "--on"], ["--on-conflict"]),
        (["quorate", "sco"], ["score"]),
    ],
)
def test_a_shell_completes_commands_and_their_options(
    capsys: Any, monkeypatch: pytest.MonkeyPatch, typed: list[str], completions: list[str]
) -> None:
    monkeypatch.setenv("_QUORATE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", " ".join(typed))
    monkeypatch.setenv("COMP_CWORD", str(len(typed) - 1))
    assert quorate(capsys)[1].split() == completions


def test_the_demo_begins_with_its_result_and_ends_with_the_summary(capsys: Any) -> None:
    code, out, _ = quorate(capsys, "demo")
    assert code == 0
    first, *_ = out.splitlines()
    ours, theirs = (float(number) for number in re.findall(r"([\d.]+)%", first))
    assert first == f"Wrong labels: {ours}% with Quorate, {theirs}% with majority vote."
    assert ours < theirs
    assert "2,000 labels from 8,000 answers by 60 workers" in out[out.index("What quorate aggregate prints") :]
    assert "sweeps" not in out


def test_data_sets_are_listed_and_fetched(capsys: Any, tmp_path: Path, real: Any) -> None:
    _, out, _ = quorate(capsys, "datasets", "list", "--json")
    assert {row["name"] for row in json.loads(out)["datasets"]} == set(SOURCES)
    assert {"bluebird", "dogs", "rte1", "temp", "trec", "web", "wsd"} <= set(SOURCES)
    real.load("wsd")
    code, out, _ = quorate(capsys, "datasets", "fetch", "wsd", "-o", tmp_path)
    assert (code, out) == (0, "wsd: 1,770 answers to 177 tasks by 34 workers\n")
    _, out, _ = quorate(capsys, "compare", tmp_path / "wsd" / "answers.csv", "--truth", tmp_path / "wsd" / "truth.csv",
                        "--methods", "majority", "--json")  # fmt: skip
    assert json.loads(out)["methods"][0]["error"] == pytest.approx(0.0056, abs=5e-5)
    assert quorate(capsys, "datasets", "fetch", "nothing")[0] == 2


def test_reproduce_prints_where_the_experiments_are(capsys: Any) -> None:
    _, out, _ = quorate(capsys, "--help")
    assert "reproduce" not in out
    code, out, err = quorate(capsys, "reproduce", "learnability", "-o", "folder", "--quick")
    assert (code, out) == (2, "")
    assert "make reproduce" in err


def test_every_command_has_help(capsys: Any) -> None:
    groups = [("", app), *((f"{group.name} ", group.typer_instance) for group in app.registered_groups)]
    commands = {
        f"{name}{command.name or command.callback.__name__}": command.callback.__doc__
        for name, group in groups
        for command in (group.registered_commands if group else ())
        if command.callback
    }
    assert {"aggregate", "simulate", "ledger add", "datasets fetch"} <= set(commands)
    for command, text in commands.items():
        code, out, _ = quorate(capsys, *command.split(), "--help")
        assert code == 0
        assert text
        assert " ".join(text.split("\n\n")[0].split()) in " ".join(out.split())


@pytest.mark.parametrize(
    ("rows", "arguments", "code"),
    [
        ("1,a,x\n1,b,x\n2,a,y\n2,b,y\n", ["check", "--min-agreement", "0.5"], 0),
        ("1,a,x\n1,b,x\n2,a,y\n2,b,x\n", ["check", "--min-agreement", "0.9"], 1),
        ("1,a,x\n", ["check", "--min-answers", "many"], 2),
        ("1,a,x\n", ["check"], 2),
        ("1,a,x\n", ["check", "--max-error", "0.001"], 3),
        ("1,a,x\n", ["check", "--max-error", "0.001", "--json"], 3),
        ("1,a,x\n", ["estimate"], 3),
        ("1,a,x\n", ["estimate", "--json"], 3),
        ("1,a,x\n2,a,y\n3,a,x\n", ["estimate"], 3),
        ("1,a,x\n2,a,y\n3,a,x\n", ["estimate", "--plan", "0.4"], 0),
        ("1,a,x\n", ["estimate", "--level", "7"], 2),
        ("1,a,x\n", ["aggregate"], 0),
    ],
)
def test_the_exit_code_tells_a_failure_from_bad_input_and_from_no_decision(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: str, arguments: list[str], code: int
) -> None:
    file = tmp_path / "answers.csv"
    file.write_text(f"task,worker,label\n{rows}")
    command, *options = arguments
    found, out, err = quorate(capsys, command, file, *options)
    assert found == code, (out, err)
    if code == 3:
        assert any(text in out.lower() for text in ("undecided", "cannot be decided", "nothing can be estimated"))
    if code == 3 and "--json" in options:
        assert json.loads(out)["decision" if command == "check" else "method"] == "undecided"


def test_a_small_csv_loads_neither_pandas_nor_an_engine_nor_scipy_stats(tmp_path: Path) -> None:
    """Each of them would cost more than the aggregation itself."""
    answers = tmp_path / "answers.csv"
    answers.write_text("task,worker,label\n" + "".join(f"{t},{w},{'xy'[t % 2]}\n" for t in range(9) for w in "abc"))
    command = ["aggregate", str(answers), "-o", str(tmp_path / "labels.csv"), "--quiet"]
    program = f"""
import sys
from quorate.cli.app import app
app({command!r}, standalone_mode=False)
heavy = ("pandas", "scipy.stats", "duckdb", "ibis", "pyspark")
# These two decide whether an engine is needed, and load none.
decide = ("quorate.backends.engine_options", "quorate.backends.choose_engine")
print([name for name in sys.modules if name in heavy or name.startswith("quorate.backends.") and name not in decide])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_no_summary_of_any_command_loads_scipy_stats(tmp_path: Path) -> None:
    """It takes 0.8 seconds of CPU; scipy.special has the same functions."""
    rows = [(t, w, "xy"[(t * (w + 1) % 5) % 2]) for t in range(40) for w in range(6)]
    (tmp_path / "answers.csv").write_text("task,worker,label\n" + "".join(f"{t},w{w},{x}\n" for t, w, x in rows))
    (tmp_path / "scores.csv").write_text(
        "task,worker,score\n" + "".join(f"{t},w{w},{t % 5 + w % 2}\n" for t, w, _ in rows)
    )
    (tmp_path / "pairs.csv").write_text("left,right,winner\n" + "a,b,a\nb,c,b\na,c,a\nb,a,b\nc,b,c\n" * 4)
    program = """
import sys
from quorate.cli.app import app
for command in ("aggregate answers.csv", "diagnose answers.csv", "rate scores.csv", "rank pairs.csv"):
    app(command.split(), standalone_mode=False)
print("scipy.stats" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "False"


def test_a_run_for_labels_computes_nothing_of_the_worker_table(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = tmp_path / "answers.csv"
    answers.write_text("task,worker,label\n" + "".join(f"{t},{w},{'xy'[t % 2]}\n" for t in range(30) for w in "abcde"))

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("only the worker table needs this")

    monkeypatch.setattr("quorate.result.skill_intervals", refuse)
    monkeypatch.setattr("quorate.skills.weak_identification.weak_identification", refuse)
    monkeypatch.setattr("quorate.result.Result.workers", property(refuse))
    monkeypatch.setattr("quorate.skills.gold_counts.count_gold", refuse)
    code, _, err = quorate(capsys, "aggregate", answers, "-o", tmp_path / "labels.csv", "--quiet")
    assert code == 0, err
    with pytest.raises(AssertionError):
        quorate(capsys, "aggregate", answers, "--workers-out", tmp_path / "workers.csv", "--quiet")
