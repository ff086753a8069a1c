"""A PostgreSQL of our own for a while: started on loopback in a folder of its own, and stopped."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.conftest import need

# Debian keeps the programs of each version in a folder that is not on the path.
HOMES = ("/usr/lib/postgresql/*/bin", "/opt/homebrew/opt/postgresql*/bin")
NOBODY = "nobody"  # the server refuses to run as root


def programs() -> Path | None:
    """The folder with initdb and postgres."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    folders = [folder for home in HOMES for folder in sorted(Path("/").glob(home.lstrip("/")))]
    return next((folder for folder in reversed(folders) if (folder / "initdb").exists()), None)


@contextmanager
def postgres() -> Iterator[str]:
    """Start a server, and give the URL of an empty database."""
    home = programs()
    need("postgres", home and find_spec("psycopg"), "apt-get install postgresql; pip install quorate[postgres]")
    assert home is not None
    account: dict[str, Any] = {}
    folder = Path(tempfile.mkdtemp(prefix="quorate-postgres-"))
    try:
        if os.geteuid() == 0:
            other = pwd.getpwnam(NOBODY)
            account = {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": [], "cwd": folder}
            os.chown(folder, other.pw_uid, other.pw_gid)
        initdb: list[Any] = [
            home / "initdb",
            "-D",
            folder / "data",
            "-U",
            "crowd",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--no-sync",
        ]
        subprocess.run([*initdb, "--locale=C"], check=True, stdout=subprocess.DEVNULL, **account)
        port = _free_port()
        settings = ["fsync=off", "listen_addresses=127.0.0.1", f"port={port}", f"unix_socket_directories={folder}"]
        command: list[Any] = [
            home / "postgres",
            "-D",
            folder / "data",
            *(word for each in settings for word in ("-c", each)),
        ]
        with (folder / "log").open("w") as log:
            server = subprocess.Popen(command, stdout=log, stderr=log, **account)
        try:
            _wait(home, port, server, folder / "log")
            yield f"postgres://crowd@127.0.0.1:{port}/postgres"
        finally:
            server.send_signal(2)  # "fast": whoever is still connected is sent away
            server.wait(30)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def _wait(home: Path, port: int, server: "subprocess.Popen[Any]", log: Path) -> None:
    ready: list[Any] = [home / "pg_isready", "-q", "-t", "30", "-h", "127.0.0.1", "-p", str(port)]
    for _ in range(300):
        if subprocess.run(ready).returncode == 0:
            return
        try:
            server.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
        break
    raise RuntimeError(f"PostgreSQL did not start: {log.read_text()}")
