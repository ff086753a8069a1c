"""Record what every command prints and writes on the seven public sets, and compare two recordings.

    python tools/record_outputs.py record FOLDER [--quorate PATH] [--jobs N] [--sets NAME,NAME]
    python tools/record_outputs.py compare FOLDER FOLDER

FOLDER/SET/CASE has what a case prints (stdout, stderr), its exit codes (code) and what it writes (files/), as it came;
what rightly differs from run to run is left out when two are compared. `--quorate` names the executable, by default the
one beside this Python; QUORATE_DATA may name a folder that holds the sets. `compare` also takes one set of each. Not
recorded: Spark, which takes a minute to say little, the bar on a terminal, and the slow items of `quorate reproduce`.
"""

import argparse
import difflib
import os
import pty
import re
import runpy
import shlex
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from pyarrow import parquet

SAMPLES = next((Path(__file__).resolve().parent.parent / "tests").rglob("labelstudio_min.json")).parent
GENERAL = "general"  # the place of cases that need no data set
SETS = f"trec,web,dogs,rte1,temp,bluebird,wsd,{GENERAL}"  # the largest first
VARIED = ("bluebird", "wsd", "dogs")  # the sets on which more is varied
METHODS = "quorate rank-one rank-one-centred majority iwmv er kos kos-svd ghosh-svd opt-ds dawid-skene one-coin m-msr"
# Classes of `quorate.estimators` that need other data than labels of one class per answer.
OTHER_DATA = {"BinaryRelevance", "BradleyTerry", "Estimator", "GoldMajorityVote", "NoisyBradleyTerry", "RaterModel"}
HEAVY = "typer scipy.sparse scipy.special pyarrow.compute pyarrow.csv pyarrow.parquet ibis.backends.duckdb"
FORK = get_context("fork")
Case = tuple[str, str, list[str]]  # its place (a data set, or GENERAL), its name, its commands
# What is printed may depend on the first four, so they are the same wherever a recording is made.
SETTINGS = {"COLUMNS": "100", "TERM": "xterm-256color", "LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1"}
SETTINGS |= {"SAMPLES": str(SAMPLES), "OUT": "-o labels.csv --workers-out workers.csv --posterior-out posterior.csv"}
SETTINGS |= {"RENAMED": "renamed.csv --task item --worker who --label says --delimiter ; --encoding latin-1"}

# A shell script that makes what the cases of a place read, its answers and its truth first.
INPUTS = r"""set -e; MADE; cp "$SAMPLES"/* .; head -n 21 truth.csv > gold.csv; printf '' > empty.csv
quorate convert answers.csv --to parquet -o answers.parquet; quorate convert answers.csv --to jsonl -o answers.jsonl
head -n 1001 answers.csv > first.csv; sed 2,500d answers.csv > second.csv; head -n 1 answers.csv > header.csv
awk -F, 'n[$1]++ < 2' answers.csv | sed '82,$d' > sparse.csv; sed '2s/,[^,]*,/,,/; 3s/[^,]*$//' answers.csv > blank.csv
awk '{print $0 "," (NR>1 ? NR : "time")}' answers.csv > timed.csv; printf 'task,worker,label\n1,a,x\n1,b\n' > ragged.csv
(cat timed.csv; sed -n 2,6p answers.csv | sed 's/1$/x/; s/[02-9]$/1/; s/x$/2/; s/$/,999999/') > clash.csv
sed '1s/.*/item,who,says/; 2,$s/,/,é/; s/,/;/g' answers.csv | iconv -f utf-8 -t latin1 > renamed.csv
(echo worker,price; echo new,1; cut -d, -f2 answers.csv | sed 1d | sort -u | sed '9,$d; s/$/,0.1/; 3s/1$/2/') > pool.csv
(echo task,worker,label; for t in =1+1 '"a, b"' '<b>[red]x[/]</b>' -3; do for w in @a 'naïve ☃' 'two  words' -4; do
printf '%s\n' "$t,$w,=yes" | sed '/ï/s/=yes/[no]/'; done; done) > odd.csv
awk 'BEGIN {print "left,right,winner,judge"; for (k = 0; k < 400; k++) {a = k % 7; b = (k * 3 + 1) % 7; if (a != b)
print "m" a ",m" b ",m" (k % 5 ? (a > b ? a : b) : (a > b ? b : a)) ",j" (k % 4)}}' > pairs.csv
awk 'BEGIN {print "task,worker,score"; for (k = 0; k < 400; k++)
print k % 80 ",w" (k % 9) "," (k % 80) % 5 + (k % 3)}' > scores.csv"""
# A case is its name and its commands, separated by `;;`, in a folder of its own where links lead to the inputs.
# `quorate` goes without saying; ! is for the shell, `tty` gives the command a terminal. Of {one|two} each makes a
# case, named after it. A line that ends in ;; or | goes on.
EVERY_SET = """
aggregate aggregate answers.csv {|--json|$OUT|$OUT --json|$OUT --cautious|$OUT --gold gold.csv|
$OUT --intervals full --level 0.8|-o labels.parquet --workers-out workers.parquet --posterior-out all.parquet}
method aggregate answers.csv $OUT --method {METHODS}
rank-one aggregate answers.csv $OUT --method rank-one {--solver gradient --weighting binary|
--solver exponentiated --signs weighed|--weighting squared --signs breadth-first|--tau 0.5 --threshold 0.05 --json}
engine {aggregate answers.csv -o l.csv --workers-out w.csv|aggregate answers.csv --json --gold gold.csv|
diagnose answers.csv} --engine duckdb
other {diagnose answers.csv|diagnose answers.csv --json|diagnose sparse.csv|advise answers.csv --budget 30|
advise answers.csv --budget 30 --json|
advise answers.csv --budget 30 -o next.csv --tasks-out tasks.csv --target-error 0.1|
report answers.csv --tables tables --truth truth.csv|convert answers.csv|
convert answers.csv --to jsonl -o a.jsonl --json}
measured {agreement answers.csv|agreement answers.csv --json|check answers.csv --min-alpha 0.1|
check answers.csv --max-error 0.5 --json|estimate answers.csv|estimate answers.csv --gold gold.csv --json|
doctor answers.csv|doctor answers.csv --json}
compare compare answers.csv --methods QUICK {--truth truth.csv|--json --gold gold.csv --seed 3}
score aggregate answers.csv -o labels.csv ;; score labels.csv truth.csv {|--json}
ledger ledger add a first.csv ;; !quorate ledger add a - < second.csv ;;
ledger aggregate a -o l.csv --workers-out w.csv --answers-out all.csv ;; ledger add b answers.parquet clash.csv ;;
ledger add b clash.csv blank.csv --on-conflict last --skip-missing ;; ledger show b ;; ledger aggregate b ;;
ledger merge a b -o c ;;
ledger merge a b -o c --on-conflict first ;; ledger aggregate c --json --gold gold.csv --method rank-one
library !library"""
MORE = """
terminal tty {aggregate answers.csv|diagnose sparse.csv|advise sparse.csv --budget 20}
written aggregate answers.csv {$OUT --format jsonl|--intervals fast|--intervals none --method majority --format jsonl}
read aggregate $OUT {answers.parquet|answers.jsonl|$RENAMED|sparse.csv|sparse.csv --method rank-one --json|blank.csv|
blank.csv --skip-missing|clash.csv|clash.csv --on-conflict first|clash.csv --on-conflict last --method majority|
clash.csv --on-conflict drop --method rank-one}
piped !quorate {aggregate - $OUT < answers.csv|aggregate answers.csv --format parquet > labels.parquet|
aggregate - < empty.csv|diagnose - --time time < timed.csv|convert - --from table < answers.csv}
engine {aggregate answers.csv --method majority|aggregate sparse.csv --json|aggregate 'answers*.jsonl' --temp .|
aggregate answers.parquet -o labels.parquet --intervals none|
aggregate answers.csv --method iwmv -o l.csv --workers-out w.csv|aggregate clash.csv|
aggregate clash.csv --on-conflict first --order time|aggregate clash.csv --on-conflict drop|
aggregate clash.csv --on-conflict last --order time -o l.csv --workers-out w.csv|aggregate blank.csv|
diagnose answers.csv --json|aggregate blank.csv --skip-missing --memory 1GB|diagnose sparse.csv|
diagnose clash.csv --on-conflict drop} --engine duckdb
varied {diagnose answers.csv --gold gold.csv|diagnose timed.csv --time time --delta 0.1|diagnose sparse.csv --json|
advise answers.csv --budget 30 -o next.jsonl --tasks-out tasks.parquet --gold gold.csv|
advise answers.csv --budget 30 --available pool.csv --cost price --per-worker 4|advise sparse.csv --budget 30 --json|
report sparse.csv -o page.html --method rank-one --compare majority,kos --sure 0.8 --title 'A & b'|compare sparse.csv|
compare answers.csv --methods quorate,er:classes=ordered,majority|convert answers.parquet --to csv|convert $RENAMED}"""
NO_SET = """
help {|aggregate|diagnose|advise|report|convert|compare|methods|simulate|score|reproduce|demo|ledger|ledger add|
ledger show|ledger merge|datasets|datasets list|datasets fetch} --help
terminal tty {--help|methods|datasets list|demo|aggregate odd.csv}
plain {|--version|methods|methods --json|datasets list|datasets list --json|reproduce --list|demo|nothing|simulate|
simulate -o a.csv --truth-out t.csv --skills-out s.csv|simulate -o - --format jsonl --tasks 3|simulate -o - --tasks 0|
simulate -o - --tasks 9 --per-task 4 --classes 3 --skills beta:2:1 --seed 7|simulate -o - --skills nothing:1|
simulate -o a.parquet --truth-out t.jsonl --skills grid:-0.5:0.9 --activity zipf:1.5|reproduce nothing|
reproduce --quick learnability benchmark-sets error-bound|aggregate odd.csv $OUT|aggregate odd.csv --excel-safe|
aggregate odd.csv --engine duckdb|diagnose odd.csv|convert odd.csv --excel-safe|advise odd.csv --budget 5|
report odd.csv --tables tables --excel-safe}
scored {rank pairs.csv|rank pairs.csv --json|rate scores.csv|rate scores.csv --json|
rate scores.csv -o scores_out.csv --workers-out raters.csv|rank pairs.csv -o items.csv}
tables !python -c 'import duckdb; duckdb.connect("c.db").sql("create table a as from read_csv([$$answers.csv$$])")' ;;
aggregate --connect duckdb://c.db --table a --output-table labels --workers-out workers.csv ;;
diagnose --connect duckdb://c.db --table a ;;
!python -c 'import duckdb; print(duckdb.connect("c.db").sql("from labels order by all"))' ;; !rm c.db
file aggregate {none.csv|empty.csv|header.csv|ragged.csv|renamed.csv|.|none.csv --engine duckdb}
option aggregate answers.csv {--none|--method none|--method majority --tau 1|--method rank-one --solver none|--level 2|
--level high|--intervals some|--format xls|--on-conflict none|--to labelstudio|--from none|--engine none|--task none|
--engine duckdb --cautious|--order time|--engine duckdb --method kos|--engine duckdb --label none|--gold pool.csv|
--input-format parquet|--input-format jsonl|-o none/l.csv|--gold odd.csv|--gold answers.csv}
error {diagnose answers.csv --time none|advise answers.csv|aggregate|advise answers.csv --budget 0|
advise answers.csv --budget 5 --target-error 3|compare answers.csv --methods er:none=1|
advise answers.csv --budget 5 --available pool.csv --cost none|convert empty.csv|convert answers.csv --gold-out g.csv|
convert answers.csv --to labelstudio|convert answers.csv --labels truth.csv|convert answers.csv --json|
score answers.csv none.csv|ledger show none.ledger|ledger show answers.csv|ledger merge a.ledger -o b.ledger|
datasets fetch none|aggregate clash.csv --engine duckdb --on-conflict first}"""
ONE_SAMPLE = """
{0} convert {0} ;; convert {0} --from {1} {2} -o a.csv --json ;; convert {0} {2} --gold-out known.csv ;;
convert {0} {2} --keep-rejected --join-choices --skip-missing --to jsonl ;; aggregate {0} ;; aggregate {0} {2} $OUT ;;
aggregate {0} {2} --to argilla ;; diagnose {0} {2} ;;
convert {0} {2} --labels labels.csv --to labelstudio --agent us -o predictions.json"""
ASKED = {"cleanlab.csv": "", "crowdkit.tsv": "", "prodigy_choice.jsonl": "", "mturk_form.csv": ""}  # one question only
ASKED["prodigy_binary.jsonl"] = "--question CAT"

# What rightly differs between two runs, and what stands for it when they are compared.
CHANGING = {
    r'"seconds": [0-9.e-]+': '"seconds": 0',  # how long a method took
    r"(?<=quorate )\d+\.\d+\.\d+|(?<=\"version\": \")[^\"]+": "VERSION",  # the next release has another
    r'(?<="source": ")[0-9a-f]{64}': "SOURCE",  # by which `reproduce` knows that the code has changed
    r"/[^\s\"']+/files/": "HERE/",  # DuckDB names a file that it cannot read in full
}


def read_cases(place: str, table: str) -> Iterator[Case]:
    """Yield the cases of a table."""
    for entry in re.split(r"(?<![|;])\n", table.strip()):
        name, text = entry.split(maxsplit=1)
        before, choices, after = re.split(r"\{(.*)\}", text, flags=re.DOTALL) if "{" in text else (text, "", "")
        for choice in map(str.strip, choices.split("|")):
            slug = re.sub(r"[^\w.]+", "-", f"{name} {choice}".replace("<", "piped")).strip("-.")
            yield place, slug.lower(), [command.strip() for command in f"{before}{choice}{after}".split(";;")]


def cases_of(place: str) -> Iterator[Case]:
    """Yield the cases of a place, the one that makes its inputs first."""
    if place == GENERAL:
        made = "quorate simulate -o answers.csv --truth-out truth.csv --tasks 200 --workers 12"
        table = NO_SET
        for sample in sorted(path.name for path in SAMPLES.iterdir()):
            asked = ASKED.get(sample, "--question animal")
            table += ONE_SAMPLE.format(sample, re.split("[_.]", sample)[0], asked)
    else:
        methods = METHODS.split() + ["m3v", "m3v-svm"] * (place not in ("web", "trec"))  # which take long there
        made = f"quorate datasets fetch {place} -o .; mv {place}/* ."
        table = EVERY_SET + MORE * (place in VARIED)
        table = table.replace("METHODS", "|".join(methods)).replace("QUICK", ",".join(methods))
    yield place, "inputs", ["!" + INPUTS.replace("MADE", made)]
    yield from read_cases(place, table)


def become(command: str, out: int, err: int) -> None:
    """Do in this process what a shell would do with a command; the heavy modules are here already."""
    os.dup2(out, 1)
    os.dup2(err, 2)
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115  # the one before stood for another kind of file
    if command == "!library":
        print(*library(), sep="\n")
    elif command.startswith("!"):
        os.execvp("sh", ["sh", "-c", command[1:]])
    else:
        sys.argv = ["quorate", *shlex.split(os.path.expandvars(command))]
        runpy.run_path(str(Path(sys.executable).with_name("quorate")), run_name="__main__")


def run(case: Case, folder: Path) -> None:
    """Run a case, and keep what it prints and writes."""
    here = folder / case[0] / case[1]
    inputs = folder / case[0] / "inputs" / "files"
    links = [here / "files" / each.name for each in inputs.glob("*")]
    (here / "files").mkdir(parents=True)
    os.chdir(here / "files")
    for link in links:
        link.symlink_to(inputs / link.name)
    with open("../stdout", "wb", 0) as out, open("../stderr", "wb", 0) as err, open("../code", "w") as codes:
        for command in case[2]:
            for stream in (out, err):
                stream.write(f"$ {command}\n".encode())
            ours, theirs = pty.openpty() if command.startswith("tty ") else (-1, os.dup(out.fileno()))
            process = FORK.Process(target=become, args=(command.removeprefix("tty "), theirs, err.fileno()))
            process.start()
            os.close(theirs)
            with suppress(OSError):  # as a terminal ends
                while ours >= 0 and (piece := os.read(ours, 1 << 16)):
                    out.write(piece)
            process.join()
            codes.write(f"{process.exitcode}\n")
    for link in links:
        link.unlink()


def record(folder: Path, jobs: int, sets: str) -> None:
    """Record every case; print how many there are, and which have a traceback or a warning of Python in stderr."""
    started = time.monotonic()
    cases = [case for place in sets.split(",") for case in cases_of(place)]
    list(map(import_module, HEAVY.split()))  # once, not in every command anew; no module of ours is among them
    with ProcessPoolExecutor(jobs, FORK) as pool:
        list(pool.map(partial(run, folder=folder), [case for case in cases if case[1] == "inputs"]))
        if failed := [str(path) for path in folder.glob("*/inputs/code") if path.read_text() != "0\n"]:
            raise SystemExit(f"the inputs were not made; see stderr beside {', '.join(failed)}")
        list(pool.map(partial(run, folder=folder), [case for case in cases if case[1] != "inputs"]))
    for path in sorted(folder.glob("*/*/stderr")):
        if re.search(rb"^Traceback|\w+Warning: ", path.read_bytes(), re.MULTILINE):
            print(f"{path.parent.relative_to(folder)}: a traceback or a warning")
    print(f"{len(cases)} cases in {time.monotonic() - started:.0f} seconds")


def comparable(path: Path) -> list[str]:
    """Return the lines of a file without what rightly changes; of Parquet the schema and the rows."""
    data = path.read_bytes() if path.is_file() else b"(no such file)"
    if data[:4] == b"PAR1":
        table = parquet.read_table(path)
        return [*str(table.schema).splitlines(), *map(repr, table.to_pylist())]
    text = data.decode(errors="backslashreplace")  # what is no text, a ledger or a picture, is compared all the same
    for pattern, instead in CHANGING.items():
        text = re.sub(pattern, instead, text)
    lines = text.split("\n")
    end = -1
    for k, line in enumerate(lines):  # blank out what stands below a heading `seconds`: how long a method took
        heading = re.search(r" seconds\b", line)
        end = heading.end() if heading else end
        lines[k] = line if heading or end < 0 else line[: end - 8] + line[end:]
    return lines


def compare(one: Path, two: Path) -> int:
    """List the files in which two recordings differ, each with its first differing lines; return how many there are."""
    names = sorted({path.relative_to(at) for at in (one, two) for path in at.rglob("*") if path.is_file()})
    differing = 0
    for name in names:
        pair = one / name, two / name
        if all(path.is_file() for path in pair) and pair[0].read_bytes() == pair[1].read_bytes():
            continue
        # The tables of an engine have no order, so the labels come out in any.
        before, after = (sorted(lines) if "engine" in str(name) else lines for lines in map(comparable, pair))
        if diff := list(difflib.unified_diff(before, after, lineterm="", n=0)):
            differing += 1
            print(f"{name} differs", *(f"    {line[:160]}" for line in diff[2:10]), sep="\n")
    print(f"{differing} of {len(names)} files differ")
    return differing


def library() -> Iterator[Any]:
    """Yield what the library says of answers.csv, in every form that it takes, in batches and in an engine."""
    import quorate

    answers = quorate.read("answers.csv")
    table = quorate.read("answers.csv").to_table()
    sources = (answers, table.to_pandas(), table.to_polars(), table.to_pydict(), table)
    for source, method in zip(sources, ("quorate", "rank-one", "majority", "one-coin", "er"), strict=True):
        result = quorate.aggregate(source, method, gold="gold.csv")
        for _ in range(2):  # before the workers are asked for, and after
            yield from (result, result.summary(), result.to_dict(labels=False, workers=False), result.labels)
            yield from (result.workers, result.to_dict(labels=False), result.workers.to_pandas(), result.intervals)
        yield from (result.diagnosis.summary(), result.posterior.to_polars(), result._repr_html_())
        yield from (getattr(result.plot, name)().to_json() for name in ("skills", "graph", "agreement", "confidence"))
    yield from (answers.counts, (found := quorate.diagnose(answers)).to_dict(), list(found.rows()))
    with suppress(quorate.errors.QuorateError):  # where everybody has answered everything
        yield from ((advice := quorate.advise(answers, 20, target_error=0.1)).summary(), advice.tasks)
    ledger = quorate.Ledger()
    other = quorate.Ledger()
    yield from (ledger.add("first.csv"), other.add("second.csv"), ledger, ledger.skills(), ledger.pairs)
    yield from ((ledger + other).aggregate().labels, quorate.backends.aggregate("answers.csv", "rank-one").workers)
    for name in sorted(set(quorate.estimators.__all__) - OTHER_DATA):
        if not (len(table) > 10_000 and name.startswith("M3V")):
            fitted = getattr(quorate.estimators, name)().fit(table.to_pandas())
            yield from (fitted, fitted.labels_, fitted.probas_, fitted.skills_, fitted.weights_)


def main() -> int:
    """Record or compare."""
    parser = argparse.ArgumentParser(description="Record what every command prints and writes, or compare recordings.")
    parser.add_argument("mode", choices=["record", "compare"])
    parser.add_argument("folders", type=Path, nargs="+", help="one to record into, or two to compare")
    parser.add_argument("--quorate", type=Path, default=Path(sys.executable).with_name("quorate"))
    parser.add_argument("--jobs", type=int, default=2, help="how many cases run at once")
    parser.add_argument("--sets", default=SETS, help=f"by default {SETS}")
    given = parser.parse_args()
    if given.mode == "compare":
        return int(compare(*given.folders) > 0)
    if "SAMPLES" not in os.environ:  # once more, by the Python beside the executable
        kept = {name: os.environ[name] for name in ("HOME", "QUORATE_DATA") if name in os.environ}
        python = str(given.quorate.absolute().with_name("python"))
        path = f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}"
        os.execve(python, [python, "-P", *sys.argv], kept | SETTINGS | {"PATH": path})
    record(given.folders[0].resolve(), given.jobs, given.sets)
    return 0


if __name__ == "__main__":
    sys.exit(main())
