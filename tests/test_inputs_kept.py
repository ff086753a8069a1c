"""No output of a call replaces an input of the same call: every pair of input and output parameters is tried.

The pairs are generated from the signatures of the commands and of the public functions: every input in every form (a
file, a pattern, a folder of logs, a database, an address, standard input), every output, and the path of the output in
every spelling. Whatever names a file and is not in ``INPUTS`` is taken for an output and has to write one, so that a
new option is tried as soon as it is there. ``python -m tests.test_inputs_kept`` prints the number of pairs.
"""

import gzip
import hashlib
import inspect
import json
import os
import shutil
import sqlite3
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.main import get_command

import quorate
from quorate.backends import source as engine_source
from quorate.cli.app import app
from quorate.errors import OptionError, UnwritableFileError
from quorate.io import inputs
from quorate.io.atomic import atomic_write
from quorate.io.dataframes import Source
from quorate.io.write_table import write_text
from tests.cli.running import quorate as run_command

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links as Unix has them")

ROWS = "task,worker,label\n" + "".join(
    f"t{t},{w},{'xy'[(t * k) % 2]}\n" for t in range(8) for k, w in enumerate("abcd") if k != t % 4
)
VOTES = "left,right,winner\n" + "a,b,left\nb,c,left\nc,a,left\na,c,left\n" * 3
SCORES = "task,worker,score\n" + "".join(
    f"t{t},{w},{1 + (t + (t + k) % 3) % 5}\n" for t in range(12) for k, w in enumerate("abcd")
)
KNOWN_SCORES = "task,score\n" + "".join(f"t{t},{1 + (t + 1) % 5}\n" for t in range(12))
SPELLINGS = ("same", "symbolic link", "hard link", "relative", "file address")
FILE_METAVARS = ("FILE", "FOLDER", "LEDGER", "DIR", "URL")
# Why a run that should not replace its input may end before it is refused for that: there is another reason.
OTHER_REFUSALS = (
    "End the name in .parquet, .csv or .jsonl",
    "exists already, and merge makes a new ledger",
    "tables are written as .csv",
)


@dataclass(frozen=True)
class Form:
    """A form in which an input can be given: the argument, and the file that must stay as it is."""

    argument: str  # {} stands for the folder
    file: str
    options: tuple[str, ...] = ()  # that this form needs
    is_out_of_core: bool = False


def forms(*names: str) -> tuple[Form, ...]:
    return tuple(Form(f"{{}}/{name}", name) for name in names)


ENGINE_FORMS = (
    Form("{}/data/**/*.csv", "data/x/y/p1.csv"),
    Form("{}/data/x/y/p?.csv", "data/x/y/p1.csv"),
    Form("file://{}/answers.csv", "answers.csv"),
    Form("{}/answers.csv", "answers.csv", ("--engine", "duckdb")),
    Form("{}/crowd.db", "crowd.db"),
    Form("sqlite://{}/crowd.db", "crowd.db"),
    Form("duckdb://{}/crowd.duckdb", "crowd.duckdb", ("--table", "answers")),
    Form("duckdb://{}/crowd.duckdb", "viewed.csv", ("--table", "viewed")),
)
PLAIN_FORMS = (
    *forms("answers.csv", "answers.parquet", "answers.csv.gz", "export.json", "tables/labels.csv"),
    Form("-", "answers.csv"),
    Form("{}/logs", "logs/b/samples_q_2026-01-01T00-00-00.000001.jsonl"),
)
# Of every input parameter, or of that of one command.
INPUTS: dict[str, tuple[Form, ...]] = {
    "file": (*PLAIN_FORMS, ENGINE_FORMS[0], ENGINE_FORMS[5]),  # one command has them all: all of them read alike
    "aggregate file": (*PLAIN_FORMS, *ENGINE_FORMS, *(replace(each, is_out_of_core=True) for each in ENGINE_FORMS)),
    "convert file": forms("answers.csv", "export.json"),
    "rank file": (
        *forms("votes.csv", "votes.csv.gz"),
        Form("-", "votes.csv"),
        Form("{}/votes.csv", "votes.csv", ("--engine", "duckdb")),
        Form("{}/vote?.csv", "votes.csv"),
        Form("duckdb://{}/crowd.duckdb", "crowd.duckdb", ("--table", "votes")),
    ),
    "rank gold": forms("known_votes.csv"),
    "rate file": (
        *forms("scores.csv", "scores.csv.gz"),
        Form("-", "scores.csv"),
        Form("{}/scores.csv", "scores.csv", ("--engine", "duckdb")),
        Form("duckdb://{}/crowd.duckdb", "crowd.duckdb", ("--table", "scores")),
    ),
    "rate gold": forms("known_scores.csv"),
    "map": forms("map.csv"),
    "gold": forms("gold.csv"),
    "truth": forms("gold.csv"),
    "costs": forms("costs.csv"),
    "known_workers": forms("workers.csv"),
    "predictions": forms("predictions.csv"),
    "tasks": forms("tasks.csv"),
    "available": forms("workers.csv"),
    "config": forms("limits.toml"),
    "labels": forms("export_labels.csv"),
    "ledger": (Form("{}/one.ledger", "one.ledger/index.sqlite"),),
    "ledgers": (Form("{}/one.ledger", "one.ledger/index.sqlite"),),
    "files": forms("answers.csv"),
}
# What is given where the pair does not give it: arguments in their order, and options with which the command runs.
ARGUMENTS: dict[str, list[str]] = {
    "file": ["{}/answers.csv"],
    "rank file": ["{}/votes.csv"],
    "rate file": ["{}/scores.csv"],
    "labels: file": ["{}/export.json"],
    "ledger": ["{}/one.ledger"],
}
OPTIONS: dict[str, tuple[str, ...]] = {
    "advise": ("--budget", "3", "--anyway"),
    "check": ("--min-answers", "1"),
    "report": ("--compare", ""),
    "estimate": ("--sampled", "unknown"),
    "rank": ("--next", "2"),
    "ledger merge": ("{}/two.ledger",),
    "estimate tasks": ("--by", "language"),
    "convert labels": ("--to", "labelstudio"),
}
WRITTEN_WITHIN = {"tables": "labels.csv"}  # the file that is tried, of an output that is a folder
EXCLUDED: dict[tuple[str, str], str] = {
    ("ledger add", "ledger"): "an input that is updated in place; see test_a_ledger_is_updated_in_place",
    ("advise", "key_out"): "goes with --expert, and is written as -o is",
    ("pull", "output"): "the command reads no file",
    ("labelstudio pull", "output"): "the command reads no file",
    ("simulate", "output"): "the command reads no file",
    ("simulate", "truth_out"): "the command reads no file",
    ("simulate", "skills_out"): "the command reads no file",
    ("datasets fetch", "output"): "the command reads no file that the user names",
}
# Inputs and outputs that a command refuses to take together, or where it does not write.
NOT_TOGETHER: dict[tuple[str, str, str], str] = {
    ("convert", "labels", "gold_out"): "--gold-out is for answers, --labels writes labels back",
    ("convert", "file answers.csv", "gold_out"): "a plain table holds no known labels",
    ("aggregate", "file beyond memory", "soft_labels_out"): "there is no posterior beyond memory",
    ("aggregate", "file beyond memory", "review_out"): "labels are split in memory only",
}


@dataclass(frozen=True)
class Pair:
    """An input of a command in one of its forms, and an output."""

    command: str
    source: str
    form: Form
    output: str


def commands(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix}{name} ")
        elif not command.hidden:
            yield f"{prefix}{name}", command


@cache
def declared(command: str) -> dict[str, Any]:
    """The parameters of a command that name files."""
    parameters = dict(commands(get_command(app)))[command].params
    return {each.name: each for each in parameters if any(mark in str(each.metavar) for mark in FILE_METAVARS)}


def file_parameters(command: str) -> tuple[list[str], list[str]]:
    """The inputs and the outputs of a command."""
    names = [name for name in declared(command) if not EXCLUDED.keys() & {("", name), (command, name)}]
    return [name for name in names if name in INPUTS], [name for name in names if name not in INPUTS]


def forms_of(command: str, source: str) -> tuple[Form, ...]:
    return INPUTS.get(f"{command} {source}", INPUTS[source])


def is_possible(pair: Pair) -> bool:
    kinds = {pair.source, f"{pair.source} {pair.form.file}"}
    if pair.form.is_out_of_core:
        kinds.add(f"{pair.source} beyond memory")
    return not NOT_TOGETHER.keys() & {(pair.command, kind, pair.output) for kind in kinds}


def pairs_of(command: str) -> list[Pair]:
    sources, outputs = file_parameters(command)
    found = [
        Pair(command, source, form, output)
        for source in sources
        for form, output in product(forms_of(command, source), outputs)
    ]
    return [pair for pair in found if is_possible(pair)]


def spellings_of(pair: Pair) -> tuple[str, ...]:
    """All of them; where an engine takes a tenth of a second to start, only for one output of one command."""
    within = WRITTEN_WITHIN.get(pair.output)
    if within is not None and Path(pair.form.file).name != within:
        return SPELLINGS[1:3]
    return SPELLINGS if is_plain(pair) or (pair.command, pair.output) == ("aggregate", "output") else SPELLINGS[:1]


def is_plain(pair: Pair) -> bool:
    """Whether no engine reads the input."""
    return pair.source != "file" or pair.form in PLAIN_FORMS


COMMANDS = [name for name, _ in commands(get_command(app)) if pairs_of(name)]


def arguments_of(pair: Pair, folder: Path, output: Path | str) -> list[str]:
    """The command line of a pair."""
    typed = pair.command.split()
    options: list[str] = []
    for name, declaration in declared(pair.command).items():
        if declaration.param_type_name == "argument":
            usual = ARGUMENTS.get(f"{pair.command} {name}", ARGUMENTS.get(name, ()))
            given = ARGUMENTS.get(f"{pair.source}: {name}", usual)
            typed += [pair.form.argument] if name == pair.source else given
        elif name == pair.source:
            options += [flag_of(declaration), pair.form.argument]
    options += [*pair.form.options, *OPTIONS.get(f"{pair.command} {pair.source}", ()), *OPTIONS.get(pair.command, ())]
    options += [flag_of(declared(pair.command)[pair.output]), str(output)]
    if pair.command == "report" and pair.output != "output":
        options += ["-o", "{}/page.html"]
    return [each.replace("{}", str(folder)) for each in (*typed, *options)]


def flag_of(declaration: Any) -> str:
    return str(declaration.opts[-1])


# --- the files ---


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("original")
    for within in ("data/x/y", "logs/a", "logs/b", "logs/c", "tables"):
        (folder / within).mkdir(parents=True)
    rows = [line.split(",") for line in ROWS.splitlines()[1:]]
    for name in ("answers.csv", "viewed.csv", "data/x/y/p1.csv", "tables/labels.csv"):
        (folder / name).write_text(ROWS)
    (folder / "answers.csv.gz").write_bytes(gzip.compress(ROWS.encode()))
    columns = dict(zip(("task", "worker", "label"), zip(*rows, strict=True), strict=True))
    parquet.write_table(pa.table({name: list(values) for name, values in columns.items()}), folder / "answers.parquet")
    (folder / "scores.csv").write_text(SCORES)
    (folder / "scores.csv.gz").write_bytes(gzip.compress(SCORES.encode()))
    (folder / "known_scores.csv").write_text(KNOWN_SCORES)
    (folder / "votes.csv").write_text(VOTES)
    (folder / "known_votes.csv").write_text(VOTES)
    (folder / "votes.csv.gz").write_bytes(gzip.compress(VOTES.encode()))
    (folder / "map.csv").write_text("answer,class\nx,x\ny,y\n")
    (folder / "gold.csv").write_text("task,label\nt0,x\nt1,y\n")
    (folder / "costs.csv").write_text("said,true,cost\nx,y,2\ny,x,1\n")
    (folder / "workers.csv").write_text("worker,skill,skill_low,skill_high\na,0.5,0.1,0.9\ne,0.6,0.2,0.9\n")
    (folder / "predictions.csv").write_text("task,label\n" + "".join(f"t{t},x\n" for t in range(8)))
    (folder / "tasks.csv").write_text("task,language\n" + "".join(f"t{t},{'ed'[t % 2]}\n" for t in range(8)))
    (folder / "limits.toml").write_text("min-answers = 1\n")
    (folder / "export.json").write_text(json.dumps(label_studio_tasks(rows)))
    (folder / "export_labels.csv").write_text("task,label\n1,x\n2,y\n")
    for number, model in enumerate("abc"):
        lines = [
            {"doc_id": doc, "filter": "none", "filtered_resps": [["-1", "False"], [str(-(doc + number) % 3), "True"]]}
            for doc in range(8)
        ]
        file = folder / "logs" / model / "samples_q_2026-01-01T00-00-00.000001.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    database = sqlite3.connect(folder / "crowd.db")
    database.execute("CREATE TABLE answers (task text, worker text, label text)")
    database.executemany("INSERT INTO answers VALUES (?, ?, ?)", rows)
    database.commit()
    database.close()
    for name, some in (("one.ledger", rows[:12]), ("two.ledger", rows[12:])):
        ledger = quorate.Ledger()
        ledger.add(dict(zip(("task", "worker", "label"), map(list, zip(*some, strict=True)), strict=True)))
        ledger.save(folder / name)
    return folder


def label_studio_tasks(rows: list[list[str]]) -> list[dict[str, Any]]:
    tasks: dict[str, dict[str, Any]] = {}
    for number, (task, worker, label) in enumerate(rows):
        entry = tasks.setdefault(task, {"id": int(task[1:]) + 1, "data": {"text": task}, "annotations": []})
        choice = {"from_name": "q", "to_name": "text", "type": "choices", "value": {"choices": [label]}}
        annotation = {"id": number, "completed_by": {"id": ord(worker), "email": worker}, "result": [choice]}
        entry["annotations"].append(annotation)
        if number == 0:  # labels of an expert
            lead = {**annotation, "id": 999, "completed_by": {"id": 1, "email": "lead"}, "ground_truth": True}
            entry["annotations"].append(lead)
    return list(tasks.values())


@pytest.fixture
def folder(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the files, which is the working folder; the view in the database reads the copy."""
    import duckdb

    shutil.copytree(original, tmp_path / "work")
    with duckdb.connect(str(tmp_path / "work" / "crowd.duckdb")) as database:
        path = tmp_path / "work" / "viewed.csv"
        database.execute(f"CREATE TABLE answers AS SELECT * FROM read_csv('{path}', all_varchar = true)")
        scores = tmp_path / "work" / "scores.csv"
        database.execute(f"CREATE TABLE scores AS SELECT * FROM read_csv('{scores}')")
        votes = tmp_path / "work" / "votes.csv"
        database.execute(f"CREATE TABLE votes AS SELECT * FROM read_csv('{votes}', all_varchar = true)")
        database.execute(f"CREATE VIEW viewed AS SELECT * FROM read_csv('{path}', all_varchar = true)")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def hashes(folder: Path) -> dict[str, str]:
    found = (Path(within) / name for within, _, names in os.walk(folder) for name in names)
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def spelled(folder: Path, file: str, spelling: str) -> tuple[Path | str, Path | None]:
    """A path that leads to a file, and the link that was made for it."""
    path = folder / file
    if "link" in spelling:
        link = folder / f"link{path.suffix}"
        make_link(path, link, spelling)
        return link, link
    paths = {"same": str(path), "relative": os.path.join(".", file), "file address": f"file://{path}"}
    return paths[spelling], None


def make_link(path: Path, link: Path, spelling: str) -> None:
    if spelling == "hard link":
        os.link(path, link)
    else:
        link.symlink_to(path)


def output_of(pair: Pair, folder: Path, spelling: str) -> tuple[Path | str, Path | None]:
    """What the output is called, and the link that was made for it."""
    within = WRITTEN_WITHIN.get(pair.output)
    if within is None:
        return spelled(folder, pair.form.file, spelling)
    if "link" in spelling:
        (folder / "made").mkdir(exist_ok=True)
        make_link(folder / pair.form.file, folder / "made" / within, spelling)
        return folder / "made", folder / "made" / within
    output, _ = spelled(folder, pair.form.file, spelling)
    return str(output).removesuffix(f"/{within}"), None


class Runner:
    """Runs the command lines of pairs in one folder."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.capsys = capsys
        self.monkeypatch = monkeypatch
        self.most = engine_source.MAX_ANSWERS
        self.before = hashes(folder)

    def run(self, pair: Pair, output: Path | str) -> tuple[int, str]:
        arguments = arguments_of(pair, self.folder, output)
        self.monkeypatch.setattr(engine_source, "MAX_ANSWERS", 0 if pair.form.is_out_of_core else self.most)
        with (self.folder / pair.form.file).open() as stream:
            self.monkeypatch.setattr("sys.stdin", stream)
            code, _, message = run_command(self.capsys, *arguments)
        return code, f"quorate {' '.join(arguments)}: {code}, {message}"

    def fault(self, pair: Pair, spelling: str) -> str | None:
        """What is wrong with a run whose output is its input; None where it is refused and nothing has changed."""
        output, link = output_of(pair, self.folder, spelling)
        code, printed = self.run(pair, output)
        if link is not None:
            target = self.folder / pair.form.file
            kept_link = link.exists() and link.samefile(target)
            link.unlink()
            if not kept_link:
                return f"{spelling} replaced: {printed}"
        if hashes(self.folder) != self.before:
            return f"{spelling}: files have changed: {printed}"
        if code != 2 or not any(says in printed for says in ("would overwrite", *OTHER_REFUSALS)):
            return f"{spelling}: not refused: {printed}"
        return None


@pytest.fixture
def runner(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Runner:
    monkeypatch.setattr("quorate.reporting.report.to_svg", lambda spec, label: "<svg/>")  # seconds a page
    monkeypatch.setattr("quorate.reporting.ranking_page.to_svg", lambda spec, label: "<svg/>")
    return Runner(folder, capsys, monkeypatch)


# --- commands ---


@pytest.mark.parametrize("command", COMMANDS)
def test_no_output_of_a_command_replaces_its_input(command: str, runner: Runner) -> None:
    tried = [(pair, spelling) for pair in pairs_of(command) for spelling in spellings_of(pair)]
    faults = [fault for pair, spelling in tried if (fault := runner.fault(pair, spelling)) is not None]
    assert not faults, f"{len(faults)} of {len(tried)}:\n" + "\n".join(faults)


def computed_pairs_of(command: str) -> list[Pair]:
    """The pairs that are tried where each takes a whole run: fewer, because all commands read and write alike."""
    if command == "aggregate":
        return [pair for pair in pairs_of(command) if is_plain(pair) or pair.output == "output"]
    return [pair for pair in pairs_of(command) if pair.form == forms_of(command, pair.source)[0]]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_writer_refuses_also_what_was_not_announced(
    command: str, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An option that is not registered as an output is refused when it is written."""
    monkeypatch.setattr(inputs, "announce_output", lambda option, path: None)
    tried = [(pair, spellings_of(pair)[0]) for pair in computed_pairs_of(command)]
    faults = [fault for pair, spelling in tried if (fault := runner.fault(pair, spelling)) is not None]
    assert not faults, f"{len(faults)} of {len(tried)}:\n" + "\n".join(faults)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_pairs_are_of_commands_that_run_and_write(command: str, runner: Runner) -> None:
    """To another path every pair writes: what is refused above is refused for the path."""
    for pair in computed_pairs_of(command):
        within = WRITTEN_WITHIN.get(pair.output)
        output = runner.folder / ("new" if within else "new.csv")
        code, printed = runner.run(pair, output)
        assert code == 0, printed
        written = output / within if within else output
        assert written.stat().st_size > 0, printed
        shutil.rmtree(output) if output.is_dir() else output.unlink()
        (runner.folder / "page.html").unlink(missing_ok=True)
        assert hashes(runner.folder) == runner.before


# --- the library ---

# The public functions and methods that take the path of a file, by whether they both read and write.
READ_AND_WRITE = {"backends.aggregate", "write_back"}
READ_OR_WRITE = {
    "Ledger.load": "writes nothing",
    "Ledger.save": "reads nothing",
    "Ranking.report": "reads nothing: the comparisons were read by rank()",
    "Report.write": "reads nothing: the answers were read by report()",
    "Result.save": "reads nothing",
    "load": "writes nothing",
    "check": "writes nothing",
    "write_table": "reads nothing",
}
LIBRARY_INPUTS: dict[str, tuple[Form, ...]] = {
    "source": (*forms("answers.csv", "answers.parquet", "answers.csv.gz"), *ENGINE_FORMS),
    "connect": (
        Form("sqlite://{}/crowd.db", "crowd.db", ("--table", "answers")),
        Form("duckdb://{}/crowd.duckdb", "crowd.duckdb", ("--table", "answers")),
    ),
    "skills": INPUTS["known_workers"],
    **{name: INPUTS[name] for name in ("map", "gold", "costs")},
}


def public_callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in quorate.__all__:
        thing = getattr(quorate, name)
        if isinstance(thing, types.ModuleType):
            for within in getattr(thing, "__all__", ()):
                yield f"{name}.{within}", getattr(thing, within)
        elif inspect.isclass(thing):
            for method, function in inspect.getmembers(thing, callable):
                if not method.startswith("_"):
                    yield f"{name}.{method}", function
        elif inspect.isfunction(thing):
            yield name, thing


def names_a_path(annotation: Any) -> bool:
    """Whether a parameter is the path of a file, and not any source of a table."""
    kinds = set(get_args(annotation)) or {annotation}
    if set(get_args(Source)) <= kinds:
        kinds -= set(get_args(Source))
    return any("Path" in str(kind) for kind in kinds)


def test_every_public_function_that_takes_a_path_is_tried_or_excluded() -> None:
    takes_path = {
        name
        for name, function in public_callables()
        if any(names_a_path(each.annotation) for each in inspect.signature(function).parameters.values())
    }
    assert takes_path == READ_AND_WRITE | READ_OR_WRITE.keys()


def keywords_of(name: str, form: Form, folder: Path) -> dict[str, Any]:
    """What `quorate.backends.aggregate` is given, so that it reads an input in that form."""
    given: dict[str, Any] = {"source": str(folder / "answers.csv"), "engine": "duckdb"}
    if "://" in form.argument or form.argument.endswith(".db"):
        del given["engine"]
    if name == "connect":
        del given["source"]
    if "--table" in form.options:
        given["table"] = form.options[1]
    return given | {name: form.argument.replace("{}", str(folder))}


@pytest.mark.parametrize("most", [0, 1000], ids=["beyond memory", "in memory"])
def test_no_output_of_warehouse_aggregate_replaces_its_input(most: int, folder: Path) -> None:
    before = hashes(folder)
    for name, form in [(name, form) for name, forms in LIBRARY_INPUTS.items() for form in forms]:
        for spelling in SPELLINGS if form.file in ("answers.csv", "gold.csv") else SPELLINGS[:1]:
            output, link = spelled(folder, form.file, spelling)
            with pytest.raises((OptionError, UnwritableFileError), match=r"would overwrite"):
                quorate.backends.aggregate(**keywords_of(name, form, folder), most=most, output=output)
            if link is not None:
                assert link.samefile(folder / form.file)
                link.unlink()
            assert hashes(folder) == before, (name, form, spelling)


def test_no_output_replaces_the_file_behind_a_table_of_ibis(folder: Path) -> None:
    import ibis

    connection = ibis.duckdb.connect()
    read = connection.read_csv("viewed.csv", all_varchar=True)
    tables = [read, read.filter(read.label != "z"), connection.create_view("again", read)]
    tables += [connection.sql("SELECT * FROM 'viewed.csv'"), connection.read_parquet("answers.parquet")]
    tables.append(ibis.sqlite.connect("crowd.db").table("answers"))
    before = hashes(folder)
    for table, file in zip(tables, [*["viewed.csv"] * 4, "answers.parquet", "crowd.db"], strict=True):
        with pytest.raises(OptionError, match="would overwrite"):
            quorate.backends.aggregate(table, output=file)
    assert hashes(folder) == before


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_write_results_does_not_replace_the_labels(spelling: str, folder: Path) -> None:
    export = quorate.read_export("export.json")
    output, _ = spelled(folder, "export_labels.csv", spelling)
    before = hashes(folder)
    with pytest.raises(OptionError, match="would overwrite"):
        quorate.write_back(export, "export_labels.csv", output, "labelstudio")
    assert hashes(folder) == before


# --- the scope of the guard ---


def test_a_file_read_by_one_call_may_be_replaced_by_the_next(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = quorate.backends.aggregate("answers.csv", "majority", engine="duckdb")
    quorate.write_table(result.labels, "answers.csv")
    assert (folder / "answers.csv").read_text().startswith("task,label,confidence")
    assert run_command(capsys, "aggregate", "viewed.csv", "-o", "new.csv")[0] == 0
    assert run_command(capsys, "simulate", "-o", "viewed.csv", "--tasks", "5", "--workers", "4")[0] == 0


def test_a_file_may_be_written_and_read_back_and_written_by_one_call(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with inputs.guard_inputs({"-o": path}):
        for _ in range(2):
            write_text(ROWS, path)
            assert quorate.read(path).n_tasks == 8


def test_a_call_within_a_call_shares_its_inputs(folder: Path) -> None:
    with inputs.guard_inputs():
        with inputs.guard_inputs():
            quorate.read("answers.csv")
        with pytest.raises(OptionError, match="would overwrite"):
            write_text("x", "answers.csv")
    write_text("x", "answers.csv")


def test_what_is_read_between_filling_a_file_and_renaming_it_is_kept(folder: Path) -> None:
    before = hashes(folder)
    with pytest.raises(OptionError, match="would overwrite"), inputs.guard_inputs():
        atomic_write("answers.csv", lambda stream: stream.write(str(quorate.read("answers.csv")).encode()))
    assert hashes(folder) == before


def test_devices_and_standard_streams_are_never_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = ("-o", "/dev/null", "--workers-out", "/dev/null")
    assert run_command(capsys, "aggregate", "answers.csv", "--gold", "/dev/stdin", *outputs)[0] == 2  # it is empty
    with (folder / "answers.csv").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert run_command(capsys, "aggregate", "-", "-o", "-")[0] == 0
    assert run_command(capsys, "check", "answers.csv", "--min-answers", "1", "--junit", "/dev/null")[0] == 0
    assert run_command(capsys, "ledger", "merge", "one.ledger", "two.ledger", "-o", "/dev/null")[0] == 0


# --- ledgers, read-only files, files that are added to ---


def test_a_ledger_is_updated_in_place(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = hashes(folder)
    assert run_command(capsys, "ledger", "add", "one.ledger", "answers.csv")[0] == 0
    assert len(quorate.Ledger.load("one.ledger")) == 24
    after = hashes(folder)
    changed = {name for name in after if after[name] != before.get(name)}
    assert {name.partition("/")[0] for name in changed} == {"one.ledger"}
    assert set(before) - set(after) == set()
    for spelling in SPELLINGS:
        ledger, link = spelled(folder, "answers.csv", spelling)
        assert run_command(capsys, "ledger", "add", ledger, "answers.csv")[0] == 2
        if link is not None:
            link.unlink()
    assert hashes(folder) == after


@pytest.mark.parametrize("existing", ["answers.csv", "one.ledger", "two.ledger"])
def test_merge_makes_a_new_ledger_only(existing: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree("one.ledger", "three.ledger")
    before = hashes(folder)
    code, _, message = run_command(capsys, "ledger", "merge", "two.ledger", "three.ledger", "-o", existing)
    assert (code, hashes(folder)) == (2, before)
    assert "remove the file first" in message or "it is a folder" in message


def test_a_read_only_file_is_not_replaced(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("kept.csv", "kept.xml"):
        (folder / name).write_text("precious")
        (folder / name).chmod(0o444)
    (folder / "one.ledger").chmod(0o555)
    (folder / "link.csv").symlink_to("kept.csv")
    before = hashes(folder)
    for arguments in (
        ("aggregate", "answers.csv", "-o", "kept.csv"),
        ("aggregate", "answers.csv", "-o", "link.csv"),
        ("check", "answers.csv", "--min-answers", "1", "--junit", "kept.xml"),
        ("check", "answers.csv", "--min-answers", "1", "--summary", "kept.xml"),
        ("ledger", "add", "one.ledger", "answers.csv"),
    ):
        code, _, message = run_command(capsys, *arguments)
        assert (code, "read-only" in message, "chmod u+w" in message) == (2, True, True), (arguments, message)
    with pytest.raises(UnwritableFileError, match="read-only"):
        quorate.backends.aggregate("answers.csv", output="kept.csv", engine="duckdb")
    assert hashes(folder) == before


def test_the_files_of_check_appear_together(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "summary.md").write_text("before\n")
    arguments = ("check", "answers.csv", "--min-answers", "1", "--summary", "summary.md", "--junit")
    (folder / "new").mkdir()
    assert run_command(capsys, *arguments, "new")[0] == 2
    assert run_command(capsys, *arguments, "summary.md")[0] == 2
    assert (folder / "summary.md").read_text() == "before\n"
    for _ in range(2):
        assert run_command(capsys, *arguments, "new/junit.xml")[0] == 0
    assert (folder / "summary.md").read_text().startswith("before\n")
    assert (folder / "summary.md").read_text().count("min-answers") == 2
    assert (folder / "new" / "junit.xml").read_text().startswith("<?xml")


def main() -> None:
    """Print how many pairs and runs there are."""
    pairs = [pair for command in COMMANDS for pair in pairs_of(command)]
    runs = sum(len(spellings_of(pair)) for pair in pairs)
    for command in COMMANDS:
        sources, outputs = file_parameters(command)
        print(f"{command}: {len(pairs_of(command))} pairs; inputs {', '.join(sources)}; outputs {', '.join(outputs)}")
    parameters = {(pair.command, pair.source, pair.output) for pair in pairs}
    print(f"{len(parameters)} pairs of parameters, {len(pairs)} with their forms, {runs} with the spellings of paths")


if __name__ == "__main__":
    main()
