"""Exchange the directories of several shards for new ones, all or none.

The new ones are written beside the old ones, each as a whole. Then STATE/exchange.json names them;
from here on the old ones are out of use, and `finish` can be repeated until all are exchanged. No
shard is locked for anything else meanwhile, so nothing runs over a mixture of both.

STATE/shard-0000.next       the new directory, until it is exchanged
STATE/shard-0000.before-0   the old one, which holds original keys
STATE/exchange.json         there from the moment that the new ones count until all are exchanged
"""

from collections.abc import Iterable
from itertools import count
from pathlib import Path
from shutil import rmtree
from typing import Any

import orjson

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.state.directory import EXCHANGE, StateDirectory, exchanging
from fugu.dataflows.state.durable_file import replace_durably, sync_folder

_NEXT = ".next"


class Exchange:
    """Exchange directories inside a state directory."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def is_decided(self, command: str, about: str = "") -> bool:
        """Return whether the new directories count already that the command has written.

        Raises `StartRefused` if another command was cut short, or this one `about` something else.
        """
        begun = exchanging(self.root)
        if begun not in (None, command):
            raise StartRefused(
                f"{self.root}: {begun} was cut short. Run it once more; it completes what it began."
            )
        if begun is not None and self._content().get("about", "") != about:
            raise StartRefused(
                f"{self.root}: {begun} was cut short with other files. Run it with the files that "
                "it was begun with; it completes what it began."
            )
        return begun is not None

    def new(self, path: Path) -> StateDirectory:
        """Return an empty directory that is to take the place of `path`."""
        following = _following(path)
        if following.exists():
            rmtree(following)
        following.mkdir(mode=0o700)
        return StateDirectory(following)

    def waiting(self) -> list[StateDirectory]:
        """Return the new directories that count already and are not yet in their place."""
        paths = [_following(self.root / name) for name in self._names()["new"]]
        return [StateDirectory(path) for path in paths if path.exists()]

    def decide(
        self, old: Iterable[Path], new: Iterable[Path], command: str, about: str = ""
    ) -> None:
        """Make the new directories count instead of the old ones; no other one is put in place.

        The `command` has to `finish`, as often as it is cut short.
        """
        names = {"old": [path.name for path in old], "new": [path.name for path in new]}
        for following in self.root.glob(f"*{_NEXT}"):
            if following.name.removesuffix(_NEXT) not in names["new"]:
                rmtree(following)
        for name in names["new"]:
            sync_folder(_following(self.root / name))
        replace_durably(self._mark, orjson.dumps({**names, "command": command, "about": about}))

    def finish(self) -> None:
        """Put every new directory in its place and every old one aside."""
        names = self._names()
        for name in sorted({*names["old"], *names["new"]}):
            path = self.root / name
            following = _following(path)
            if name not in names["new"]:
                _put_aside(path)
            elif following.exists():
                _put_aside(path)
                following.rename(path)
        sync_folder(self.root)
        self._mark.unlink()
        sync_folder(self.root)

    def _names(self) -> dict[str, list[str]]:
        names: dict[str, list[str]] = self._content()
        return names

    def _content(self) -> Any:
        return orjson.loads(self._mark.read_bytes())

    @property
    def _mark(self) -> Path:
        return self.root / EXCHANGE


def _put_aside(path: Path) -> None:
    """Keep a state; what holds none makes room: a refused start has made it, or it is no shard."""
    if not path.exists():
        return
    if StateDirectory(path).is_empty:
        rmtree(path)
        return
    names = (path.with_name(f"{path.name}.before-{number}") for number in count())
    path.rename(next(name for name in names if not name.exists()))


def _following(path: Path) -> Path:
    return path.with_name(f"{path.name}{_NEXT}")
