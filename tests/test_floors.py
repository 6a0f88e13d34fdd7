"""The floors of the house: who imports whom, read from the files themselves."""

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from fugu.dataflows import FLOORS

ROOT = Path(__file__).parents[1]
TOPS = ("fugu.operators", "fugu.dataflows")


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(["fugu", *parts]).removesuffix(".__init__")


FILES = {
    module_name(path): path
    for top in ("operators", "dataflows")
    for path in sorted((ROOT / top).rglob("*.py"))
}
ALLOWED = {
    "bytewax": (
        "fugu.dataflows.flows",
        "fugu.dataflows.copies.dataflow",
        "fugu.dataflows.stages",
        "fugu.dataflows.run",
        "fugu.dataflows.kafka.source",
        "fugu.dataflows.kafka.sink",
        "fugu.dataflows.state.recovery",
    ),
    "kafka": ("fugu.dataflows.kafka",),
    "confluent_kafka": ("fugu.dataflows.kafka", "fugu.dataflows.offline.demo.embedded_broker"),
    "pydantic": (
        "fugu.dataflows.base",
        "fugu.dataflows.files",
        "fugu.dataflows.kafka",
        "fugu.dataflows.state",
        "fugu.dataflows.policies",
        "fugu.dataflows.kinds",
        "fugu.dataflows.pipeline",
        "fugu.dataflows.publishing.promise",
        "fugu.dataflows.publishing.promise",
        "fugu.dataflows.offline.evaluation",
    ),
    "cryptography": (
        "fugu.dataflows.policies.signatures",
        "fugu.dataflows.policies.signatures",
        "fugu.dataflows.state.sealing",
    ),
    "typer": ("fugu.dataflows.base.logs", "fugu.dataflows.commands"),
    "dp_accounting": ("fugu.operators.composition.composed_loss",),
    "operators": (),
    "dataflows": (),
}
"""The importers that a package may have: these modules, and all in these folders."""


@cache
def imports(name: str) -> frozenset[str]:
    """Return all modules that a module imports, wherever in its file, also for types alone."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(FILES[name].read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name} imports relatively"
            module = node.module or ""
            inside = {f"{module}.{alias.name}" for alias in node.names}
            found |= {full if full in FILES else module for full in inside}
    return frozenset(found - {name})


def folder(name: str) -> str:
    return name if FILES[name].name == "__init__.py" else name.rpartition(".")[0]


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Return one circle, or nothing."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def within(name: str, places: tuple[str, ...]) -> bool:
    return any(f"{name}.".startswith(f"{place}.") for place in places)


def test_every_folder_is_a_floor() -> None:
    folders = {name.split(".")[2] for name in FILES if name.startswith("fugu.dataflows.")}
    assert folders == set(FLOORS)


def test_no_floor_imports_from_one_above_it() -> None:
    def floor(name: str) -> int:
        return FLOORS.index(name.split(".")[2])

    above = [
        f"{name} -> {other}"
        for name in FILES
        for other in imports(name)
        if name.count(".") > 1 and other.startswith("fugu.dataflows.")
        if floor(other) > floor(name)
    ]
    assert above == []


def test_operators_import_nothing_of_the_outside() -> None:
    outside = {"fugu.dataflows", "bytewax", "kafka", "confluent_kafka", "pydantic", "typer"}
    found = [
        f"{name} -> {other}"
        for name in FILES
        for other in imports(name)
        if name.startswith("fugu.operators") and within(other, tuple(outside))
    ]
    assert found == []


@pytest.mark.parametrize("package", ALLOWED)
def test_a_package_is_imported_only_where_it_belongs(package: str) -> None:
    importing = [
        name for name in FILES if any(within(other, (package,)) for other in imports(name))
    ]
    assert [name for name in importing if not within(name, ALLOWED[package])] == []


@pytest.mark.parametrize("top", TOPS)
def test_there_is_no_circle_between_files(top: str) -> None:
    files = [name for name in FILES if within(name, (top,))]
    assert circle({name: set(imports(name)) for name in files}) == []


@pytest.mark.parametrize("top", TOPS)
def test_there_is_no_circle_between_folders(top: str) -> None:
    graph: dict[str, set[str]] = {}
    for name in FILES:
        if within(name, (top,)):
            others = {folder(other) for other in imports(name) if within(other, (top,))}
            graph.setdefault(folder(name), set()).update(others - {folder(name)})
    assert circle(graph) == []
