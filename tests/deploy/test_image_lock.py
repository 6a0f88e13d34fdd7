"""The lock files of the image pin what Fugu asks for, by hash; `deploy/image/lock` writes them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.deploy.image import IMAGE, LOCK, ROOT, TOOLS, Pin, asked_for, pins, tools

PYTHONS = ("3.11", "3.12")


@pytest.mark.parametrize("lock", [LOCK, TOOLS], ids=["requirements", "tools"])
def test_every_package_has_one_version_and_hashes(lock: Path) -> None:
    found = list(pins(lock))
    assert found
    assert [pin for pin in found if not pin.version or not pin.hashes] == []


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize(("lock", "asked"), [(LOCK, asked_for()), (TOOLS, tools())])
def test_the_lock_holds_what_is_asked_for(
    lock: Path, asked: list[Requirement], python: str
) -> None:
    there = {canonicalize_name(p.requirement.name): p for p in pins(lock) if counts(p, python)}
    for requirement in asked:
        pin = there.get(canonicalize_name(requirement.name))
        version = pin.version if pin else "none"
        assert version in requirement.specifier, f"{requirement}: run deploy/image/lock"


def counts(pin: Pin, python: str) -> bool:
    """Return whether a pin is for that Python on Linux."""
    marker = pin.requirement.marker
    environment = {"python_version": python, "python_full_version": f"{python}.0"}
    return marker is None or marker.evaluate(environment | {"sys_platform": "linux"})


@pytest.mark.acceptance
def test_locking_again_changes_nothing(tmp_path: Path) -> None:
    copy = tmp_path / "checkout"
    shutil.copytree(IMAGE, copy / "deploy" / "image")
    shutil.copy(ROOT / "pyproject.toml", copy)
    uv = os.environ | {"UV": str(Path(sys.executable).with_name("uv"))}
    subprocess.run([copy / "deploy" / "image" / "lock"], env=uv, check=True)
    for lock in (LOCK, TOOLS):
        written = (copy / "deploy" / "image" / lock.name).read_text()
        assert written == lock.read_text(), "run deploy/image/lock"
