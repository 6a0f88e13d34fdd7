"""The wheels in environments of their own, beside packages that have general names."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path
from zipfile import ZipFile

import pytest

CHECKOUT = Path(__file__).parents[1]
SMALL = Path("deploy") / "analysis"
WITHOUT = ("bytewax", "kafka", "confluent_kafka", "typer", "rich", "prometheus_client")
"""The packages that the small distribution does not bring."""
LINES = (CHECKOUT / "README.md").read_text().split("## Reading what comes out")[1]
LINES = LINES.split("```py\n")[1].split("```")[0]
TOPIC = '"kafka://localhost:9092/vitals.sanitized"'
BUILD = "import sys; from setuptools import build_meta as b; getattr(b, sys.argv[1])(sys.argv[2])"


class Installed:
    """Somebody's project folder, and an environment that has nothing but the wheel.

    What Fugu depends on comes from the environment that runs the tests, except for numba, which
    would compile for half a minute.
    """

    def __init__(self, folder: Path, wheel: Path, without: Sequence[str] = ()) -> None:
        self.folder = folder / "project"
        environment = folder / "environment"
        venv.create(environment, with_pip=False)
        self._bin = environment / "bin"
        uv = str(Path(sys.executable).parent / "uv")
        python = str(self._bin / "python")
        run(
            uv,
            "pip",
            "install",
            "--offline",
            "--no-deps",
            "--python",
            python,
            str(wheel),
            cwd=folder,
        )
        [packages] = environment.glob("lib/python*/site-packages")
        lacking = f"import sys; sys.modules.update(dict.fromkeys({('numba', *without)}))"
        paths = f"{sysconfig.get_path('purelib')}\n{lacking}\n"
        (packages / "dependencies.pth").write_text(paths)
        for name in ("operators", "dataflows", "kafka"):
            package = self.folder / name
            package.mkdir(parents=True)
            (package / "__init__.py").write_text(f"open('imported', 'w').write('{name}')\n")

    def run(self, command: str, *arguments: str) -> str:
        """Run a command of the environment in the project folder."""
        return run(str(self._bin / command), *arguments, cwd=self.folder)


def run(*command: str, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(how: str, source: Path, to: Path) -> Path:
    run(sys.executable, "-c", BUILD, how, str(to), cwd=source)
    [built] = to.iterdir()
    return built


def copied_into_the_image() -> list[str]:
    lines = (CHECKOUT / "deploy" / "Dockerfile").read_text().splitlines()
    copied = [line.split()[1:-1] for line in lines if line.startswith("COPY ")]
    return [name for names in copied for name in names if not names[0].startswith("--from=")]


def names_in(wheel: Path) -> set[str]:
    with ZipFile(wheel) as archive:
        return set(archive.namelist())


def copy_of_sources(folder: Path) -> Path:
    """Copy what wheels and the image are built from, so that nothing is built in the checkout."""
    without = shutil.ignore_patterns("__pycache__")
    for name in (*copied_into_the_image(), str(SMALL)):
        if (CHECKOUT / name).is_dir():
            shutil.copytree(CHECKOUT / name, folder / name, symlinks=True, ignore=without)
        else:
            shutil.copy(CHECKOUT / name, folder)
    return folder


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of_sources(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("build_wheel", source, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def small_wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("build_wheel", source / SMALL, tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    installed = Installed(tmp_path_factory.mktemp("installed"), wheel)
    yield installed
    assert not (installed.folder / "imported").exists()


def test_a_wheel_holds_one_package_with_all_its_files(wheel: Path) -> None:
    names = names_in(wheel)
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"fugu"}
    for folder in ("operators", "dataflows"):
        for path in (CHECKOUT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert f"fugu/{path.relative_to(CHECKOUT)}" in names
    assert "fugu/py.typed" in names


def test_a_source_distribution_makes_the_same_wheel(
    source: Path, wheel: Path, tmp_path: Path
) -> None:
    (tmp_path / "sdist").mkdir()
    archive = build("build_sdist", source, tmp_path / "sdist")
    shutil.unpack_archive(archive, tmp_path / "unpacked", filter="data")
    [unpacked] = (tmp_path / "unpacked").iterdir()
    (tmp_path / "wheel").mkdir()
    assert names_in(build("build_wheel", unpacked, tmp_path / "wheel")) == names_in(wheel)


def test_an_image_is_built_from_what_a_wheel_needs() -> None:
    ignored = (CHECKOUT / "deploy" / "Dockerfile.dockerignore").read_text().splitlines()
    assert {line[1:] for line in ignored if line.startswith("!")} == set(copied_into_the_image())


def test_fugu_comes_from_the_wheel(installed: Installed) -> None:
    found = installed.run("python", "-c", "import fugu.operators; print(fugu.operators.__file__)")
    assert Path(found).is_relative_to(installed.folder.parent / "environment")


def test_the_demo_runs_and_the_lines_of_the_readme_read_what_it_keeps(
    installed: Installed, small_wheel: Path, tmp_path: Path
) -> None:
    said = installed.run("fugu", "demo", "--users", "60", "--records", "1000", "--to", "demo")
    assert "What is promised" in said
    assert "A few sanitized records" in said
    assert TOPIC in LINES
    lines = LINES.replace(TOPIC, repr(str(installed.folder / "demo")))
    read = installed.run("python", "-c", lines)
    assert "Sequence Information Privacy with epsilon 1 nats per release" in read
    assert "shares of zone, heart-zones (crr)" in read
    assert "60     1000" in read
    analyst = Installed(tmp_path, small_wheel, WITHOUT)
    assert analyst.run("python", "-c", lines) == read
    with pytest.raises(AssertionError, match="reading kafka:// needs a Kafka client: pip install"):
        analyst.run("python", "-c", LINES)
    with pytest.raises(AssertionError, match="which fugu-analysis does not bring"):
        analyst.run("python", "-P", "-m", "fugu")


def test_the_small_distribution_is_the_same_package_with_fewer_requirements(
    wheel: Path, small_wheel: Path
) -> None:
    for first, second in ((wheel, small_wheel), (small_wheel, wheel)):
        only = names_in(first) - names_in(second)
        assert {name for name in only if ".dist-info/" not in name} == set()
    whole, small = (
        tomllib.loads((CHECKOUT / folder / "pyproject.toml").read_text())["project"]
        for folder in (Path(), SMALL)
    )
    for name in ("version", "requires-python", "license"):
        assert small[name] == whole[name]
    extras = whole["optional-dependencies"]
    assert {*small["dependencies"], *small["optional-dependencies"]["kafka"]} <= {
        *whole["dependencies"],
        *extras["analysis"],
    }
    for extra in ("registry", "protobuf"):
        assert {*small["optional-dependencies"][extra]} <= {*extras[extra]}
    assert not any(one.startswith(("bytewax", "kafka")) for one in small["dependencies"])


def test_a_pipeline_file_is_checked_and_explained(
    installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FUGU_SECRET", 32 * "ab")
    demo = CHECKOUT / "dataflows" / "offline" / "demo"
    for name in ("heart-zones.yaml", "heart-zones.model.json"):
        shutil.copy(demo / name, installed.folder)
    assert "heart-zones" in installed.run("fugu", "validate", "heart-zones.yaml")
    explained = installed.run("python", "-P", "-m", "fugu", "explain", "heart-zones.yaml")
    assert "Sequence Information Privacy" in explained


def test_a_program_of_somebody_uses_it(installed: Installed) -> None:
    program = (
        "import fugu\n"
        "grr = fugu.mechanism('grr', symbols=4, epsilon=1.0)\n"
        "records = fugu.release(grr, [('ada', 2)], fugu.Secret(bytes(32)))\n"
        "print([key for key, release in records])\n"
    )
    assert installed.run("python", "-c", program) == "['ada']\n"
