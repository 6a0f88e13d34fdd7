"""Collect the faults of all modules of this folder, and write the table of `docs/guarantees.md`."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

from tests.markdown import in_lines
from tests.privacy.faults.planted import Detector, Planted

WAYS = (
    "halved noise",
    "doubled contribution",
    "ignored window",
    "budget reset at restart",
    "P_B = P_F",
    "stale policy",
    "filter that sees raw values",
    "time moved by values",
    "shared draws between partitions",
    "law of 53 bits",
    "batch counted twice",
    "drain that shows",
    "decision taken on truth",
    "ledger without delta",
)
"""Name the ways to be wrong that every version is tried with, in the order of the table."""

GUARANTEES = Path(__file__).parents[3] / "docs" / "guarantees.md"
BEGIN, END = "<!-- faults -->\n", "<!-- end of faults -->\n"
HEADINGS = ("fault", "family", "planted", "caught by")


def families() -> dict[str, tuple[Planted, ...]]:
    """Return the faults by family, in the order of modules."""
    found: dict[str, tuple[Planted, ...]] = {}
    for module in _modules():
        family = vars(module).get("FAMILY", module.__name__.split(".")[-1].replace("_", " "))
        found[family] = (*found.get(family, ()), *module.PLANTED)
    return found


def markdown() -> str:
    """Write who catches which way in which family, and then all faults."""
    return f"{_overview()}\n{_list()}"


def _overview() -> str:
    """Write the named ways to be wrong by family: A for the audit, T for a test of the suite."""
    found = families()
    rows = [(way, *(_catchers(way, some) for some in found.values())) for way in WAYS]
    return in_lines([("", *found), ("---",) * (1 + len(found)), *rows])


def _list() -> str:
    """Write all faults: the named ways to be wrong first, then the others by family."""
    rows = [(planted, family) for family, some in families().items() for planted in some]
    rows.sort(key=lambda row: WAYS.index(row[0].fault) if row[0].fault in WAYS else len(WAYS))
    lines = ((one.fault, family, _planted(one), one.detector.name) for one, family in rows)
    return in_lines([HEADINGS, ("---",) * len(HEADINGS), *lines])


def is_audit(detector: Detector) -> bool:
    """Return whether `fugu audit` is the detector, and not a test."""
    return detector.name.startswith("`fugu audit`")


def _catchers(way: str, faults: Sequence[Planted]) -> str:
    detectors = [one.detector for one in faults if one.fault == way]
    return " ".join(sorted({"A" if is_audit(one) else "T" for one in detectors}))


def written() -> str:
    """Return the page with the table of now between its markers."""
    before, rest = GUARANTEES.read_text().split(BEGIN)
    return before + BEGIN + markdown() + END + rest.split(END)[1]


def _planted(planted: Planted) -> str:
    return cleandoc(planted.mutant.__doc__ or "").split("\n")[0].rstrip(".")


def _modules() -> Iterator[ModuleType]:
    folder = Path(__file__).parent
    for found in iter_modules([str(folder)]):
        if not found.name.startswith(("test_", "__")):
            module = import_module(f"{__package__}.{found.name}")
            if hasattr(module, "PLANTED"):
                yield module
