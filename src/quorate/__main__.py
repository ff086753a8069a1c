"""`python -m quorate` is the command line."""

import gc
import os
import signal
import sys
from types import FrameType

from quorate.cli.exit_codes import INTERRUPTED

OBJECTS_BETWEEN_COLLECTIONS = 200_000  # `quorate aggregate` makes 70,000, `quorate report` 100,000


def main() -> None:
    """Run the command line."""
    seen: list[int] = []

    def interrupt(number: int, _: FrameType | None) -> None:
        seen.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    # Matrices here have a few hundred rows: threads would wait for each other longer than they work, and beside other
    # programs that costs seconds. Whoever sets the variable is obeyed.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Importing makes some 10^5 objects, none of them garbage; to look for it after every 700 took 30 ms.
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    try:
        from quorate.cli.app import main as run

        run()
    except BaseException as error:
        # A library that is interrupted while it is imported may raise any error; SystemExit is raised here only.
        if not seen or isinstance(error, SystemExit):
            raise
        sys.stderr.write("quorate: Interrupted.\n")
        sys.exit(INTERRUPTED)
    finally:
        gc.freeze()  # all of it goes when the process ends: Python would look for garbage in it for a tenth of a second


if __name__ == "__main__":
    main()
