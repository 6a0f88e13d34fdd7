"""The privacy card in a real Chromium: no errors, nothing loaded, accessible, and printable.

Writes `docs/pictures/report.png`, which is committed.
"""

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree, which

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from fugu.dataflows.commands.report import report
from fugu.dataflows.pipeline.config import PipelineFile
from tests.dataflows.commands.test_report import EXAMPLES, NAMES, audited

PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "report.png"
CHROMIUM = which("chromium") or which("google-chrome") or ""
NARROW, WIDE = 390, 900

pytestmark = pytest.mark.acceptance


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A report with everything in it that needs no Kafka."""
    folder = Path(copytree(EXAMPLES, tmp_path / "pipelines"))
    result = folder / "audit.json"
    result.write_text(audited(folder, capsys))
    sample = folder / "zones.jsonl"
    sample.write_text('{"key": "a", "zone": "rest"}\n{"key": "b", "zone": "light"}\n' * 50)
    output = folder / "report.html"
    files = [PipelineFile.read(folder / f"{name}.yaml") for name in NAMES]
    report(files, output, [result], [f"heart-zones={sample}"], "key", kafka=False)
    return output


def opened(browser: Browser, path: Path, scheme: str, width: int) -> tuple[Page, list[str]]:
    """A page, and everything that is wrong with how it loads."""
    wrong: list[str] = []
    page = browser.new_page(
        viewport={"width": width, "height": 1000},
        color_scheme=scheme,  # type: ignore[arg-type]
    )
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda one: wrong.append(one.url) if one.url != path.as_uri() else None)
    page.goto(path.as_uri())
    return page, wrong


def test_it_reads_well_in_light_and_dark_on_wide_and_narrow_screens(
    browser: Browser, written: Path
) -> None:
    for scheme in ("light", "dark"):
        for width in (WIDE, NARROW):
            page, wrong = opened(browser, written, scheme, width)
            assert wrong == []
            found = Axe().run(page)
            assert found.violations_count == 0, found.generate_report()
            assert found.response["passes"], "axe looked at nothing"
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.close()


def test_axe_sees_what_is_wrong(browser: Browser, written: Path) -> None:
    """The check itself: grey on grey, and a picture without words, are found."""
    html = written.read_text().replace("--soft: #4d5866", "--soft: #dddddd")
    written.write_text(html.replace('<html lang="en">', "<html>"))
    page, _ = opened(browser, written, "light", WIDE)
    found = {one["id"] for one in Axe().run(page).response["violations"]}
    assert {"color-contrast", "html-has-lang"} <= found
    page.close()


def test_paper_is_white_whatever_the_screen_is(browser: Browser, written: Path) -> None:
    page, _ = opened(browser, written, "dark", WIDE)
    colour = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(colour) == "rgb(20, 25, 31)"
    page.emulate_media(media="print")
    assert page.evaluate(colour) == "rgb(255, 255, 255)"
    printed = page.pdf(format="A4")
    assert printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page>") > len(NAMES)
    page.close()


def test_the_picture_of_the_pages(browser: Browser, written: Path) -> None:
    """The head and the first pipeline of a report on two, as docs show it."""
    files = [PipelineFile.read(written.parent / f"{name}.yaml") for name in NAMES[:2]]
    output = written.parent / "two.html"
    report(files, output, [], [], "key", kafka=False)
    page, wrong = opened(browser, output, "light", WIDE)
    page.screenshot(
        path=PICTURE, clip={"x": 0, "y": 0, "width": WIDE, "height": 1360}, full_page=True
    )
    assert wrong == []
    page.close()
