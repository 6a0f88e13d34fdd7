"""The lines of the README in fresh environments, with what an index has today.

`fugu demo --keep-open` runs in one; another reads its topic over Kafka with the extra `analysis`;
and one for each Python of this machine reads its files with the small distribution, which has
neither bytewax nor a Kafka client. Takes three minutes and an index to install from.
"""

import os
import re
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.test_wheel import LINES, SMALL, TOPIC, build, copy_of_sources, run

pytestmark = pytest.mark.acceptance
MINORS = (11, 12, 13, 14)
MORE = """
axes = topic.shares(by="1h").plot()
assert len(axes) == 4
assert {"user", "time", "value", "confidence", "kind", "release"} <= set(topic.records.column_names)
import sys
assert not {"bytewax", "kafka", "confluent_kafka"} & set(sys.modules)
"""


def pythons() -> dict[str, Path]:
    """Return the Pythons of this machine that Fugu supports, by their names."""
    folders = [Path(one) for one in os.environ["PATH"].split(os.pathsep)]
    made = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = {f"python3.{sys.version_info.minor}": Path(sys.executable)}
    for name in (f"python3.{minor}" for minor in MINORS):
        places = [*made.glob(f"*/bin/{name}"), *(folder / name for folder in folders)]
        works = [place for place in places if place.is_file() and _runs(place)]
        found |= {name: works[0]} if works and name not in found else {}
    return found


def _runs(python: Path) -> bool:
    return subprocess.run([python, "-c", "import venv"], capture_output=True).returncode == 0


@dataclass(frozen=True)
class Demo:
    """A demo whose broker is open: where its topic is, and the files it kept."""

    address: str
    files: Path


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of_sources(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("build_wheel", source, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def small(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("build_wheel", source / SMALL, tmp_path_factory.mktemp("small"))


def installed(folder: Path, requirement: str, python: Path = Path(sys.executable)) -> Path:
    """Return the programs of a fresh environment with this requirement from a wheel."""
    if python == Path(sys.executable):
        venv.create(folder, with_pip=True)
    else:
        run(str(python), "-m", "venv", str(folder), cwd=folder.parent)
    run(str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", requirement, cwd=folder)
    return folder / "bin"


@pytest.fixture(scope="module")
def demo(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    folder = tmp_path_factory.mktemp("demo")
    bin = installed(folder / "environment", f"{wheel}[analysis,demo]")
    said = folder / "said"
    command = [str(bin / "fugu"), "demo", "--users", "60", "--records", "1000", "--to", "kept"]
    with said.open("wb") as file:
        process = subprocess.Popen([*command, "--keep-open"], cwd=folder, stdout=file, stderr=file)
        try:
            deadline = time.monotonic() + 240
            while "Ctrl-C" not in said.read_text():
                assert process.poll() is None, said.read_text()
                assert time.monotonic() < deadline, said.read_text()
                time.sleep(0.5)
            [address] = re.findall(r"fugu\.read\((\"kafka://.*)\)\.shares", said.read_text())
            yield Demo(address, folder / "kept")
        finally:
            process.terminate()
            process.wait()


def test_the_lines_read_the_topic_of_the_demo_over_kafka(
    demo: Demo, wheel: Path, tmp_path: Path
) -> None:
    bin = installed(tmp_path / "environment", f"{wheel}[analysis]")
    read = run(str(bin / "python"), "-c", LINES.replace(TOPIC, demo.address), cwd=tmp_path)
    assert "Sequence Information Privacy with epsilon 1 nats per release" in read
    assert "60     1000" in read


@pytest.mark.parametrize("python", pythons())
def test_the_small_distribution_reads_files_on_every_python_that_is_here(
    python: str, demo: Demo, small: Path, tmp_path: Path
) -> None:
    bin = installed(tmp_path / "environment", str(small), pythons()[python])
    there = run(str(bin / "python"), "-m", "pip", "list", cwd=tmp_path)
    assert not re.search("bytewax|kafka", there)
    lines = LINES.replace(TOPIC, repr(str(demo.files))) + MORE
    read = run(str(bin / "python"), "-W", "error", "-c", lines, cwd=tmp_path)
    assert "Sequence Information Privacy with epsilon 1 nats per release" in read
    assert "60     1000" in read
