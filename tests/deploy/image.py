"""Name what the image is built from: lock files, and the scripts that build and run it."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
IMAGE = ROOT / "deploy" / "image"
LOCK = IMAGE / "requirements.txt"
TOOLS = IMAGE / "tools.txt"
EXTRAS = ("fast", "plan", "signed", "sip")
"""The extras of Fugu that the image holds."""


@dataclass(frozen=True)
class Pin:
    """Hold one package of a lock file: its version, where it counts, and how many hashes it has."""

    requirement: Requirement
    hashes: int

    @property
    def version(self) -> str:
        [specifier] = self.requirement.specifier
        return specifier.version if specifier.operator == "==" else ""


def pins(lock: Path) -> Iterator[Pin]:
    """List what a lock file pins."""
    lines = (line for line in lock.read_text().splitlines() if not line.startswith("#"))
    for entry in "\n".join(lines).replace("\\\n", "").splitlines():
        requirement, *hashes = entry.split(" --hash=")
        yield Pin(Requirement(requirement.strip()), len(hashes))


def asked_for() -> list[Requirement]:
    """List what `pyproject.toml` asks for, for the image."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [line for extra in EXTRAS for line in project["optional-dependencies"][extra]]
    return [Requirement(line) for line in project["dependencies"] + extras]


def tools() -> list[Requirement]:
    """List what `tools.in` asks for."""
    lines = (IMAGE / "tools.in").read_text().splitlines()
    return [Requirement(line) for line in lines if not line.startswith("#")]
