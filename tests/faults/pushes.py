"""`quorate labelstudio push` killed at random moments, against a stand-in for Label Studio on the loopback."""

import json
import os
import random
import signal
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from quorate.integrations.label_studio import PREDICTIONS_PER_REQUEST
from tests.faults.__main__ import forked, quorate

TASKS = 3 * PREDICTIONS_PER_REQUEST + 1  # four requests
CONTROL = {"from_name": "tone", "to_name": "text", "type": "choices", "value": {"choices": ["glad"]}}


class StandIn(BaseHTTPRequestHandler):
    """Hands out tasks, and keeps in a file, a line for each request, which tasks a prediction came for."""

    kept: Path

    def do_GET(self) -> None:
        """Hand out the tasks; it knows of no users."""
        given = [{"id": 1, "completed_by": 1, "result": [CONTROL]}]
        tasks = [{"id": k, "data": {"text": "a text"}, "annotations": given} for k in range(TASKS)]
        self._say(tasks if "export" in self.path else [])

    def do_POST(self) -> None:
        """Take predictions, if all of the request came."""
        size = int(self.headers["Content-Length"])
        body = self.rfile.read(size)
        if len(body) == size:
            with self.kept.open("a") as kept:
                kept.write(json.dumps([each["task"] for each in json.loads(body)]) + "\n")
            self._say({})

    def _say(self, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class Server(HTTPServer):
    """One that says nothing when whoever asked is gone."""

    def handle_error(self, *_: Any) -> None:
        """Go on."""


def killed_pushes(folder: Path, times: int, rng: random.Random) -> dict[str, int]:
    """Kill pushes: the server has the first pieces, each complete and once; one that is not killed sends all, once."""
    counts = {"killed": 0, "finished first": 0, "with a part sent": 0, "pieces torn or twice": 0, "left behind": 0}
    StandIn.kept = folder / "kept.jsonl"
    labels = folder / "labels.csv"
    labels.write_text("task,label,confidence\n" + "".join(f"{k},glad,0.9\n" for k in range(TASKS)))
    server = Server(("127.0.0.1", 0), StandIn)
    url = f"http://127.0.0.1:{server.server_port}"
    push = quorate("labelstudio", "push", str(labels), "--url", url, "--project", "3", "--token", "t")
    batches = [
        list(range(TASKS))[start : start + PREDICTIONS_PER_REQUEST]
        for start in range(0, TASKS, PREDICTIONS_PER_REQUEST)
    ]
    serving = os.fork()
    if serving == 0:
        try:
            server.serve_forever()
        finally:
            os._exit(0)
    try:
        StandIn.kept.write_text("")
        began = time.monotonic()
        forked(push)
        took = time.monotonic() - began
        expected = {path.name for path in folder.iterdir()}
        counts["pieces torn or twice"] += _kept() != batches
        for _ in range(times):
            StandIn.kept.write_text("")
            code = forked(push, kill_after=rng.uniform(0, took))
            counts["killed" if code == -signal.SIGKILL else "finished first"] += 1
            urlopen(f"{url}/api/users").read()  # answered in turn: by then the server is done with the last request
            found = _kept()
            counts["with a part sent"] += 0 < len(found) < len(batches)
            counts["pieces torn or twice"] += found != batches[: len(found)]
        counts["left behind"] += len({path.name for path in folder.iterdir()} - expected)
    finally:
        os.kill(serving, signal.SIGKILL)
        os.waitpid(serving, 0)
        server.server_close()
    return counts


def _kept() -> list[list[int]]:
    return [json.loads(line) for line in StandIn.kept.read_text().splitlines()]
