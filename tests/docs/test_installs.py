"""Every hint to install something names what pip finds: a package that Fugu needs, or a place."""

import re
from importlib.metadata import requires
from pathlib import Path

import orjson
import pytest

from fugu.dataflows.base import install as installing
from fugu.dataflows.base.install import install

ROOT = Path(__file__).parents[2]
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "deploy").rglob("*.md"),
    *(ROOT / "examples").rglob("*.md"),
]
CODE = [*(ROOT / "dataflows").rglob("*.py"), *(ROOT / "operators").rglob("*.py")]
HINT = re.compile(r"(?<!bin/)pip install +(?!\{)([^`#\n\"),;]+)")
EXTRAS = ["accounting", "audit", "demo", "fast", "plan", "signed", "sip"]


def packages() -> set[str]:
    """Every package that Fugu names as a requirement of its own or of an extra."""
    names = (re.match(r"[\w-]+", requirement) for requirement in requires("fugu-streams") or [])
    return {name[0] for name in names if name} - {"fugu-streams"}


def hints(path: Path) -> list[str]:
    return [word for found in HINT.findall(path.read_text()) for word in found.split()]


def resolves(word: str) -> bool:
    name = word.strip("'").split(">=")[0].split("[")[0]
    return name in (".", "./deploy/analysis") or name in packages()


def test_the_hints_of_pages_and_of_code_resolve() -> None:
    found = {str(path.relative_to(ROOT)): hints(path) for path in [*PAGES, *CODE]}
    assert found["README.md"] == ["'.[fast]'", "./deploy/analysis"]
    assert {path: words for path, words in found.items() if not all(map(resolves, words))} == {}


def test_no_page_names_fugu_as_a_package_of_an_index() -> None:
    for path in [*PAGES, *CODE]:
        assert not re.search(r"install '?fugu-streams", path.read_text()), path


class Installation:
    """An installation with the requirements of this one, and a record of where it came from."""

    def __init__(self, origin: dict[str, object] | None) -> None:
        self.origin = origin

    def read_text(self, name: str) -> str | None:
        return None if self.origin is None else orjson.dumps(self.origin).decode()


def installed_from(monkeypatch: pytest.MonkeyPatch, origin: dict[str, object] | None) -> None:
    monkeypatch.setattr(installing, "distribution", lambda name: Installation(origin))


@pytest.mark.parametrize("extra", EXTRAS)
def test_without_a_place_the_packages_of_the_extra_are_named(
    extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed_from(monkeypatch, None)
    words = install(extra).split()
    assert words[:2] == ["pip", "install"]
    assert words[2:]
    assert all(map(resolves, words[2:]))


def test_the_packages_of_fast_are_these(monkeypatch: pytest.MonkeyPatch) -> None:
    installed_from(monkeypatch, None)
    assert install("fast") == install("demo") == "pip install confluent-kafka numba"
    assert install("signed") == "pip install 'cryptography>=41'"


def test_a_wheel_that_is_still_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = tmp_path / "fugu_streams-1-py3-none-any.whl"
    wheel.touch()
    installed_from(monkeypatch, {"url": wheel.as_uri(), "archive_info": {}})
    assert install("fast") == f"pip install 'fugu-streams[fast] @ {wheel.as_uri()}'"


def test_a_wheel_that_is_gone_is_not_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed_from(monkeypatch, {"url": (tmp_path / "gone.whl").as_uri(), "archive_info": {}})
    assert install("fast") == "pip install confluent-kafka numba"


def test_an_editable_checkout_stays_editable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed_from(monkeypatch, {"url": tmp_path.as_uri(), "dir_info": {"editable": True}})
    assert install("fast") == f"pip install --editable '{tmp_path}[fast]'"
