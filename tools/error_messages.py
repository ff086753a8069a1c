"""Print every error message, for readers: `python tools/error_messages.py`.

Command lines that fail are run in an empty folder, and each is printed with its message as a user sees it. Messages
that no command line here causes are printed as they stand in the source, with their place.
"""

import argparse
import ast
import io
import os
import shlex
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import quorate
from quorate.cli import app

SOURCE = Path(quorate.__file__).parent
LONG = "x" * 300

# A file, and what it holds.
FILES = {
    "answers.csv": "task,worker,label\n"
    + "".join(f"t{t},w{k},{'xy'[(t * (k + 1)) % 2]}\n" for t in range(12) for k in range(4)),
    "team.csv": "Item ID,Text,Annotator,Sentiment,Seconds\n"
    + "".join(f"i{t},text {t},{w},{'ab'[(t + len(w)) % 2]},{t}\n" for t in range(9) for w in ("ana", "ben", "cleo")),
    "truth.csv": "task,label\n" + "".join(f"t{t},{'xy'[t % 2]}\n" for t in range(12)),
    "two_truths.csv": "task,label\nt0,x\nt0,y\n",
    "other_tasks.csv": "task,label\nq0,x\nq1,y\n",
    "other_class.csv": "task,label\nt0,z\n",
    "blank_truth.csv": "task,label\nt0,\n",
    "no_label.csv": "task,verdict\nt0,x\n",
    "conflict.csv": "task,worker,label\n1,ann,x\n1,ann,y\n1,bob,x\n",
    "blank.csv": "task,worker,label\n1,ann,x\n1,,y\n2,bob,\n",
    "ragged.csv": "task,worker,label\n1,ann,x\n1,bob\n2,ann,x,y,z\n",
    "quote.csv": 'task,worker,label\n1,ann,"x\n2,bob,y\n',
    "header.csv": "task,worker,label\n",
    "empty.csv": "",
    "latin.csv": "task,worker,label\n1,Zo\xe9,x\n",
    "one.csv": "task,worker,label\n1,ann,x\n",
    "twice.csv": "task,task,worker,label\n1,1,ann,x\n",
    "nothing.json": "{}",
    "broken.json": '[{"task": 1, ',
    "list.json": "[1, 2, 3]",
    "text.txt": "This is a letter, not a table.\nIt has two lines.\n",
    "pairs.csv": "left,right,winner,judge\na,b,a,j\nb,c,c,j\n",
    "bad_pairs.csv": "left,right,winner,judge\na,b,q,j\n",
    "scores.csv": "task,worker,score\n" + "".join(f"t{t},w{k},{t + k}\n" for t in range(6) for k in range(3)),
    "bad_scores.csv": "task,worker,score\n1,ann,good\n1,bob,3\n",
    "costs.csv": "said,true,cost\nx,y,-5\n",
    "map.csv": "answer,class\nx,yes\nx,no\n",
    "workers.csv": "worker,skill\nw0,0.5\n",
    "bad_workers.csv": "worker,skill,skill_low,skill_high\nw0,7,0,1\n",
    "turned_workers.csv": "worker,skill,skill_low,skill_high\nw0,0.5,0.9,0.1\n",
    "available.csv": "worker,cost\nw0,-1\n",
    "nobody.csv": "name\nann\n",
    "limits.toml": "min-alpah = 0.5\n",
    "broken.toml": "min-alpha = = 3\n",
    "predictions.csv": "task,label\nt0,q\n",
    "labelstudio.json": '[{"id": 1, "data": {"text": "a"}, "annotations": []}]',
    "tasks.csv": "task,part\nt0,p\n",
    "locked.ledger": "no ledger",
}
COMMANDS = [
    "nonsense",
    "aggregat answers.csv",
    "aggregate",
    "aggregate ''",
    "aggregate nowhere.csv",
    f"aggregate {LONG}.csv",
    "aggregate folder",
    "aggregate empty.csv",
    "aggregate header.csv",
    "aggregate text.txt",
    "aggregate nothing.json",
    "aggregate broken.json",
    "aggregate list.json",
    "aggregate conflict.csv",
    "aggregate blank.csv",
    "aggregate ragged.csv",
    "aggregate quote.csv",
    "aggregate latin.csv --encoding utf-8",
    "aggregate twice.csv",
    "aggregate team.csv",
    "aggregate team.csv --task Item",
    "aggregate pairs.csv",
    "aggregate answers.csv --task item",
    "aggregate answers.csv --from nowhere",
    "aggregate answers.csv --from mturk",
    "aggregate answers.csv --from parquet",
    "aggregate answers.csv --question q",
    "aggregate answers.csv --delimiter ;;",
    "aggregate answers.csv --encoding klingon",
    "aggregate answers.csv --on-conflict maybe",
    "aggregate answers.csv --workers 'judge_*'",
    "aggregate answers.csv --workers available.csv",
    "aggregate answers.csv --worker-name ann --worker who",
    "aggregate answers.csv --fold 'adj_*'",
    "aggregate answers.csv --gold-column truth",
    "aggregate answers.csv --columns a,a",
    "aggregate answers.csv --group vendor",
    "aggregate answers.csv --classes x",
    "aggregate answers.csv --multi ''",
    "aggregate answers.csv --abstain q",
    "aggregate answers.csv --map map.csv",
    "aggregate answers.csv --method magic",
    "aggregate answers.csv --method majority:tau=3",
    "aggregate answers.csv --method rank-one:tau",
    "aggregate answers.csv --method rank-one:tau=-1",
    "aggregate answers.csv --method rank-one:solver=magic",
    "aggregate answers.csv --method quorate:dependence=perhaps",
    "aggregate answers.csv --intervals sometimes",
    "aggregate answers.csv --intervals 7",
    "aggregate answers.csv --min-confidence 90",
    "aggregate answers.csv --long",
    "aggregate answers.csv --replace",
    "aggregate answers.csv --output-table labels",
    "aggregate answers.csv --order day",
    "aggregate answers.csv --table answers",
    "aggregate answers.csv --engine hive",
    "aggregate answers.csv --engine duckdb:disk=3",
    "aggregate answers.csv --show Text",
    "aggregate answers.csv --to labelstudio",
    "aggregate answers.csv -o answers.csv",
    "aggregate answers.csv -o no/such/folder.csv",
    "aggregate answers.csv -o folder",
    "aggregate answers.csv -o labels.xls",
    "aggregate answers.csv -o ''",
    "aggregate answers.csv -o a.csv --workers-out a.csv",
    "aggregate answers.csv -o - --json",
    "aggregate answers.csv --output-format xlsx",
    "aggregate answers.csv --output-format word",
    "aggregate answers.csv --gold nowhere.csv",
    "aggregate answers.csv --gold two_truths.csv",
    "aggregate answers.csv --gold other_tasks.csv",
    "aggregate answers.csv --gold other_class.csv",
    "aggregate answers.csv --gold blank_truth.csv",
    "aggregate answers.csv --gold no_label.csv",
    "aggregate answers.csv --costs costs.csv",
    "aggregate answers.csv --known-workers workers.csv",
    "aggregate answers.csv --known-workers bad_workers.csv",
    "aggregate answers.csv --known-workers turned_workers.csv",
    "aggregate answers.csv --predictions predictions.csv",
    "aggregate answers.csv --ordered --method majority",
    "aggregate labelstudio.json",
    "aggregate nosuch://host/db",
    "aggregate postgres://127.0.0.1:1/none",
    "advise answers.csv --budget",
    "advise answers.csv --budget 0",
    "advise answers.csv --budget x",
    "advise answers.csv --expert 0",
    "advise answers.csv --expert 5 --budget 5",
    "advise answers.csv --expert 5 --per-worker 2",
    "advise answers.csv --per-worker 2",
    "advise answers.csv --budget 5 --available nobody.csv",
    "advise answers.csv --budget 5 --available available.csv --cost cost",
    "advise answers.csv --budget 5 --cost cost",
    "advise answers.csv --budget 5 --target-error 3",
    "advise answers.csv --budget 5 --per-worker 0",
    "advise answers.csv --scores",
    "advise answers.csv --gold 5 --expert 3",
    "advise one.csv --budget 3",
    "agreement answers.csv --scale ordinal",
    "agreement answers.csv --scale linear",
    "agreement answers.csv --sort best",
    "agreement answers.csv --level 2",
    "agreement one.csv",
    "check answers.csv",
    "check answers.csv --min-agreement beta=3",
    "check answers.csv --max-error 7",
    "check answers.csv --fail-on thief",
    "check answers.csv --config limits.toml",
    "check answers.csv --config broken.toml",
    "check answers.csv --config nowhere.toml",
    "compare answers.csv --methods magic",
    "compare answers.csv --all --methods wawa",
    "compare answers.csv --truth other_tasks.csv",
    "compare answers.csv --methods ''",
    "convert answers.csv --to labelstudio",
    "convert answers.csv --labels truth.csv",
    "convert answers.csv --multi x",
    "convert answers.csv --gold-out g.csv",
    "diagnose answers.csv --time when",
    "diagnose answers.csv --delta 3",
    "diagnose answers.csv --time label",
    "estimate answers.csv --value x=much",
    "estimate answers.csv --value x=1",
    "estimate answers.csv --sampled cleverly",
    "estimate answers.csv --by part",
    "estimate answers.csv --by part --tasks nobody.csv",
    "estimate answers.csv --plan 7",
    "estimate answers.csv --gold two_truths.csv",
    "estimate answers.csv --method kos",
    "estimate answers.csv --sampled advised --gold truth.csv",
    "report answers.csv --method magic",
    "report answers.csv --confident 7",
    "report answers.csv --compare magic",
    "report answers.csv -o no/where.html",
    "doctor",
    "doctor nowhere.csv",
    "score truth.csv other_tasks.csv",
    "score truth.csv nowhere.csv",
    "score answers.csv truth.csv",
    "methods magic",
    "simulate",
    "simulate -o s.csv --skills magic",
    "simulate -o s.csv --activity odd",
    "simulate -o s.csv --bounds 1,5",
    "simulate -o s.csv --scores --bounds five",
    "simulate -o s.csv --per-task 99 --workers 3",
    "ledger add locked.ledger answers.csv",
    "ledger add new.ledger conflict.csv",
    "ledger add new.ledger nowhere.csv",
    "ledger show nowhere.ledger",
    "ledger merge locked.ledger -o x.ledger",
    "ledger merge a.ledger b.ledger -o answers.csv",
    "datasets fetch atlantis",
    "pull --url ftp://host --project 1 --token t",
    "pull --url http://127.0.0.1:9 --project 1 --token t",
    "push truth.csv --url http://127.0.0.1:9 --project 1",
    "rank",
    "rank answers.csv",
    "rank bad_pairs.csv",
    "rank pairs.csv --units miles",
    "rank pairs.csv --next-out n.csv",
    "rank pairs.csv --difference a",
    "rank pairs.csv --baseline z",
    "rank pairs.csv --aim high",
    "rank pairs.csv --judge-skill maybe",
    "rate",
    "rate bad_scores.csv",
    "rate scores.csv --bounds five",
    "rate scores.csv --bounds 5,1",
    "rate scores.csv --level 3",
    "rate answers.csv",
]


def sites() -> dict[tuple[str, int], str]:
    """Return every statement of the package that raises one of its errors: its place and its text in the source."""
    found: dict[tuple[str, int], str] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call) or not node.exc.args:
                continue
            name = ast.unparse(node.exc.func)
            if name.endswith("Error"):
                found[str(path), node.lineno] = f"{name}: {ast.unparse(node.exc.args[0])}"
    return found


def run(command: str) -> tuple[int, str, tuple[str, int] | None]:
    """Run a command line: its exit code, its message, and the place in the source that raised the error."""
    place: list[tuple[str, int]] = []
    fail = app._fail

    def noted(message: str, code: int = 2, hints: tuple[str, ...] = ()) -> None:
        error = sys.exc_info()[1]
        trace = None if error is None else error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename.startswith(str(SOURCE)):
                place[:] = [(trace.tb_frame.f_code.co_filename, trace.tb_lineno)]
            trace = trace.tb_next
        fail(message, code, hints)

    app._fail = noted
    out = io.StringIO()
    err = io.StringIO()
    code = 0
    try:
        with redirect_stdout(out), redirect_stderr(err):
            app.main(shlex.split(command))
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        app._fail = fail
    return code, err.getvalue().strip(), place[0] if place else None


def main() -> None:
    """Print the messages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--caused-only", action="store_true", help="leave out those that no command here causes")
    options = parser.parse_args()
    raised: set[tuple[str, int]] = set()
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("folder").mkdir()
        for name, content in FILES.items():
            Path(name).write_bytes(content.encode("latin-1" if name == "latin.csv" else "utf-8"))
        for command in COMMANDS:
            code, message, place = run(command)
            if place is not None:
                raised.add(place)
            sys.stdout.write(
                f"$ quorate {command.replace(LONG, 'xxx...')}\n{message.replace(LONG, 'xxx...')}\n[{code}]\n\n"
            )
        os.chdir(home)
    places = sites()
    caused = {place for place in places if any(file == place[0] and abs(line - place[1]) < 12 for file, line in raised)}
    sys.stdout.write(f"{len(COMMANDS)} command lines caused errors at {len(caused)} of {len(places)} places.\n")
    if not options.caused_only:
        sys.stdout.write("\nThe others, as they stand in the source:\n\n")
        for (file, line), text in places.items():
            if (file, line) not in caused:
                sys.stdout.write(f"{Path(file).relative_to(SOURCE)}:{line}\n  {text}\n")


if __name__ == "__main__":
    main()
