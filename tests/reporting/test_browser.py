"""The report in a real browser: no error, no request, tables that sort and search, hostile names that stay text."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import quorate
from quorate.reporting.rating_page import write_rating_report
from quorate.reporting.report import report
from tests.conftest import need
from tests.reporting.browser import Browser, chromium
from tests.reporting.crowd import BREAK, HOSTILE, IMAGE, SCRIPT, hostile_crowd

WORKERS, TASKS = "#workers-table", "#tasks-table"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("browser", chromium(), "apt-get install chromium")
    return report(hostile_crowd(), title=SCRIPT).write(tmp_path_factory.mktemp("report") / "report.html")[0]


@pytest.fixture(scope="module")
def browser(page: Path) -> Iterator[Browser]:
    with Browser() as started:
        yield started


@pytest.fixture
def opened(browser: Browser, page: Path) -> Browser:
    browser.problems.clear()
    browser.requests.clear()
    browser.look()
    browser.open(page)
    return browser


def column(browser: Browser, table: str, number: int) -> list[str]:
    """The texts of a column, of the rows that are shown."""
    rows = f"[...document.querySelectorAll('{table} tbody tr')].filter((row) => !row.hidden)"
    found: list[str] = browser.run(f"{rows}.map((row) => row.cells[{number}].textContent.trim())")
    return found


def head(table: str, number: int) -> str:
    return f"document.querySelectorAll('{table} thead th')[{number}]"


def test_it_opens_without_error_and_asks_for_nothing(opened: Browser, page: Path) -> None:
    assert opened.problems == []
    assert opened.requests == [page.resolve().as_uri()]


def test_the_browser_would_tell(opened: Browser, tmp_path: Path) -> None:
    """The two lists above are empty because nothing happened, not because nobody listened."""
    bad = tmp_path / "bad.html"
    bad.write_text("<script>console.error('x'); alert('y')</script><img src='http://127.0.0.1:9/i'>")
    opened.open(bad)
    assert any("http://127.0.0.1:9/i" in url for url in opened.requests)
    assert any("x" in problem for problem in opened.problems)
    assert any("a dialog opened: y" in problem for problem in opened.problems)


def test_hostile_names_stay_text(opened: Browser) -> None:
    assert opened.run("document.querySelector('h1').textContent") == SCRIPT
    assert opened.run("document.scripts.length") == 1
    assert opened.run("document.images.length") == 0
    assert SCRIPT in column(opened, WORKERS, 0)
    assert IMAGE in column(opened, TASKS, 0)
    assert any(label.startswith(BREAK) for label in column(opened, TASKS, 1))
    drawn = opened.run("[...document.querySelectorAll('svg text')].map((each) => each.textContent)")
    assert any(text.startswith("<script>alert(1)") for text in drawn)
    tips = opened.run("[...document.querySelectorAll('[data-tip]')].map((each) => each.dataset.tip)")
    assert any(text.startswith(SCRIPT) for text in tips)
    assert opened.problems == []


def test_nothing_runs_even_if_a_name_were_put_on_the_page_as_markup(opened: Browser) -> None:
    """The page's own policy forbids what escaping should have prevented."""
    for name in HOSTILE:
        opened.run(f"document.body.insertAdjacentHTML('beforeend', {name!r})")
    opened.run("new Promise((done) => setTimeout(done, 200))")
    assert not any("a dialog opened" in problem for problem in opened.problems)


def test_numbers_sort_as_numbers_and_what_is_missing_comes_last(opened: Browser) -> None:
    for wanted, reverse in (("ascending", False), ("descending", True)):
        opened.run(f"{head(WORKERS, 2)}.querySelector('button').click()")
        assert opened.run(f"{head(WORKERS, 2)}.getAttribute('aria-sort')") == wanted
        texts = column(opened, WORKERS, 2)
        known = [float(text) for text in texts if text != "–"]
        assert 0 < len(known) < len(texts)
        assert known == sorted(known, reverse=reverse)
        assert set(texts[len(known) :]) == {"–"}
    opened.run(f"{head(WORKERS, 0)}.querySelector('button').click()")
    assert opened.run("document.querySelectorAll('#workers-table [aria-sort]').length") == 1


def test_text_sorts_by_the_numbers_in_it(opened: Browser) -> None:
    opened.run(f"{head(TASKS, 0)}.querySelector('button').click()")
    numbers = [int(text[1:]) for text in column(opened, TASKS, 0) if text[0] == "t"]
    assert numbers[-1] > 100  # where text would put t100 before t2
    assert numbers == sorted(numbers)


def test_search_shows_the_rows_with_every_word(opened: Browser) -> None:
    everyone = column(opened, WORKERS, 0)
    search = "document.querySelector('#workers-table input')"
    opened.run(f"{search}.focus()")
    opened.write("SCRIPT ALERT")
    assert column(opened, WORKERS, 0) == [SCRIPT]
    assert opened.run("document.querySelector('#workers-table output').textContent") == f"1 of {len(everyone)} rows"
    opened.run(f"{search}.value = ''; {search}.dispatchEvent(new Event('input'))")
    assert column(opened, WORKERS, 0) == everyone


def test_the_keyboard_reaches_and_sorts(opened: Browser) -> None:
    opened.run("document.querySelector('#workers-table input').focus()")
    opened.press("Tab")  # the region that scrolls
    opened.press("Tab")  # the first heading
    assert opened.run("document.activeElement.textContent") == "worker"
    opened.press("Enter")
    assert opened.run(f"{head(WORKERS, 0)}.getAttribute('aria-sort')") == "ascending"


def test_hovering_tells_about_a_mark(opened: Browser) -> None:
    opened.run("document.documentElement.style.scrollBehavior = 'auto'")
    opened.run("document.querySelector('.confidence').scrollIntoView()")
    mark = "document.querySelector('.confidence [data-tip]')"
    box = opened.run(f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])({mark}.getBoundingClientRect())")
    opened.send("Input.dispatchMouseEvent", type="mouseMoved", x=box[0], y=box[1])
    assert opened.run("document.querySelector('.tip').hidden") is False
    assert "with confidence" in opened.run("document.querySelector('.tip').textContent")


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, False), (390, True), (820, True)])
def test_the_page_fits_its_window(opened: Browser, page: Path, width: int, dark: bool) -> None:
    opened.look(width=width, dark=dark)
    opened.open(page)
    assert opened.run("document.documentElement.scrollWidth") <= width
    cut = "[...document.querySelectorAll('.step pre, .tile, .manager, .headline, .warning, .badge')]"
    assert (
        opened.run(f"{cut}.filter((each) => each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0).length")
        == 0
    )
    for button in ("command-", "for-manager"):
        shown = f"document.querySelector('button[data-copy^={button}]').offsetParent !== null"
        assert opened.run(shown)
    lightness = opened.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]")
    assert (lightness < 64) == dark
    smallest = opened.run(
        "Math.min(...[...document.querySelectorAll('.skills text, .confidence text')]"
        ".map((each) => each.getBoundingClientRect().height))"
    )
    assert smallest >= 9  # pixels: what one can still read


def test_the_page_of_a_rating_fits_a_phone(opened: Browser, tmp_path: Path) -> None:
    rows = [(task, worker, (task * 3 + 5 * k) % 7 + k / 4) for task in range(30) for k, worker in enumerate("abcdef")]
    tasks, workers, scores = zip(*rows, strict=True)
    rating = quorate.rate({"task": list(tasks), "worker": list(workers), "score": list(scores)})
    write_rating_report(rating, tmp_path / "rating.html")
    opened.look(width=390)
    opened.open(tmp_path / "rating.html")
    assert opened.run("document.documentElement.scrollWidth") <= 390
    assert opened.run("[...document.querySelectorAll('table')].every((each) => each.rows.length > 1)")


def test_structure_for_those_who_listen(opened: Browser) -> None:
    levels = opened.run("[...document.querySelectorAll('h1, h2, h3')].map((each) => Number(each.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
    assert opened.run("['header', 'nav', 'main', 'footer'].every((name) => document.querySelector(name))")
    assert opened.run("['svg', 'table', 'input'].every((name) => document.querySelector(name))")
    assert opened.run("[...document.querySelectorAll('svg')].every((e) => e.getAttribute('role') == 'img')")
    assert opened.run("[...document.querySelectorAll('svg')].every((e) => e.getAttribute('aria-label'))")
    assert opened.run("[...document.querySelectorAll('table')].every((e) => e.caption && e.caption.textContent)")
    assert opened.run("[...document.querySelectorAll('input')].every((e) => e.labels.length == 1)")
    ids = opened.run("[...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(ids) == len(set(ids))


def test_on_paper_nothing_is_hidden_in_a_box_that_scrolls(opened: Browser, tmp_path: Path) -> None:
    opened.send("Emulation.setEmulatedMedia", media="print")
    assert opened.run("getComputedStyle(document.querySelector('.rows')).maxHeight") == "none"
    shown = "[...document.querySelectorAll('#tasks-table tbody tr')].filter((row) => row.offsetHeight).length"
    assert opened.run(shown) == 40
    assert opened.run("getComputedStyle(document.querySelector('#tasks-table .paper')).display") == "block"
    opened.pdf(tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes()[:4] == b"%PDF"
