"""Label Studio by its API, against a server that answers as it does."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

import quorate as library
from quorate.errors import OptionError, ServiceError
from quorate.integrations.label_studio import PREDICTIONS_PER_REQUEST, LabelStudio
from quorate.io.exports.detect import read_export
from tests.cli.running import quorate

JWT = "head.body.sign"


def task(number: int, *answers: str) -> dict[str, Any]:
    control = {"from_name": "tone", "to_name": "text", "type": "choices"}
    given = [
        {"id": 10 * number + k, "completed_by": k, "result": [{**control, "value": {"choices": [answer]}}]}
        for k, answer in enumerate(answers)
    ]
    return {"id": number, "data": {"text": f"text {number}"}, "annotations": given}


class StandIn(BaseHTTPRequestHandler):
    tasks: ClassVar[list[dict[str, Any]]] = []
    sent: ClassVar[list[list[dict[str, Any]]]] = []
    users: ClassVar[list[dict[str, Any]] | None] = None  # None: the token may not ask
    most: ClassVar[int] = 100  # requests with predictions that it takes

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _answer(self, body: Any) -> None:
        if self.path == "/api/token/refresh":
            return self._say(200, {"access": "short"}) if body == {"refresh": JWT} else self._say(401, {})
        if self.path.startswith("/moved"):
            return self._say(302, {}, {"Location": "http://elsewhere.example/"})
        if self.path.startswith("/cut"):
            return self._say(200, self.tasks, {"Content-Length": "100000"})
        if self.path.startswith("/deep"):
            return self._say(200, [], deep=5000)
        if self.path.startswith("/page"):
            return self._say(200, None)
        if self.headers["Authorization"] not in ("Token legacy", "Bearer short"):
            return self._say(401, {"detail": "Invalid token."})
        if self.path == "/api/projects/3/export?exportType=JSON&download_all_tasks=true":
            return self._say(200, self.tasks)
        if self.path == "/api/users" and self.users is not None:
            return self._say(200, self.users)
        if self.path == "/api/projects/3/import/predictions":
            if len(self.sent) == self.most:
                return self._say(500, {"detail": "The disk is full."})
            self.sent.append(body)
            return self._say(201, {"created": len(body)})
        return self._say(404, {"detail": "Not found."})

    def _say(self, code: int, value: Any, headers: dict[str, str] | None = None, deep: int = 0) -> None:
        data = b"<html>" if value is None else b"[" * deep + json.dumps(value).encode() + b"]" * deep
        self.send_response(code)
        for name, text in ({"Content-Length": str(len(data))} | (headers or {})).items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture
def url() -> Iterator[str]:
    StandIn.tasks = [task(1, "glad", "glad", "sad"), task(2, "sad", "sad", "sad"), task(3)]
    StandIn.sent, StandIn.users, StandIn.most = [], None, 100
    server = HTTPServer(("127.0.0.1", 0), StandIn)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("token", ["legacy", JWT])
def test_from_annotations_to_predictions_and_back(url: str, token: str, tmp_path: Path, capsys: Any) -> None:
    where = ("--url", url + "/", "--project", 3, "--token", token)
    export, labels = tmp_path / "export.json", tmp_path / "labels.csv"
    assert quorate(capsys, "labelstudio", "pull", *where, "-o", export)[0] == 0
    assert json.loads(export.read_text()) == StandIn.tasks
    assert quorate(capsys, "aggregate", export, "-o", labels)[0] == 0
    code, out, _ = quorate(capsys, "labelstudio", "push", labels, *where, "--model-version", "quorate-1")
    assert (code, out) == (0, "2 predictions of quorate-1 uploaded to project 3 (3 tasks).\n")
    [sent] = StandIn.sent
    assert [each["task"] for each in sent] == [1, 2]
    assert [each["result"][0]["value"]["choices"] for each in sent] == [["glad"], ["sad"]]
    assert all(each["result"][0]["from_name"] == "tone" and each["model_version"] == "quorate-1" for each in sent)
    assert all(0 < each["score"] <= 1 for each in sent)


def test_the_names_of_0_2_work_with_a_warning(url: str, tmp_path: Path, capsys: Any) -> None:
    where = ("--url", url, "--project", 3, "--token", "legacy")
    export, labels = tmp_path / "export.json", tmp_path / "labels.csv"
    code, _, err = quorate(capsys, "pull", *where, "-o", export)
    assert (code, err) == (0, "Warning: quorate pull is now quorate labelstudio pull\n")
    assert quorate(capsys, "aggregate", export, "-o", labels)[0] == 0
    code, out, err = quorate(capsys, "push", labels, *where, "--agent", "old")
    assert (code, out) == (0, "2 predictions of old uploaded to project 3 (3 tasks).\n")
    assert "quorate push is now quorate labelstudio push" in err
    assert "--agent is now --model-version" in err
    code, out, _ = quorate(capsys, "--help")
    assert "labelstudio" in out
    assert not any(f"│ {name} " in out for name in ("pull", "push"))


def test_pulled_tasks_are_read_as_they_are(url: str) -> None:
    assert library.read(LabelStudio(url, "legacy", 3).pull()).n_answers == 6


def test_annotators_have_names_where_the_server_tells_them(url: str) -> None:
    StandIn.users = [{"id": 0, "email": "ann@x.org", "avatar": "a"}, {"id": 1, "first_name": "Bo", "last_name": "Li"}]
    found = library.read(LabelStudio(url, "legacy", 3).pull())
    assert found.worker_names.to_pylist() == ["2", "Bo Li", "ann@x.org"]


def rows(**columns: list[Any]) -> list[dict[str, Any]]:
    n = len(next(iter(columns.values())))
    shared = [{"id": k // 2, "annotator": f"w{k % 2}", "annotation_id": k, "lead_time": 1.0} for k in range(n)]
    return [
        {"id": each.pop("id"), **{name: column[k] for name, column in columns.items()}, **each}
        for k, each in enumerate(shared)
    ]


def test_free_text_and_marks_are_no_questions_of_a_flat_export() -> None:
    reasons = [f"because it shows number {k} to me" for k in range(8)]
    marks = [json.dumps([{"x": k, "y": 2, "rectanglelabels": ["car"]}]) for k in range(8)]
    table = rows(tone=["glad", "sad"] * 4, why=reasons, boxes=marks)
    assert read_export(table).questions == ("tone",)
    assert read_export(table, question="tone").table["label"].to_pylist() == ["glad", "sad"] * 4


def test_ground_truth_of_a_flat_export_is_gold_and_noted() -> None:
    flagged = read_export(rows(tone=["glad", "sad"] * 4, ground_truth=["True", "False"] + ["False"] * 6))
    assert flagged.gold is not None
    assert flagged.gold.to_pylist() == [{"task": "0", "label": "glad"}]
    assert len(flagged.table) == 7
    assert "1 known label found in the file. It is not counted as answers" in "\n".join(flagged.lines())
    named = read_export(rows(tone=["glad", "sad"] * 4, ground_truth=["sad", "sad"] + [""] * 6))
    assert named.gold is not None
    assert named.gold.to_pylist() == [{"task": "0", "label": "sad"}]
    assert len(named.table) == 8


def test_predictions_go_in_pieces(url: str) -> None:
    tasks = [{"id": k, "predictions": [{"score": 1.0}]} for k in range(PREDICTIONS_PER_REQUEST + 1)]
    assert LabelStudio(url, "legacy", 3).push(tasks) == PREDICTIONS_PER_REQUEST + 1
    assert [len(each) for each in StandIn.sent] == [PREDICTIONS_PER_REQUEST, 1]


def test_where_sending_breaks_off_it_says_how_far_it_came(url: str) -> None:
    tasks = [{"id": k, "predictions": [{"score": 1.0}]} for k in range(2 * PREDICTIONS_PER_REQUEST)]
    StandIn.most = 1
    with pytest.raises(ServiceError, match=r"disk is full.*; 500 of 1,000 predictions were sent and are on the server"):
        LabelStudio(url, "legacy", 3).push(tasks)
    StandIn.most = len(StandIn.sent)
    with pytest.raises(ServiceError) as found:  # nothing went out, and nothing is reported as sent
        LabelStudio(url, "legacy", 3).push(tasks)
    assert "sent" not in str(found.value)


@pytest.mark.parametrize(
    ("path", "token", "project", "message"),
    [
        ("", "somebody-elses", 3, "Invalid token.*check token="),
        ("", "a.b.c", 3, "check token="),
        ("", "legacy", 4, "check project="),
        ("/moved", "legacy", 3, "elsewhere.example.*give this address with url="),
        ("/page", "legacy", 3, "Check that it is a Label Studio server"),
        ("/page", JWT, 3, "Check that it is a Label Studio server"),
        ("/cut", "legacy", 3, "ended early.*Try again"),
        ("/cut", JWT, 3, "ended early.*Try again"),
        ("/deep", "legacy", 3, "Check that it is a Label Studio server"),
        ("/deep", JWT, 3, "Check that it is a Label Studio server"),
    ],
)
def test_errors_state_what_is_wrong_and_never_the_token(
    url: str, path: str, token: str, project: int, message: str
) -> None:
    with pytest.raises(ServiceError, match=message) as found:
        LabelStudio(url + path, token, project).pull()
    assert token not in str(found.value)
    assert token not in repr(LabelStudio(url, token, project))


def test_nobody_there_and_no_address(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LABEL_STUDIO_API_KEY", raising=False)
    with pytest.raises(ServiceError, match="cannot reach"):
        LabelStudio("http://127.0.0.1:9", "legacy", 3).pull()
    with pytest.raises(OptionError, match="http://"):
        LabelStudio("file:///etc/passwd", "legacy", 3)
    code, _, err = quorate(capsys, "pull", "--url", "http://127.0.0.1:9", "--project", 3)
    assert code == 2
    assert "LABEL_STUDIO_API_KEY" in err


@pytest.mark.parametrize(
    "url",
    [
        "http://ann:SECRET@h",
        "http://SECRET@h",
        "http://[::1",
        "http://h:port",
        "http://h:0",
        "http://h h",
        "http://",
        "h",
    ],
)
def test_what_is_no_address_is_refused_before_anything_is_sent(url: str) -> None:
    with pytest.raises(
        OptionError, match=r"url= must (begin with http:// or https:// and a host|not have a user)"
    ) as found:
        LabelStudio(url, "legacy", 3)
    assert "SECRET" not in str(found.value)


@pytest.mark.parametrize("token", ["SEC\nRET", "SEC RET", "SECR€T", "SECR\x00T"])
def test_what_no_token_is_made_of_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(OptionError, match="characters that a token cannot have") as found:
        LabelStudio("http://127.0.0.1:9", token, 3)
    assert "SEC" not in str(found.value)


def test_a_token_from_a_file_may_end_its_line(url: str) -> None:
    assert len(LabelStudio(url, " legacy\n", 3).pull()) == 3


def test_labels_of_other_tasks_are_refused(url: str, tmp_path: Path, capsys: Any) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("task,label\n99,glad\n")
    code, _, err = quorate(capsys, "push", labels, "--url", url, "--project", 3, "--token", "legacy")
    assert code == 2
    assert "task ids of Label Studio" in err
    assert StandIn.sent == []
