"""The API of a Label Studio server: read the tasks of a project with their annotations, and write predictions.

https://api.labelstud.io: /api/projects/N/export, /api/projects/N/import/predictions, /api/users, /api/token/refresh.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from quorate.addresses import render_address
from quorate.errors import OptionError, ServiceError, reason, shown
from quorate.io.exports.content import Record
from quorate.progress import report

PREDICTIONS_PER_REQUEST = 500  # a few hundred kilobytes
PRINTABLE_ASCII = re.compile("[!-~]+")  # characters of an address or a token
TIMEOUT_SECONDS = 300  # seconds for one request; an export of 100,000 tasks takes a minute


def _check_url(url: str) -> None:
    """Refuse an invalid address, without showing a password in it."""
    if "@" in url:
        raise OptionError("url= (--url) must not have a user or a password. Leave them out, and give token= (--token)")
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an unmatched bracket, a port that is not a number
        is_valid = False
    if not is_valid or not PRINTABLE_ASCII.fullmatch(url):
        raise OptionError(f"url= (--url) must begin with http:// or https:// and a host, got {shown(url)}")


class _NoRedirect(HTTPRedirectHandler):
    """Handler that does not follow redirects, so that the token is not sent to another server."""

    def redirect_request(self, *_: Any) -> None:
        return None


@dataclass(frozen=True)
class LabelStudio:
    """A project of a Label Studio server.

    >>> LabelStudio("http://localhost:8080/", "abc", 3).url
    'http://localhost:8080'
    """

    url: str
    token: str
    project: int

    def __post_init__(self) -> None:
        _check_url(self.url)
        token = self.token.strip()
        if not token:
            raise OptionError("Label Studio needs an access token. Set LABEL_STUDIO_API_KEY, or use token= (--token)")
        if not PRINTABLE_ASCII.fullmatch(token):
            raise OptionError(
                "The access token has characters that a token cannot have, such as blanks. Copy it again from "
                "Label Studio"
            )
        object.__setattr__(self, "url", self.url.rstrip("/"))
        object.__setattr__(self, "token", token)

    def __repr__(self) -> str:
        return f"<LabelStudio: project {self.project} of {render_address(self.url)}>"  # without the token

    def pull(self) -> list[Record]:
        """Return all tasks with their annotations in the form of Label Studio's JSON export, for `quorate.read`.

        Raises:
            ServiceError: the server cannot be reached, or refuses the request.
        """
        tasks = self._ask("GET", f"/api/projects/{self.project}/export?exportType=JSON&download_all_tasks=true")
        if not isinstance(tasks, list):
            raise ServiceError(f"{self.url} sent no list of tasks. Check that it is a Label Studio server")
        people = self._people()
        for task in tasks:
            for annotation in task.get("annotations") or [] if isinstance(task, dict) else []:
                number = annotation.get("completed_by") if isinstance(annotation, dict) else None
                if isinstance(number, int) and number in people:
                    annotation["completed_by"] = people[number]
        return tasks

    def _people(self) -> dict[Any, Record]:
        """Return id -> annotator, because an export has only ids; empty if the token may not read the users."""
        try:
            response = self._ask("GET", "/api/users")
        except ServiceError:
            return {}
        listed = response if isinstance(response, list) else []
        fields = ("id", "email", "first_name", "last_name", "username")
        return {
            person["id"]: {name: person[name] for name in fields if person.get(name)}
            for person in listed
            if isinstance(person, dict) and isinstance(person.get("id"), int)
        }

    def push(self, tasks: Sequence[Record]) -> int:
        """Write the predictions of tasks from `quorate.io.exports.write_back.results_for`; return their number.

        Raises:
            ServiceError: the server cannot be reached, or refuses; predictions that were sent before remain.
        """
        ready = [{"task": task["id"], **prediction} for task in tasks for prediction in task["predictions"]]
        for start in range(0, len(ready), PREDICTIONS_PER_REQUEST):
            report("predictions", start, len(ready))
            batch = ready[start : start + PREDICTIONS_PER_REQUEST]
            try:
                self._ask("POST", f"/api/projects/{self.project}/import/predictions", batch)
            except ServiceError as error:
                sent = (
                    f"; {start:,} of {len(ready):,} predictions were sent and are on the server. Push again under "
                    "another name (--model-version)"
                )
                raise ServiceError(f"{error}{sent if start else ''}") from None
        report("predictions", len(ready), len(ready))
        return len(ready)

    def _headers(self) -> dict[str, str]:
        """Return the header with the token; a personal token (three parts with dots) is first exchanged for another."""
        if self.token.count(".") != 2:
            return {"Authorization": f"Token {self.token}"}
        answer = self._send("POST", "/api/token/refresh", {"refresh": self.token}, {})
        access = answer.get("access") if isinstance(answer, dict) else None
        if not isinstance(access, str) or not PRINTABLE_ASCII.fullmatch(access):
            raise ServiceError(f"{self.url} did not accept the token. Check that it is a Label Studio server")
        return {"Authorization": f"Bearer {access}"}

    def _ask(self, verb: str, path: str, body: Any = None) -> Any:
        return self._send(verb, path, body, self._headers())

    def _send(self, verb: str, path: str, body: Any, headers: dict[str, str]) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"{self.url}{path}", data, {"Content-Type": "application/json", **headers}, method=verb)
        try:
            with build_opener(_NoRedirect).open(request, timeout=TIMEOUT_SECONDS) as answer:
                return json.loads(answer.read())
        except HTTPError as error:
            with error:
                why = "; ".join(self._reasons(error))
            raise ServiceError(f"{self.url} refused the request ({error.code}): {why}") from None
        except (URLError, TimeoutError, ConnectionError) as error:
            raise ServiceError(f"cannot reach {self.url}: {getattr(error, 'reason', error)}") from None
        except HTTPException as error:  # the connection ended early, or the server does not use HTTP
            raise ServiceError(f"The connection to {self.url} ended early ({reason(error)}). Try again") from None
        except (ValueError, RecursionError):
            raise ServiceError(f"{self.url} did not send JSON. Check that it is a Label Studio server") from None

    def _reasons(self, error: HTTPError) -> Iterator[str]:
        """Yield the reason in the server's reply, and what the user should check."""
        if error.code in (301, 302, 307, 308):
            yield (f"the server is now at {shown(error.headers.get('Location', ''))}; give this address with --url")
            return
        try:
            reply = json.loads(error.read() or b"{}")
            yield shown(reply.get("detail", "no reason given"), 200)
        except (ValueError, AttributeError, RecursionError, OSError, HTTPException):
            yield "no reason given"
        if error.code in (401, 403):
            yield "check --token (Account & Settings in Label Studio)"
        if error.code == 404:
            yield f"check --project: there is no project {self.project}, or the token has no access to it"
