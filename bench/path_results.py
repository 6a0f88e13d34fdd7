"""Everything that one measurement of the path gave: data for `path_report`, and for machines."""

from dataclasses import asdict, dataclass
from statistics import median

from bench.child import Measured
from bench.client_parts import ClientParts
from bench.parts import Parts
from bench.path import Round


@dataclass(frozen=True)
class Settings:
    """The options of a run, and the load of the machine before it (average of a minute)."""

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

    @property
    def document(self) -> dict[str, object]:
        """All of it, medians first."""
        medians = {"stock": asdict(self.stock), "fugu": asdict(self.fugu), "ratio": self.ratio}
        return {"medians": medians, **asdict(self)}


def _medians(measured: list[Measured]) -> Measured:
    columns = [asdict(one) for one in measured]
    return Measured(**{name: median(one[name] for one in columns) for name in columns[0]})
