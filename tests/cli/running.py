"""The command line in this process."""

import pytest

from quorate.cli.app import main

ROWS = "task,worker,label\n" + "".join(f"t{t},{w},{'xy'[(t * k) % 2]}\n" for t in range(8) for k, w in enumerate("abc"))


def quorate(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run the command line: exit code, standard output, standard error."""
    with pytest.raises(SystemExit) as stopped:
        main([str(each) for each in arguments])
    captured = capsys.readouterr()
    assert isinstance(stopped.value.code, int)
    return stopped.value.code, captured.out, captured.err
