"""Ticks of event time, at each of which every stream reports, whether it is there or not."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ReportTicks:
    """Say how long a tick is, and whether records of streams move stream time.

    Where they do, they decide which ticks close when, so that their presence can show in what
    becomes of other records. Where heartbeats alone do, a record shows in its own tick only.
    `seconds_refused` says whether a second record of a stream in a tick is refused, which shows.
    """

    milliseconds: int
    moved_by_streams: bool = True
    seconds_refused: bool = False

    def __post_init__(self) -> None:
        if self.milliseconds < 1:
            raise ValueError(f"ticks: must be at least 1 ms long, not {self.milliseconds}")
