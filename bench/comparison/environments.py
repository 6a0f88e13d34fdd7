"""An environment for each contestant: `.venv-peers/NAME`, as its requirements say."""

import os
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from xml.etree import ElementTree

import orjson

from bench.child import ROOT

PEERS = ROOT / "bench" / "peers"
_OF_FUGU = ("confluent-kafka", "kafka-python", "bytewax", "numpy", "numba", "orjson")
_ENVIRONMENTS = ROOT / ".venv-peers"


class NotInstalled(RuntimeError):
    """A contestant cannot be had; the text is the reason in one line."""


def environment(name: str, say: Callable[[str], None]) -> Path:
    """The Python of a contestant's environment, which is made if it is not there as it should."""
    folder, recipe = _ENVIRONMENTS / name, PEERS / name
    python, stamp = folder / "bin" / "python", folder / "installed"
    expected = _digest(recipe)
    if stamp.exists() and stamp.read_text() == expected:
        return python
    if not (recipe / "requirements.txt").exists():
        raise NotInstalled(f"bench/peers/{name}/requirements.txt is missing")
    say(f"{name}: making .venv-peers/{name} (once; this can take minutes)")
    _run([sys.executable, "-m", "venv", "--clear", str(folder)])
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    _run([*pip, "--requirement", str(recipe / "requirements.txt")])
    if os.access(recipe / "prepare", os.X_OK):
        say(f"{name}: bench/peers/{name}/prepare")
        _run([str(recipe / "prepare"), str(folder)], recipe)
    stamp.write_text(expected)
    return python


def versions(name: str, python: Path) -> dict[str, str]:
    """Return versions of what its requirements and its pom.xml pin; of Fugu, what it stands on."""
    listed = subprocess.run(
        [python, "-m", "pip", "--disable-pip-version-check", "list", "--format", "json"],
        capture_output=True,
        check=True,
    )
    found = {one["name"].lower(): one["version"] for one in orjson.loads(listed.stdout)}
    wanted = (PEERS / name / "requirements.txt").read_text().split()
    names = [word.split("==")[0].split("[")[0].lower() for word in wanted if "==" in word]
    names = names or list(_OF_FUGU)
    return {name: found[name] for name in names if name in found} | versions_of_maven(name)


def versions_of_maven(name: str) -> dict[str, str]:
    """Versions of the Java libraries that pom.xml names, which is what Maven fetched."""
    pom = PEERS / name / "pom.xml"
    if not pom.exists():
        return {}
    maven = "{http://maven.apache.org/POM/4.0.0}"
    return {
        one.findtext(f"{maven}artifactId", ""): one.findtext(f"{maven}version", "")
        for one in ElementTree.parse(pom).iter(f"{maven}dependency")
    }


def _digest(recipe: Path) -> str:
    """Changes when the environment must be made anew."""
    content = sys.version.encode()
    parts = [recipe / name for name in ("requirements.txt", "prepare", "pom.xml")]
    if java := sorted(recipe.glob("*.java")):
        parts += [*java, *sorted((PEERS / "java").iterdir())]
    for part in parts:
        if part.exists():
            content += part.read_bytes()
    if recipe.name.startswith("fugu"):
        content += (ROOT / "pyproject.toml").read_bytes()
    return sha256(content).hexdigest()


def _run(command: list[str], folder: Path = ROOT) -> None:
    done = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        telling = [line for line in lines if "error" in line.lower()] or lines or ["no reason"]
        raise NotInstalled(telling[-1].strip()[:200])
