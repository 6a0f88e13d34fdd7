"""Everything that one `make bench` measured, and where: data for `report`, and for machines."""

import os
import platform
import re
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median

import orjson

from bench.child import Measured
from bench.client_parts import ClientParts
from bench.kernel import StepCost
from bench.parts import Parts
from bench.path import Round

_LIBRARIES = ("kafka-python", "bytewax", "numpy", "orjson")


@dataclass(frozen=True)
class Settings:
    """What was asked for, and how busy the machine was already (load average of a minute)."""

    command: str
    records: int
    users: int
    partitions: int
    rounds: int
    load_before: float


@dataclass(frozen=True)
class Results:
    """`parts_of_run` is about the users of one partition of the run; `parts` about other counts."""

    settings: Settings
    path: list[Round]
    stock_client: ClientParts
    fugu_client: ClientParts
    parts_of_run: Parts
    parts: list[Parts]
    kernel: list[StepCost]

    @property
    def stock(self) -> Measured:
        """The stock loop, medians over the rounds."""
        return _medians([one.stock for one in self.path])

    @property
    def fugu(self) -> Measured:
        """`fugu run`, medians over the rounds."""
        return _medians([one.fugu for one in self.path])

    @property
    def ratio(self) -> float:
        """Records/s of `fugu run` for each record/s of the stock loop."""
        return self.fugu.records_per_second / self.stock.records_per_second

    def write(self, path: Path) -> None:
        """As JSON."""
        medians = {"stock": asdict(self.stock), "fugu": asdict(self.fugu), "ratio": self.ratio}
        document = {
            "measured": today(),
            "machine": machine(),
            "medians": medians,
            **asdict(self),
        }
        path.write_bytes(
            orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        )


def today() -> str:
    """When it was measured."""
    return datetime.now(UTC).strftime("%Y-%m-%d")


def machine() -> dict[str, str]:
    """What the figures depend on."""
    versions = {name: version(name) for name in _LIBRARIES}
    return {
        "processor": f"{os.cpu_count()} x {_processor()}",
        "system": platform.platform(),
        "Python": platform.python_version(),
        **versions,
    }


def _processor() -> str:
    found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    return found[1] if found else platform.machine()


def _medians(measured: list[Measured]) -> Measured:
    columns = [asdict(one) for one in measured]
    return Measured(**{name: median(one[name] for one in columns) for name in columns[0]})
