"""`quorate labelstudio pull` and `push` against a live Label Studio, in an environment and a folder of its own.

python -m tests.live.label_studio PATH/label-studio    # the program; `make labelstudio` installs it and runs this

It starts on a free port of the loopback, makes a project with three annotators, and tests the complete path:
annotations out, labels, predictions in. The server and its folder are removed afterwards.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import quorate
from quorate.cli.app import main as command
from quorate.integrations.label_studio import LabelStudio

TOKEN = "quorate-live-test-token-0123456789abcdef"  # of a server that nobody else reaches, and that is gone at the end
PATIENCE = 600  # seconds until it must have made its database and answer
CONFIG = (
    '<View><Text name="text" value="$text"/><Choices name="tone" toName="text">'
    '<Choice value="glad"/><Choice value="sad"/></Choices>'
    '<TextArea name="why" toName="text"/></View>'
)
ANSWERS = (("glad", "glad", "sad"), ("sad", "sad", "sad"), ("glad", "glad", "glad"), ("sad", "glad", "sad"))


@contextmanager
def running(program: str, folder: Path) -> Iterator[str]:
    """Start a server; give its address; stop it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    settings = {
        "LABEL_STUDIO_BASE_DATA_DIR": str(folder),
        "LABEL_STUDIO_USERNAME": "ann@example.org",
        "LABEL_STUDIO_PASSWORD": "a-password-for-a-test",
        "LABEL_STUDIO_USER_TOKEN": TOKEN,
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "COLLECT_ANALYTICS": "false",
        "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "",
    }
    arguments = [program, "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port)]
    with (folder / "log.txt").open("wb") as log:
        server = subprocess.Popen(arguments, env=os.environ | settings, cwd=folder, stdout=log, stderr=log)
        try:
            _wait(server, url, folder / "log.txt")
            yield url
        finally:
            server.terminate()
            try:
                server.wait(30)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _wait(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    for _ in range(PATIENCE):
        if server.poll() is not None:
            break
        try:
            urlopen(f"{url}/health", timeout=5).read()
            return
        except (URLError, OSError):
            time.sleep(1)
    raise SystemExit(f"Label Studio did not start:\n{log.read_text(errors='replace')[-3000:]}")


def ask(url: str, verb: str, path: str, body: Any = None) -> Any:
    """Ask the server's own API, as a project is made there by hand."""
    headers = {"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(url + path, data, headers, method=verb), timeout=60) as answer:
        return json.loads(answer.read() or b"null")


def make_project(url: str) -> int:
    """Make a project of four texts that three annotators labelled, one of them as ground truth too."""
    project: int = ask(url, "POST", "/api/projects", {"title": "Tone", "label_config": CONFIG})["id"]
    texts = [{"text": f"text {k}"} for k in range(len(ANSWERS))]
    ask(url, "POST", f"/api/projects/{project}/import", texts)
    tasks = ask(url, "GET", f"/api/tasks?project={project}&page_size=100")["tasks"]
    people = [ask(url, "GET", "/api/current-user/whoami")["id"]]
    for name in ("bo", "cy"):
        made = {"email": f"{name}@example.org", "username": name, "first_name": name.title(), "last_name": "Li"}
        people.append(ask(url, "POST", "/api/users", made)["id"])
    for task, labels in zip(sorted(tasks, key=lambda each: each["id"]), ANSWERS, strict=True):
        for person, label in zip(people, labels, strict=True):
            shared = {"from_name": "tone", "to_name": "text", "type": "choices", "value": {"choices": [label]}}
            ask(url, "POST", f"/api/tasks/{task['id']}/annotations", {"result": [shared], "completed_by": person})
    return project


def check(url: str, project: int, folder: Path) -> None:
    """Go the way from annotations to predictions, and look at what the server has then."""
    export, labels = folder / "export.json", folder / "labels.csv"
    where = ["--url", url, "--project", str(project), "--token", TOKEN]
    _run(["labelstudio", "pull", *where, "-o", str(export)])
    found = quorate.read(str(export))
    workers = sorted(found.worker_names.to_pylist())
    assert workers == ["ann@example.org", "bo@example.org", "cy@example.org"], workers
    assert found.n_answers == len(ANSWERS) * 3, found.n_answers
    _run(["aggregate", str(export), "-o", str(labels)])
    _run(["labelstudio", "push", str(labels), *where, "--model-version", "quorate-live"])
    made = ask(url, "GET", f"/api/predictions?project={project}")
    made = made.get("results", made) if isinstance(made, dict) else made
    label_of_task = {each["task"]: each["result"][0]["value"]["choices"][0] for each in made}
    assert sorted(label_of_task.values()) == ["glad", "glad", "sad", "sad"], label_of_task
    assert all(each["model_version"] == "quorate-live" and 0 < each["score"] <= 1 for each in made), made
    again = LabelStudio(url, TOKEN, project).pull()
    assert sum(len(task["annotations"]) for task in again) == len(ANSWERS) * 3  # annotations stay as they are


def _run(arguments: list[str]) -> None:
    try:
        command(arguments)
    except SystemExit as end:
        if end.code:
            raise


def main() -> None:
    """Run it all, and say so."""
    program = sys.argv[1] if len(sys.argv) > 1 else "label-studio"
    with tempfile.TemporaryDirectory() as folder, running(program, Path(folder)) as url:
        check(url, make_project(url), Path(folder))
        version = ask(url, "GET", "/api/version").get("release", "")
    print(f"Label Studio {version}: annotations pulled, labels made, predictions pushed")


if __name__ == "__main__":
    main()
