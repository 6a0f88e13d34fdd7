"""Keep with a state which claims of it are its own: STATE/shard-0000/lease.json.

Whoever has the file has the state. So it moves with the directory, and a copy has it only until
the original, or another copy, is started.
"""

from dataclasses import dataclass
from pathlib import Path

import orjson

from fugu.dataflows.base.errors import FuguError, StartRefused
from fugu.dataflows.state.durable_file import replace_durably

_FILE = "lease.json"
_FORMAT = 1


@dataclass(frozen=True)
class LeaseFile:
    """Hold the token of the claim that counts, and those that may have been sent since."""

    held: str = ""
    claiming: tuple[str, ...] = ()

    @property
    def tokens(self) -> set[str]:
        """Return all tokens that are this state's own."""
        return {self.held, *self.claiming} - {""}

    def write(self, directory: Path) -> None:
        """Replace the file of a state, durably."""
        path = directory / _FILE
        content = {"format": _FORMAT, "held": self.held, "claiming": self.claiming}
        try:
            replace_durably(path, orjson.dumps(content))
        except OSError as error:
            raise FuguError(
                f"{path} cannot be written ({error.strerror}). Make room or repair the disk, and "
                "start again."
            ) from None

    @classmethod
    def read(cls, directory: Path) -> "LeaseFile":
        """Return what the file of a state says; nothing if there is none."""
        path = directory / _FILE
        try:
            content = orjson.loads(path.read_bytes())
            return cls(str(content["held"]), tuple(map(str, content["claiming"])))
        except FileNotFoundError:
            return cls()
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise StartRefused(
                f"{path} is damaged. If no other copy of this state runs, delete the file and run "
                "fugu state claim PIPELINE."
            ) from None
