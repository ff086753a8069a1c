"""Take the pictures of the report of examples/reviews.csv: on a desk, in the dark and on a phone.

python -m tools.report_picture [FOLDER]    # docs/pictures by default; needs chromium
"""

import sys
import tempfile
from contextlib import chdir, suppress
from pathlib import Path
from typing import Any

from tests.reporting.browser import Browser

from quorate.cli.app import main as quorate

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "pictures"
SCREENS: dict[str, dict[str, Any]] = {
    "report-desk": {"width": 1280, "height": 1330},
    "report-dark": {"width": 1280, "height": 1330, "dark": True},
    "report-phone": {"width": 390, "height": 1330},
}


def main(folder: Path) -> None:
    """Write one picture per screen."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, Browser() as browser:
        page = Path(temporary) / "report.html"
        with chdir(ROOT), suppress(SystemExit):  # so that the commands on the page name the file as a user would
            quorate(["report", "examples/reviews.csv", "-o", str(page)])
        for name, screen in SCREENS.items():
            browser.look(**screen)
            browser.open(page)
            browser.screenshot(folder / f"{name}.png", whole=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
