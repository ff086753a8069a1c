"""The GitHub Action: its steps, run here as a runner would run them."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import quorate
from quorate.diagnostics.check import NUMERIC_LIMITS, flag
from tests.conftest import need

ROOT = Path(__file__).parent.parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {step["id"]: step for step in ACTION["runs"]["steps"] if "id" in step}
CONTEXT = {
    "github.event.pull_request.number": "7",
    "github.repository": "somebody/answers",
    "github.server_url": "https://github.com",
    "github.run_id": "11",
}


class Runner:
    """A folder, and what GitHub's runner keeps beside it."""

    def __init__(self, folder: Path, inputs: dict[str, str]) -> None:
        self.folder = folder
        self.values = {
            **CONTEXT,
            **{f"inputs.{name}": str(each.get("default", "")) for name, each in ACTION["inputs"].items()},
        }
        self.values |= {f"inputs.{name}": value for name, value in inputs.items()}
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True)
        self.program("quorate", f'exec "{sys.executable}" -m quorate "$@"')
        # A stand-in for GitHub: keeps the comments of one pull request, one file per comment.
        self.program(
            "gh",
            f"""printf "%s\\n" "$*" >> "{folder}/gh.txt"; printf "%s" "$GH_TOKEN" > "{folder}/token.txt"
            comments="{folder}/comments"; mkdir -p "$comments"; body="${{@: -1}}"; body="${{body#body=@}}"
            case "$*" in
              *"--method POST"*) cp "$body" "$comments/$(( $(ls "$comments" | wc -l) + 1 ))" ;;
              *"--method PATCH"*) [[ "$4" =~ ([0-9]+)$ ]]; cp "$body" "$comments/${{BASH_REMATCH[1]}}" ;;
              *) for each in "$comments"/*; do
                   if [ -e "$each" ] && [[ "$*" == *"$(head -n 1 "$each")"* ]]; then basename "$each"; fi
                 done ;;
            esac""",
        )

    def program(self, name: str, script: str) -> None:
        path = self.bin / name
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)

    def run(self, step: str) -> subprocess.CompletedProcess[str]:
        """Run a step, and remember what it puts out."""

        def given(match: re.Match[str]) -> str:
            return self.values.get(match[1], "")

        own = {
            name: re.sub(r"\$\{\{ *([\w.]+) *\}\}", given, str(text))
            for name, text in STEPS[step].get("env", {}).items()
        }
        files = {name: str(self.folder / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(
                [str(Path(quorate.__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
            ),
            "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}",
            "RUNNER_TEMP": str(self.folder),
            **files,
            **own,
        }
        Path(files["GITHUB_OUTPUT"]).write_text("")
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[step]["run"]]
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        for line in Path(files["GITHUB_OUTPUT"]).read_text().splitlines():
            name, _, value = line.partition("=")
            self.values[f"steps.{step}.outputs.{name}"] = value
        return done


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    need("bash", shutil.which("bash"), "the action's steps are bash scripts")
    quorate.write_table(quorate.simulate.crowd(120, 8, 4, seed=1).answer_table, tmp_path / "answers.csv")
    return tmp_path


def test_a_batch_that_fails_is_reported_in_the_summary_and_on_the_pull_request(folder: Path) -> None:
    limits = "--min-agreement alpha=0.99\n--max-error 0.9"
    runner = Runner(folder, {"file": "answers.csv", "limits": limits, "token": "secret", "report": "page.html"})
    assert runner.run("check").returncode == 0
    assert runner.values["steps.check.outputs.holds"] == "false"
    assert not json.loads(Path(runner.values["steps.check.outputs.json"]).read_text())["holds"]
    assert "1 of 2 limits fails" in (folder / "GITHUB_STEP_SUMMARY").read_text()
    assert 'failures="1"' in (folder / "quorate-check.xml").read_text()
    runner.values["steps.report.outputs.report"] = "page.html"
    assert runner.run("comment").returncode == 0
    assert "repos/somebody/answers/issues/7/comments" in (folder / "gh.txt").read_text()
    assert (folder / "token.txt").read_text() == "secret"
    body = (folder / "quorate-comment.md").read_text()
    assert "min-alpha" in body
    assert "https://github.com/somebody/answers/actions/runs/11" in body
    assert runner.run("outcome").returncode == 1


def test_a_second_run_updates_the_comment_and_another_file_has_its_own(folder: Path) -> None:
    shutil.copy(folder / "answers.csv", folder / "others.csv")
    runner = Runner(folder, {"file": "answers.csv", "limits": "--min-answers 9", "report": ""})
    for limits in ("--min-answers 9", "--min-answers 1"):
        runner.values["inputs.limits"] = limits
        runner.run("check")
        done = runner.run("comment")
        assert done.returncode == 0, done.stderr
    comments = folder / "comments"
    assert [each.name for each in comments.iterdir()] == ["1"]
    assert "The limit holds" in (comments / "1").read_text()
    runner.values["inputs.file"] = "others.csv"
    runner.run("check")
    runner.run("comment")
    assert sorted(each.name for each in comments.iterdir()) == ["1", "2"]


def test_reading_options_reach_the_check_and_the_report(folder: Path) -> None:
    lines = (folder / "answers.csv").read_text().splitlines()
    (folder / "team.csv").write_text("\n".join(["Item ID,Annotator,Sentiment", *lines[1:]]) + "\n")
    options = "--task 'Item ID' --worker Annotator\n--label \"Sentiment\""
    inputs = {"file": "team.csv", "options": options, "limits": "--min-answers 3", "report": "page.html"}
    runner = Runner(folder, inputs)
    done = runner.run("check")
    assert done.returncode == 0, done.stderr
    assert runner.values["steps.check.outputs.decision"] == "pass"
    done = runner.run("report")
    assert done.returncode == 0, done.stderr
    assert (folder / "page.html").exists()


def test_a_batch_that_holds_goes_on_with_a_report(folder: Path) -> None:
    (folder / "limits.toml").write_text("[check]\nmin-answers = 3\n")
    runner = Runner(folder, {"file": "answers.csv", "config": "limits.toml", "junit": "", "report": "page.html"})
    assert runner.run("check").returncode == 0
    assert runner.values["steps.check.outputs.holds"] == "true"
    assert runner.values["steps.check.outputs.decision"] == "pass"
    done = runner.run("report")
    assert done.returncode == 0, done.stderr
    assert (folder / "page.html").read_text().startswith("<!DOCTYPE html>")
    assert runner.run("outcome").returncode == 0


def test_a_batch_that_decides_nothing_stops_the_job_with_3_and_says_why(folder: Path) -> None:
    (folder / "one.csv").write_text("task,worker,label\n1,a,x\n")
    runner = Runner(folder, {"file": "one.csv", "limits": "--max-error 0.001", "report": ""})
    assert runner.run("check").returncode == 0
    assert runner.values["steps.check.outputs.decision"] == "undecided"
    assert runner.values["steps.check.outputs.holds"] == "false"
    assert json.loads(Path(runner.values["steps.check.outputs.json"]).read_text())["decision"] == "undecided"
    assert "The limit cannot be decided" in (folder / "GITHUB_STEP_SUMMARY").read_text()
    junit = (folder / "quorate-check.xml").read_text()
    assert 'failures="0" errors="1"' in junit
    assert "<error message=" in junit
    assert runner.run("outcome").returncode == 3
    runner.values["inputs.undecided"] = "pass"
    assert runner.run("outcome").returncode == 0


def test_what_cannot_be_checked_stops_the_job_with_2(folder: Path) -> None:
    done = Runner(folder, {"file": "nowhere.csv", "limits": "--min-answers 1"}).run("check")
    assert (done.returncode, "There is no file nowhere.csv" in done.stderr) == (2, True)


def test_no_input_is_pasted_into_a_script() -> None:
    """A file name with a quote in it would otherwise be run."""
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")


def test_a_hostile_file_name_runs_nothing(folder: Path) -> None:
    runner = Runner(
        folder, {"file": 'x"; touch owned; ".csv', "limits": "--min-answers 1 $(touch owned) `touch owned`"}
    )
    assert runner.run("check").returncode == 2
    assert not (folder / "owned").exists()


def test_every_input_is_used_and_explained() -> None:
    text = (ROOT / "action.yml").read_text()
    page = "\n".join(each.read_text() for each in (ROOT / "docs").rglob("*.md"))
    for name, each in ACTION["inputs"].items():
        assert f"inputs.{name}" in text
        assert each["description"]
        assert f"`{name}`" in page
    for name in NUMERIC_LIMITS:
        assert flag(name) in page


def test_outputs_come_from_steps_that_are_there() -> None:
    for each in ACTION["outputs"].values():
        step = re.findall(r"steps\.(\w+)\.outputs", each["value"])[0]
        assert step in STEPS


def test_two_uses_in_one_run_upload_under_two_names(folder: Path) -> None:
    shutil.copy(folder / "answers.csv", folder / "other.csv")
    runners: list[Runner] = []
    for inputs in ({"file": "answers.csv"}, {"file": "other.csv"}, {"file": "other.csv", "artifact": "mine"}):
        runner = Runner(folder / str(len(runners)), {**inputs, "limits": "--min-answers 1"})
        runners.append(runner)
        for name in ("answers.csv", "other.csv"):
            shutil.copy(folder / name, runner.folder / name)
        assert runner.run("check").returncode == 0
    first, second, third = (runner.values["steps.check.outputs.artifact"] for runner in runners)
    assert len({first, second, third}) == 3
    assert third == "mine"


def test_the_upload_needs_a_report_or_a_junit_file() -> None:
    (upload,) = (step for step in ACTION["runs"]["steps"] if "upload-artifact" in step.get("uses", ""))
    assert upload["if"] == "inputs.report != '' || inputs.junit != ''"
    assert upload["with"]["name"] == "${{ steps.check.outputs.artifact }}"
