"""Run all pipelines of a folder, each in a process of its own: none harms another.

A pipeline that is refused is said and left, one that dies begins again; all others go on. SIGHUP
reads the folder again: files that are new begin, those that are gone stop gracefully, and those
that changed stop gracefully and go on with their new content, as after any restart. Until then a
process is given a copy of its file as it was, however often it begins.
"""

import logging
import signal
import sys
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from fugu.dataflows.base.errors import NO_RESTART_HELPS, ConfigurationError, FuguError
from fugu.dataflows.base.logs import LogFormat
from fugu.dataflows.flows.changed_file import require_going_on
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.run.child import Child
from fugu.dataflows.run.endpoint import Endpoint
from fugu.dataflows.run.stopping import GRACE_SECONDS, stop_on_signals
from fugu.dataflows.run.supervisor import stopped
from fugu.dataflows.state.durable_file import replace_durably

_LOOK_SECONDS = 0.1

log = logging.getLogger(__name__)


Command = Callable[[Path, int], list[str]]
"""Says how the pipeline of a file is run, by its number."""


@dataclass
class Tenant:
    """Run one pipeline file as it was read; what is wrong with it concerns nobody else."""

    path: Path
    content: bytes
    copy: Path
    name: str
    child: Child
    endpoint: Endpoint
    said: bool = field(default=False, init=False)

    def keep_running(self) -> None:
        """Look after its process, and say once that it is left.

        Its copy is written again where something has tidied it away.
        """
        with suppress(OSError):
            _keep(self.copy, self.content)
        self.child.keep_running()
        if self.child.is_hopeless and not self.said:
            self.said = True
            log.error(
                "%s does not run: see above. All others go on; correct %s and send SIGHUP",
                self.name,
                self.path,
            )


class Folder:
    """Hold the pipelines of a folder that run, by the paths of their files."""

    def __init__(self, folder: Path, command: Command) -> None:
        self.folder, self._command = folder, command
        self.tenants: dict[Path, Tenant] = {}
        self._numbers = count()
        try:
            self._copies = TemporaryDirectory(prefix="fugu-")
        except OSError as error:
            raise ConfigurationError(
                f"copies of pipeline files cannot be kept ({error.strerror}); set TMPDIR to a "
                "directory that can be written to"
            ) from None

    def reload(self) -> None:
        """Begin, change and stop pipelines as the files of now say.

        A file that cannot be read, or under which its state does not go on, changes nothing: its
        pipeline goes on as it was read before.
        """
        contents = self._contents()
        gone = [path for path in self.tenants if path not in contents]
        for path in gone:
            log.info("%s: its file is gone", self.tenants[path].name)
        beginning = self._beginning(contents)
        self._end([*gone, *(path for path in beginning if path in self.tenants)])
        for path, (file, copy) in beginning.items():
            self._begin(path, contents[path], file, copy)

    def _beginning(self, contents: Mapping[Path, bytes]) -> dict[Path, tuple[PipelineFile, Path]]:
        """Return the files to begin with, and their copies; say which cannot be run."""
        beginning = dict[Path, tuple[PipelineFile, Path]]()
        names = {path: one.name for path, one in self.tenants.items() if path in contents}
        for path, content in contents.items():
            known = self.tenants.get(path)
            if known is not None and known.content == content and not known.child.is_hopeless:
                continue
            try:
                file = PipelineFile.read(path, copy := self._copy_of(path, content))
                self._refuse_another_of(file, names)
                if known is not None:
                    require_going_on(file)
            except FuguError as error:
                runs_on = known is not None and not known.child.is_hopeless
                log.error("%s: %s%s", path.name, error, " It goes on as before." if runs_on else "")
                continue
            beginning[path], names[path] = (file, copy), file.pipeline.name
        return beginning

    def _contents(self) -> Mapping[Path, bytes]:
        found = dict[Path, bytes]()
        try:
            paths = sorted(path for path in self.folder.iterdir() if path.match("*.y*ml"))
        except OSError as error:
            log.error("%s cannot be read (%s); all go on as before", self.folder, error.strerror)
            paths = list(self.tenants)
        if self.tenants and not paths:
            log.error(
                "%s holds no pipeline file; all go on as before. To stop them, stop this process",
                self.folder,
            )
            paths = list(self.tenants)
        for path in paths:
            try:
                found[path] = path.read_bytes()
            except OSError as error:
                log.error("%s: cannot be read (%s)", path.name, error.strerror)
                if path in self.tenants:
                    found[path] = self.tenants[path].content
        return found

    @staticmethod
    def _refuse_another_of(file: PipelineFile, names: Mapping[Path, str]) -> None:
        """Refuse a name that another pipeline has: pseudonyms, noise and topics depend on it."""
        name = file.pipeline.name
        for path, other in names.items():
            if other == name and path != file.path:
                raise ConfigurationError(f"name: {name} is that of {path.name}; write another one.")

    def _copy_of(self, path: Path, content: bytes) -> Path:
        """Write what a file holds now to where it stays."""
        name = f"{blake2b(content, digest_size=8).hexdigest()}{path.suffix}"
        copy = Path(self._copies.name) / name
        try:
            _keep(copy, content)
        except OSError as error:
            raise ConfigurationError(
                f"no copy of it can be kept ({error.strerror}); make room in {copy.parent.parent}, "
                "and send SIGHUP."
            ) from None
        return copy

    def _begin(self, path: Path, content: bytes, file: PipelineFile, copy: Path) -> None:
        number = next(self._numbers)
        name = f"process {number} ({file.pipeline.name})"
        child = Child(name, [*self._command(path, number), "--as-read", str(copy)])
        try:
            endpoint = Endpoint(file, [child])
        except FuguError as error:
            log.error("%s: %s It does not run.", path.name, error)
            return
        self.tenants[path] = Tenant(path, content, copy, file.pipeline.name, child, endpoint)
        child.start()

    def _end(self, paths: Collection[Path]) -> None:
        """Stop pipelines together, which takes no longer than the slowest one."""
        ending = [self.tenants.pop(path) for path in paths]
        running = [tenant.name for tenant in ending if not tenant.child.has_ended()]
        if running:
            log.info(
                "stopping %s; what has not stopped within %g s is killed",
                ", ".join(running),
                GRACE_SECONDS,
            )
        stopped([tenant.child for tenant in ending])
        for tenant in ending:
            tenant.endpoint.close()

    def stop(self) -> list[str]:
        """Stop all gracefully; return the names of those that had no graceful end."""
        children = [tenant.child for tenant in self.tenants.values()]
        self._end([*self.tenants])
        self._copies.cleanup()
        return [child.name for child in children if not (child.is_graceful or child.is_hopeless)]


def _keep(copy: Path, content: bytes) -> None:
    """Write a copy, unless it is there; nobody ever reads a part of it."""
    if copy.exists():
        return
    copy.parent.mkdir(mode=0o700, exist_ok=True)
    replace_durably(copy, content)


def run_folder(folder: Path, log_format: LogFormat | None) -> int:
    """Run all pipelines of a folder until told to stop; return the exit code."""
    stop, again = stop_on_signals(), StopFlag()
    signal.signal(signal.SIGHUP, lambda *_: again.request())
    running = Folder(folder, lambda path, number: _command(path, number, log_format))
    running.reload()
    if not running.tenants:
        running.stop()
        log.error("%s holds no pipeline file (*.yaml) that can be run", folder)
        return NO_RESTART_HELPS
    while not stop.requested:
        time.sleep(_LOOK_SECONDS)
        if again.requested:
            again.requested = False
            log.info("SIGHUP: reading %s again", folder)
            running.reload()
        for tenant in running.tenants.values():
            tenant.keep_running()
    unsafe = running.stop()
    if unsafe:
        log.error("stopped; without a graceful end: %s", "; ".join(unsafe))
        return 1
    log.info("all pipelines have stopped")
    return 0


def _command(path: Path, number: int, log_format: LogFormat | None) -> list[str]:
    """Return the command of one pipeline. With -P, a folder of the user's that is called
    `dataflows` or `operators` is not imported."""
    command = [sys.executable, "-P", "-m", "fugu", "run", str(path)]
    command += [] if log_format is None else ["--log-format", log_format]
    return [*command, "--supervised-as", str(number)]
