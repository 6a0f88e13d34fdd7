"""The schema takes every pipeline file that is read, and the page of reference is made of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from typer.testing import CliRunner

from fugu.dataflows.commands.cli.fugu import app
from fugu.dataflows.commands.schema import json_schema, markdown
from fugu.dataflows.files.yaml_file import YamlFile
from fugu.dataflows.kinds import KINDS
from tests.dataflows.kinds.example_files import ROOT, example_of
from tests.docs.test_names import PAGES, PIPELINE
from tests.json_schema import problems

SCHEMA = json_schema()


def pipeline_files() -> Iterator[tuple[str, str]]:
    for folder in ("deploy", "examples", "bench"):
        for path in sorted((ROOT / folder).rglob("*.yaml")):
            text = path.read_text()
            if "\noperator:" in text and "\nsource:" in text and "\nstate:" in text:
                yield str(path.relative_to(ROOT)), text
    for page in PAGES:
        yield from ((page.name, text) for text in PIPELINE.findall(page.read_text()))


FILES = list(pipeline_files())


def found(document: Any) -> list[str]:
    return list(problems(document, SCHEMA, SCHEMA))


@pytest.mark.parametrize(("name", "text"), FILES, ids=[name for name, _ in FILES])
def test_every_pipeline_file_of_the_repository_is_one(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "pipeline.yaml"
    path.write_text(text)
    assert found(YamlFile.read(path, "pipeline file", "name: heart-zones").plain) == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_example_of_every_kind_is_one(kind: str, tmp_path: Path) -> None:
    assert found(yaml.safe_load(example_of(kind, tmp_path).path.read_text())) == []


def test_there_are_pipeline_files() -> None:
    assert len(FILES) > 5


@pytest.mark.parametrize(
    ("section", "change"),
    [
        ("source", {"topik": "usage"}),
        ("source", {"policies": 7}),
        ("operator", {"kind": "ccr"}),
        ("operator", {"epsilon": 0}),
        ("operator", {"alphabet": []}),
        ("state", {"every": 1}),
        ("state", {"every": "1 second"}),
        ("kafka", {"bootstrap": []}),
        ("secret", {"encoding": "base32"}),
    ],
)
def test_a_mistake_is_found(section: str, change: dict[str, object], tmp_path: Path) -> None:
    document = yaml.safe_load(example_of("crr", tmp_path).path.read_text())
    assert found(document) == []
    document[section] |= change
    assert found(document) != []


@pytest.mark.parametrize(
    ("section", "change"),
    [
        ("source", {"policies": "changes"}),
        ("source", {"policies": {"topic": "changes", "signed": "required"}}),
        ("source", {"timestamp": {"field": "at", "format": "epoch-s"}}),
        ("source", {"budget": {"epsilon": 3, "delta": 1e-6}}),
        ("operator", {"alphabet": {"file": "symbols.txt"}}),
        ("operator", {"distance": {"points": [[0, 0], [0, 1], [1, 1], [2, 2]]}}),
        ("state", {"every": "PT5S"}),
        ("kafka", {"bootstrap": ["one:9092", "two:9092"]}),
    ],
)
def test_every_form_of_a_key_is_taken(
    section: str, change: dict[str, object], tmp_path: Path
) -> None:
    document = yaml.safe_load(example_of("crr", tmp_path).path.read_text())
    document[section] |= change
    assert found(document) == []


def test_every_key_says_what_it_is() -> None:
    definitions = SCHEMA["$defs"] | {"Pipeline": SCHEMA}
    silent = [
        f"{name}.{key}"
        for name, section in definitions.items()
        for key, entry in section["properties"].items()
        if "description" not in entry and "const" not in entry
    ]
    assert silent == []
    assert {name for name, section in definitions.items() if "description" not in section} == set()


def test_every_kind_is_in_the_schema() -> None:
    assert {section.__name__ for section in KINDS.values()} <= SCHEMA["$defs"].keys()


def test_the_page_of_reference_is_what_the_command_prints() -> None:
    page = (ROOT / "docs" / "reference.md").read_text()
    assert page == markdown(), "write it anew: fugu schema --markdown > docs/reference.md"
    assert CliRunner().invoke(app, ["schema", "--markdown"]).output == page


def test_the_command_prints_the_schema() -> None:
    assert orjson.loads(CliRunner().invoke(app, ["schema"]).output) == SCHEMA
