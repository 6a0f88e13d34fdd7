"""Bring streams to where something changes: after a model is learned, and near a budget's end.

What comes before is run once, through the whole pipeline. Every run of an attack then begins with
a copy of that row, so that what is told apart is told by the releases that follow, to a reader who
knows all before. Neighbours differ in later records only.
"""

from fugu.dataflows.offline.auditing.records.inputs import InputRecords
from fugu.dataflows.offline.auditing.records.subject import Subject
from fugu.dataflows.offline.auditing.records.worlds import ROOT, Running
from fugu.dataflows.offline.in_memory import InMemory
from fugu.operators.budget import Budgeted, without_budget
from fugu.operators.budget_units import in_nats
from fugu.operators.mechanism import State
from fugu.operators.sip.cold_start import ColdStart
from fugu.operators.sip.markov_model import MarkovModel

MOST_RECORDS = 2**17
"""So many records are fed to reach a phase, and no more."""
_AT_ONCE = 5_000
_STAY = 8
"""A stream that is fed changes its value after so many records."""
_KEY = b"0"


class Past:
    """Feed one stream, and tell where it stands."""

    def __init__(self, fresh: Running) -> None:
        self._fresh = fresh
        self._running: InMemory = fresh.begun(ROOT.derive("earlier"), [_KEY])
        self._written = InputRecords(fresh.pipeline).written
        self.records = 0

    def feed(self, records: int) -> None:
        """Feed so many records; their values are made up."""
        inputs = self._fresh.subject.inputs
        for first in range(self.records, self.records + records, _AT_ONCE):
            some = range(first, min(first + _AT_ONCE, self.records + records))
            times = [self._fresh.time(record) for record in some]
            values = [int(inputs[record // _STAY % len(inputs)]) for record in some]
            contents = map(self._written, values, times, some)
            self._running.feed([_KEY] * len(some), list(contents), times)
        self.records += records

    @property
    def row(self) -> State:
        """Return the row of the stream."""
        return self._running.table.gather(self._running.table.rows_of([_KEY]))

    def running(self, subject: Subject) -> Running:
        """Return what begins where the stream stands."""
        fresh = self._fresh
        return Running(fresh.pipeline, fresh.configured, subject, self.row, self.records)

    def own(self) -> State:
        """Return the columns of the mechanism."""
        mechanism, row = self._fresh.configured.mechanism, self.row
        return {name: row[name] for name in mechanism.start(0)}


def later_phases(fresh: Running, steps: int) -> tuple[list[Running], list[str]]:
    """Return the phases after the first, and what cannot be reached."""
    found, missed = list[Running](), list[str]()
    mechanism = fresh.configured.mechanism
    inside = without_budget(mechanism)
    if isinstance(inside, ColdStart):
        learned = _learned(fresh, inside)
        if learned is None:
            missed.append(
                f"releases after a model is learned, which takes {inside.positions:,} records; at "
                f"most {MOST_RECORDS:,} are fed, and no more than the budget pays for"
            )
        else:
            found.append(learned)
    if isinstance(mechanism, Budgeted):
        if mechanism.window is not None:
            missed.append(
                "a budget of a window that is used up, if so few releases do not use it up"
            )
        elif mechanism.total <= steps * in_nats(mechanism.mechanism.largest_charge):
            return found, missed
        else:
            near = _near_the_end(fresh, mechanism, steps)
            if near is None:
                missed.append(f"the end of the budget: {MOST_RECORDS:,} records do not use it up")
            else:
                found.append(near)
    return found, missed


def _learned(fresh: Running, inside: ColdStart) -> Running | None:
    mechanism = fresh.configured.mechanism
    nats = inside.positions * in_nats(inside.largest_charge)
    if inside.positions > MOST_RECORDS:
        return None
    if isinstance(mechanism, Budgeted) and mechanism.total <= nats:
        return None
    past = Past(fresh)
    past.feed(inside.positions)
    own = past.own()
    model = MarkovModel.smoothed(own["belief"][0], own["transition"][0], smoothing=0.0)
    epsilon, inputs = fresh.pipeline.operator.nats_per_release, fresh.subject.inputs
    subject = Subject.of(mechanism, epsilon, inputs, learned=model)
    return past.running(subject.after("after a model is learned", own))


def _near_the_end(fresh: Running, mechanism: Budgeted, steps: int) -> Running | None:
    """Feed while the budget surely pays for half of the `steps` after that."""
    past, records = Past(fresh), fresh.subject.records
    most = in_nats(mechanism.mechanism.largest_charge)
    while True:
        left = mechanism.total - in_nats(int(past.own()["spent"][0]))
        surely = int(left / most) - max(1, steps // 2)
        if surely <= 0:
            share = left / mechanism.total
            phase = "near the end of the budget"
            return past.running(fresh.subject.after(phase, past.own(), share))
        if past.records + surely * records > MOST_RECORDS:
            return None
        past.feed(surely * records)
