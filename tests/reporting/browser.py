"""Drive Debian's chromium by its DevTools protocol over a pipe: nothing to download, no port to share."""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

PATIENCE = 60  # seconds for one reply: a busy machine is slow to start a browser

# The browser reads commands from file 3 and writes replies to file 4, each ended by a zero byte. Moving both out of
# the way first keeps one from overwriting the other.
START = """
import fcntl, os, sys
read, write = (fcntl.fcntl(int(each), fcntl.F_DUPFD, 10) for each in sys.argv[1:3])
os.dup2(read, 3)
os.dup2(write, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def chromium() -> str | None:
    """Return the browser's path; None where there is none."""
    return next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )


class Browser:
    """A headless browser with one page; records what the page logs and what it requests."""

    def __init__(self) -> None:
        self.problems: list[str] = []  # errors, and anything that the page wrote to the console
        self.requests: list[str] = []
        self._loaded = False
        self._last = 0
        self._unread = b""
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._start()
        try:
            self._attach()
        except BaseException:
            self._stop()
            raise

    def _start(self) -> None:
        path = chromium()
        assert path is not None
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        flags += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
        command = [
            path,
            *flags,
            "--hide-scrollbars",
            f"--user-data-dir={self._profile.name}",
            "--remote-debugging-pipe",
        ]
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, str(to_read), str(to_write), *command, "about:blank"],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)

    def _attach(self) -> None:
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")
        self.look()

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop()

    def _stop(self) -> None:
        try:
            self._send("Browser.close")
        except (AssertionError, OSError):
            self._process.kill()
        self._process.wait(PATIENCE)
        os.close(self._to)
        os.close(self._from)
        self._profile.cleanup()

    def open(self, path: Path) -> None:
        """Open a file and wait until it is complete."""
        self._loaded = False
        self.send("Page.navigate", url=path.resolve().as_uri())
        while not self._loaded:
            self._note(self._receive())

    def look(self, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Set the size of the window, and whether the reader likes it dark."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.send("Emulation.setDeviceMetricsOverride", **size)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.send("Emulation.setEmulatedMedia", media="screen", features=scheme)

    def press(self, key: str) -> None:
        """Press and release a key: Tab, Enter or Escape."""
        code = {"Tab": 9, "Enter": 13, "Escape": 27}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **text)

    def write(self, text: str) -> None:
        """Type text where the cursor is."""
        self.send("Input.insertText", text=text)

    def run(self, script: str) -> Any:
        """Evaluate a script on the page and return its value."""
        reply = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in reply, reply["exceptionDetails"]
        return reply["result"].get("value")

    def screenshot(self, path: Path, *, full_page: bool = True) -> None:
        """Save what the page looks like."""
        picture = self.send(
            "Page.captureScreenshot", captureBeyondViewport=full_page, **(self._all() if full_page else {})
        )
        path.write_bytes(base64.b64decode(picture["data"]))

    def pdf(self, path: Path) -> None:
        """Save what the page prints."""
        path.write_bytes(base64.b64decode(self.send("Page.printToPDF", printBackground=True)["data"]))

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command to the page and return its result."""
        return self._send(method, self._session, **parameters)

    def _all(self) -> dict[str, Any]:
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}

    def _post(self, method: str, session: str | None = None, **parameters: Any) -> int:
        """Send a command without waiting for its result; return its number."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        return self._last

    def _send(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        number = self._post(method, session, **parameters)
        while True:
            event = self._receive()
            if event.get("id") == number:
                assert "error" not in event, event["error"]
                found: dict[str, Any] = event["result"]
                return found
            self._note(event)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._from], [], [], PATIENCE)
            assert ready, "the browser does not answer"
            more = os.read(self._from, 1 << 16)
            assert more, "the browser has gone"
            self._unread += more
        message, self._unread = self._unread.split(b"\0", 1)
        event: dict[str, Any] = json.loads(message)
        return event

    def _note(self, event: dict[str, Any]) -> None:
        parameters = event.get("params", {})
        if event.get("method") == "Page.loadEventFired":
            self._loaded = True
        elif event.get("method") == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif event.get("method") in {"Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"}:
            self.problems.append(json.dumps(parameters))
        elif event.get("method") == "Page.javascriptDialogOpening":
            self.problems.append(f"a dialog opened: {parameters['message']}")
            self._post("Page.handleJavaScriptDialog", self._session, accept=True)  # the page waits for it
