"""Bring streams to where something changes: after a model is learned, and near a budget's end.

What comes before is run once, through the whole pipeline. Every run of an attack then begins with
a copy of that row, so that what is told apart is told by the releases that follow, to a reader who
knows all before. Neighbours differ in later records only.
"""

from dataclasses import replace

from fugu.dataflows.offline.auditing.audited import ROOT
from fugu.dataflows.offline.auditing.records.subject import Subject
from fugu.dataflows.offline.auditing.records.worlds import Start
from fugu.operators.budget import Budgeted, without_budget
from fugu.operators.budget_units import in_nats
from fugu.operators.mechanism import State
from fugu.operators.sip.cold_start import ColdStart
from fugu.operators.sip.markov_model import MarkovModel

MOST_RECORDS = 2**17
"""So many records are fed to reach a phase, and no more."""
_STAY = 8
"""A stream that is fed changes its value after so many records."""


class Past:
    """Feed one stream, and tell where it stands."""

    def __init__(self, fresh: Start) -> None:
        self._fresh = fresh
        self._running = fresh.opened(ROOT.derive("earlier"), 1)
        self.records = 0

    def feed(self, records: int) -> None:
        """Feed so many records; their values are made up."""
        inputs, content = self._fresh.subject.inputs, self._fresh.line.content
        fed = range(self.records, self.records + records)
        self._running.advance_one([content(inputs[n // _STAY % len(inputs)]) for n in fed])
        self.records += records

    def start(self, subject: Subject) -> Start:
        """Return what begins where the stream stands."""
        table = self._running.memory.table
        row = table.gather(table.rows_of(self._running.keys))
        return Start(self._fresh.line, subject, row, self.records)

    def own(self) -> State:
        """Return the columns of the mechanism."""
        row = self.start(self._fresh.subject).before or {}
        return {name: row[name] for name in self._fresh.line.mechanism.start(0)}


def after_the_first_tick(fresh: Start) -> Start:
    """Return streams after the tick of their first record, of which everybody sees that it came."""
    running, subject = fresh.opened(ROOT.derive("earlier"), 1), fresh.subject
    running.advance([fresh.line.content(int(subject.inputs[0]))])
    table = running.memory.table
    row = table.gather(table.rows_of(running.keys))
    own = {name: row[name] for name in fresh.line.mechanism.start(0)}
    begun = replace(subject, phase="after the first tick", start=own)
    return Start(fresh.line, begun, row, earlier=1)


def later_phases(fresh: Start, steps: int) -> tuple[list[Start], list[str]]:
    """Return the phases after the first, and what cannot be reached."""
    found, missed = list[Start](), list[str]()
    mechanism = fresh.line.mechanism
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


def _learned(fresh: Start, inside: ColdStart) -> Start | None:
    mechanism = fresh.line.mechanism
    nats = inside.positions * in_nats(inside.largest_charge)
    if inside.positions > MOST_RECORDS:
        return None
    if isinstance(mechanism, Budgeted) and mechanism.total <= nats:
        return None
    past = Past(fresh)
    past.feed(inside.positions)
    own = past.own()
    model = MarkovModel.smoothed(own["belief"][0], own["transition"][0], smoothing=0.0)
    epsilon, inputs = fresh.line.pipeline.operator.nats_per_release, fresh.subject.inputs
    subject = Subject.of(mechanism, epsilon, inputs, learned=model)
    return past.start(subject.after("after a model is learned", own))


def _near_the_end(fresh: Start, mechanism: Budgeted, steps: int) -> Start | None:
    """Feed while the budget surely pays for half of the `steps` after that."""
    past, records = Past(fresh), fresh.subject.records
    most = in_nats(mechanism.mechanism.largest_charge)
    while True:
        left = mechanism.total - in_nats(int(past.own()["spent"][0]))
        surely = int(left / most) - max(1, steps // 2)
        if surely <= 0:
            share = left / mechanism.total
            phase = "near the end of the budget"
            return past.start(fresh.subject.after(phase, past.own(), share))
        if past.records + surely * records > MOST_RECORDS:
            return None
        past.feed(surely * records)
