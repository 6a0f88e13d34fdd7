"""`fugu report`: one page for people who do not read configuration files."""

import re
from html.parser import HTMLParser
from pathlib import Path
from shutil import copytree

import orjson
import pytest

from fugu.dataflows.base.errors import ConfigurationError, StartRefused
from fugu.dataflows.commands.audit import audit
from fugu.dataflows.commands.report import report
from fugu.dataflows.pipeline.config import PipelineFile

EXAMPLES = Path(__file__).parents[3] / "deploy" / "examples"
NAMES = ("heart-zones", "city-counts", "power", "patients", "moods", "stations")


class Page(HTMLParser):
    """Hold the text of a page, its elements in order, and what it would load from elsewhere."""

    VOID = ("meta",)

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.open: list[str] = []
        self.loaded: list[tuple[str, str | None]] = []
        self.unmatched: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        self.loaded += [one for one in attrs if one[0] in ("src", "href", "srcset", "onload")]

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.unmatched.append(tag)

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(copytree(EXAMPLES, tmp_path / "pipelines"))


def written(folder: Path, *names: str, **options: object) -> str:
    output = folder / "report.html"
    files = [PipelineFile.read(folder / f"{name}.yaml") for name in names]
    report(files, **{"output": output, "kafka": False, **options})  # type: ignore[arg-type]
    return output.read_text()


def test_a_page_is_whole_and_loads_nothing(folder: Path) -> None:
    html = written(folder, *NAMES)
    page = Page(html)
    assert page.unmatched == page.open == []
    assert page.loaded == []
    assert "url(" not in html
    assert "@import" not in html
    assert "<script" not in html


def test_it_names_the_fields_of_time_and_event_id_too(folder: Path) -> None:
    path = folder / "heart-zones.yaml"
    text = path.read_text()
    beside = "timestamp: {field: at, format: epoch-ms}\n  dedupe: {field: id}\n"
    path.write_text(text.replace("  value: zone", f"  {beside}  value: zone"))
    assert "Of a record: key, zone, at, id." in Page(written(folder, "heart-zones")).text


def test_it_says_what_goes_in_and_out_what_is_promised_and_what_is_not(folder: Path) -> None:
    text = Page(written(folder, "heart-zones")).text
    assert "Topic vitals.raw . Of a record: key, zone." in text
    assert "with a pseudonym as key" in text
    assert "Sequence Information Privacy with epsilon 1 nats per release" in text
    assert "believed after one release: 10 % without releases, at most 27.2 % with them" in text
    assert "right about one release: 50 % without releases, at most 88.1 % with them" in text
    assert "an adversary who obtains the secret, and so can remove all randomness" in text
    assert "no start is refused because of it" in text
    assert re.search("SHA-256 [0-9a-f]{64}", text)


def test_pipelines_over_one_source_are_added_up_and_an_excess_is_an_alarm(folder: Path) -> None:
    first = folder / "heart-zones.yaml"
    text = first.read_text().replace("value: zone", "value: zone\n  budget: 3")
    first.write_text(re.sub("(?m)^sink:", "budget: {total: 2}\nsink:", text, count=1))
    other = first.read_text().replace("heart-zones", "zones-again", 1).replace("sanitized", "again")
    (folder / "zones-again.yaml").write_text(other)
    with pytest.raises(StartRefused, match=r"source\.budget of vitals\.raw is 3 nats"):
        written(folder, "heart-zones", "zones-again")
    page = Page((folder / "report.html").read_text()).text
    assert "but the pipelines over it come to 8 nats" in page
    assert "Local Differential Privacy , together: epsilon 8 nats" in page


def test_text_of_files_is_no_markup(folder: Path) -> None:
    path = folder / "moods.yaml"
    path.write_text(path.read_text().replace("good", "<script>alert(1)</script>"))
    html = written(folder, "moods")
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)" in html


@pytest.mark.slow
def test_an_audit_stands_beside_the_claim(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "audit.json"
    path.write_text(audited(folder, capsys))
    text = Page(written(folder, "heart-zones", audits=[path])).text
    assert "no attack exceeded its claim; this is evidence, not proof" in text
    assert "Attacks: nats proved, of those claimed" in text

    result = orjson.loads(path.read_bytes())
    result["law"] = "0" * 16
    path.write_bytes(orjson.dumps(result))
    with pytest.raises(ConfigurationError, match="is about another law of heart-zones"):
        written(folder, "heart-zones", audits=[path])


def audited(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    from typer import Context
    from typer.main import get_command

    from fugu.dataflows.commands.cli.fugu import app

    command = get_command(app).get_command(None, "audit")  # type: ignore[attr-defined]
    file = PipelineFile.read(folder / "heart-zones.yaml")
    audit(Context(command), file, runs=1_000, steps=1, confidence=99.9, as_json=True)
    return capsys.readouterr().out


def test_accuracy_is_for_the_trusted_zone(folder: Path) -> None:
    zones = ["rest", "light", "moderate", "vigorous"]
    lines = [{"key": f"u{n % 20}", "zone": zones[n % 7 % 4]} for n in range(200)]
    sample = folder / "zones.jsonl"
    sample.write_bytes(b"\n".join(map(orjson.dumps, lines)))
    text = Page(written(folder, "heart-zones", samples=[str(sample)])).text
    assert "Keep it in the trusted zone" in text
    assert "Measured on 200 records of 20 streams, 5 runs, with crr at epsilon 1." in text
    assert "Keep it in the trusted zone" not in Page(written(folder, "heart-zones")).text


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"samples": ["nobody=zones.jsonl"]}, "write NAME=FILE with the name of one of"),
        ({"samples": ["zones.jsonl"]}, "write NAME=FILE with the name of one of"),
        ({"audits": [Path("nowhere.json")]}, "is no output of fugu audit --json"),
    ],
)
def test_what_is_about_no_pipeline_is_refused(
    folder: Path, options: dict[str, object], problem: str
) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        written(folder, "heart-zones", "power", **options)
