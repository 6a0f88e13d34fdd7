"""Pipelines of a folder: small processes in their place, without Kafka."""

import errno
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import orjson
import pytest

from fugu.dataflows.base.errors import NO_RESTART_HELPS, ConfigurationError
from fugu.dataflows.run.dealing import refuse_for_a_folder
from fugu.dataflows.run.folder import Folder, run_folder
from tests.dataflows.pipeline.pipeline_files import MODEL, PIPELINE

PATIENCE_SECONDS = 60
RUNS = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
open({mark!r}, "a").write("begun\\n")
time.sleep(600)
"""
MUTUAL = """
import signal, sys, time
from pathlib import Path
mark = Path({mark!r})

def end(*_):
    mark.with_suffix(".asked").touch()
    while len([*mark.parent.glob("mutual*.asked")]) < 2:
        time.sleep(0.01)
    sys.exit(0)

signal.signal(signal.SIGTERM, end)
mark.write_text("begun")
time.sleep(600)
"""
"""Ends once another one was asked to, too."""
REFUSED = "import sys; sys.exit(78)"


class Watched(Folder):
    """A folder whose pipelines are small processes; those called `refused...` are refused."""

    def __init__(self, folder: Path) -> None:
        (folder / "model.json").write_bytes(orjson.dumps(MODEL))
        super().__init__(folder, self._small)

    def _small(self, path: Path, _: int) -> list[str]:
        kind = path.stem.split("-")[0]
        script = {"refused": REFUSED, "mutual": MUTUAL}.get(kind, RUNS)
        return [sys.executable, "-c", script.format(mark=str(self.mark(path.stem)))]

    def mark(self, name: str) -> Path:
        return self.folder / f"{name}.begun"

    def begun(self, name: str) -> int:
        """Return how often a pipeline has begun."""
        mark = self.mark(name)
        return mark.read_text().count("begun") if mark.exists() else 0

    def put(self, name: str, epsilon: float = 1.0, *, called: str | None = None) -> None:
        text = PIPELINE.replace("name: heart-zones", f"name: {called or name}")
        (self.folder / f"{name}.yaml").write_text(text.replace("1.0", str(epsilon)))

    def until(self, reached: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not reached():
            for tenant in self.tenants.values():
                tenant.keep_running()
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def close(self) -> None:
        self.stop()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Watched]:
    with closing(Watched(tmp_path)) as folder:
        yield folder


def test_one_that_is_refused_leaves_others_alone(
    folder: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("one", "refused", "two"):
        folder.put(name)
    (folder.folder / "broken.yaml").write_text("name: [")
    folder.put("twin", called="one")
    folder.reload()
    refused = folder.tenants[folder.folder / "refused.yaml"]
    folder.until(lambda: folder.begun("one") + folder.begun("two") == 2 and refused.said)
    assert sorted(tenant.name for tenant in folder.tenants.values()) == ["one", "refused", "two"]
    assert caplog.text.count("refused does not run") == 1
    assert "broken.yaml" in caplog.text
    assert "name: one is that of one.yaml; write another one." in caplog.text
    assert folder.stop() == []


def test_reading_again_begins_changes_and_stops_what_the_files_say(folder: Watched) -> None:
    for name in ("changed", "gone", "same", "spoilt"):
        folder.put(name)
    folder.reload()
    folder.until(lambda: all(map(folder.begun, ("changed", "gone", "same", "spoilt"))))
    before = {tenant.name: tenant.child for tenant in folder.tenants.values()}
    folder.put("changed", 2.0)
    (folder.folder / "gone.yaml").unlink()
    (folder.folder / "spoilt.yaml").write_text("name: [")
    folder.put("new")
    folder.reload()
    folder.until(lambda: folder.begun("changed") == 2 and folder.begun("new") == 1)
    after = {tenant.name: tenant.child for tenant in folder.tenants.values()}
    assert after.keys() == {"changed", "new", "same", "spoilt"}
    assert before["gone"].has_ended()
    assert before["changed"].is_graceful
    assert (after["same"], after["spoilt"]) == (before["same"], before["spoilt"])
    assert (folder.begun("same"), folder.begun("spoilt")) == (1, 1)


def test_a_folder_that_is_not_there_for_a_while_stops_nobody(
    folder: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    """Try a volume that is not mounted, and an empty one in its place."""
    folder.put("one")
    folder.reload()
    folder.until(lambda: folder.begun("one") == 1)
    away = folder.folder.with_name("away")
    folder.folder.rename(away)
    folder.reload()
    assert "cannot be read (No such file or directory); all go on as before" in caplog.text
    folder.folder.mkdir()
    folder.reload()
    assert "holds no pipeline file; all go on as before" in caplog.text
    [tenant] = folder.tenants.values()
    assert not tenant.child.has_ended()
    folder.folder.rmdir()
    away.rename(folder.folder)


def test_those_that_change_or_go_are_stopped_together_and_the_log_says_for_how_long(
    folder: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("mutual-changed", "mutual-gone", "same"):
        folder.put(name)
    folder.reload()
    folder.until(lambda: all(map(folder.begun, ("mutual-changed", "mutual-gone", "same"))))
    before = {tenant.name: tenant.child for tenant in folder.tenants.values()}
    folder.put("mutual-changed", 2.0)
    (folder.folder / "mutual-gone.yaml").unlink()
    with caplog.at_level("INFO"):
        folder.reload()
    said = "stopping mutual-gone, mutual-changed; what has not stopped within 25 s is killed"
    assert said in caplog.text
    assert "is killed" not in caplog.text.replace(said, "")
    assert before["mutual-changed"].is_graceful
    assert sorted(tenant.name for tenant in folder.tenants.values()) == ["mutual-changed", "same"]


@pytest.fixture
def own_signals() -> Iterator[None]:
    """Handlers of signals that are given back."""
    handlers = {
        one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    }
    yield
    for one, handler in handlers.items():
        signal.signal(one, handler)


@pytest.mark.usefixtures("own_signals")
def test_a_folder_without_pipelines_ends_with_78(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert run_folder(tmp_path, None) == NO_RESTART_HELPS
    assert "holds no pipeline file" in caplog.text


def test_options_of_one_pipeline_are_refused() -> None:
    refuse_for_a_folder(shard=False, finish=False, processes=False)
    with pytest.raises(ConfigurationError, match="--finish: a folder is run whole"):
        refuse_for_a_folder(shard=False, finish=True, processes=False)


def test_a_copy_that_was_tidied_away_is_written_again(tmp_path: Path) -> None:
    with closing(Watched(tmp_path)) as folder:
        folder.put("steady")
        folder.reload()
        [tenant] = folder.tenants.values()
        shutil.rmtree(tenant.copy.parent)
        tenant.keep_running()
        assert tenant.copy.read_bytes() == tenant.content


def test_a_copy_that_cannot_be_kept_stops_no_pipeline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with closing(Watched(tmp_path)) as folder:
        folder.put("steady")
        folder.reload()
        folder.until(lambda: folder.begun("steady") == 1)
        folder.put("steady", epsilon=2.0)
        with monkeypatch.context() as patched:
            patched.setattr("fugu.dataflows.run.folder.replace_durably", full)
            folder.reload()
        assert "no copy of it can be kept (No space left on device)" in caplog.text
        assert "It goes on as before." in caplog.text
        [tenant] = folder.tenants.values()
        assert not tenant.child.is_hopeless
