"""Pages name only modules, files and pipelines that exist."""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from fugu.dataflows import FLOORS
from fugu.dataflows.pipeline.config import PipelineFile

ROOT = Path(__file__).parents[2]
PAGES = [
    page
    for folder in (".", "docs", "deploy", "deploy/helm/fugu")
    for page in sorted((ROOT / folder).glob("*.md"))
]
MODULE = re.compile(r"\bfugu\.(?:dataflows|operators)(?:\.\w+)*")
IMPORT = re.compile(r"^from (fugu[.\w]*) import (.+)$", re.MULTILINE)
FILE = re.compile(
    r"(?<![\w/.])(?:bench|dataflows|deploy|docs|examples|fugu|operators|tests)/[\w./-]*\w"
)
MADE = {"deploy/fugu.secret"}
"""Files that readers of a page make themselves."""
PIPELINE = re.compile(r"```yaml\n(name: .*?)```", re.DOTALL)


def exists(name: str) -> bool:
    """Return whether a dotted name is a module, or something in one."""
    module, _, attribute = name.rpartition(".")
    try:
        import_module(name)
    except ModuleNotFoundError:
        return bool(module) and exists(module) and hasattr(import_module(module), attribute)
    return True


def named(page: Path) -> Iterator[str]:
    text = page.read_text()
    yield from MODULE.findall(text)
    for module, names in IMPORT.findall(text):
        yield from (f"{module}.{one.split(' as ')[0].strip()}" for one in names.split(","))


def of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=of)
def test_every_module_that_a_page_names_exists(page: Path) -> None:
    assert [name for name in named(page) if not exists(name)] == []


@pytest.mark.parametrize("page", PAGES, ids=of)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    files = [name for name in FILE.findall(page.read_text()) if name not in MADE]
    places = (ROOT, page.parent)
    assert [name for name in files if not any((at / name).exists() for at in places)] == []


@pytest.mark.parametrize(
    ("page", "content"),
    [(of(page), found) for page in PAGES for found in PIPELINE.findall(page.read_text())],
)
def test_every_pipeline_file_on_a_page_is_read(page: str, content: str, tmp_path: Path) -> None:
    (tmp_path / "zones.txt").write_text("north\nsouth\n")
    path = tmp_path / "pipeline.yaml"
    path.write_text(content)
    assert PipelineFile.read(path).pipeline.name in content


def test_the_page_of_the_architecture_has_every_floor_in_order() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    table = text.split("| floor | what it does |\n", 1)[1].split("\n\n", 1)[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(FLOORS)
