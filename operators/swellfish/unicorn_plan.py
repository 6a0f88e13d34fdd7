"""UnicornPlan: charges of coming ticks are chosen together, since calendars are public."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fugu.operators.columns import objects
from fugu.operators.mechanism import State
from fugu.operators.swellfish.interval_strategy import Books
from fugu.operators.swellfish.ledger import Ledgers
from fugu.operators.swellfish.plan import Plan, digest_of_changes
from fugu.operators.swellfish.planning import foreseen, planned_charges
from fugu.operators.swellfish.programme import require_solver
from fugu.operators.swellfish.unicorn_ps import UnicornPS
from fugu.operators.wevent.allocation import Offer


@dataclass(frozen=True, eq=False)
class UnicornPlan(UnicornPS):
    """Sample every tick with what a plan says, as far as all open relevance intervals allow it.

    Claim. Swellfish privacy, as for `PolicyStrategy`, whatever the plan says: a tick is charged no
    more than any open ledger has left, and a ledger never holds more than epsilon. A plan is made
    from policies and ledgers alone, which are public. Where there is none, or nothing in it, or
    policies have changed since, it does what `UnicornPS` does.

    `plan` looks at the coming 4,000 ticks, or at fewer where policies often change, asks for the
    least expected noise of them all, and says what the first half of them is to be charged
    (`planning`). It is solved in floating point, and another machine may find other last digits. So
    a plan is an input like a change of policies: whoever runs this remembers plans, and tells them
    again in a replay.

    Parameters: those of `PolicyStrategy`, as are input, release and errors; it also raises
    `ValueError` where SciPy is not installed. State: also `plan`, encoded.

    >>> from fugu.operators.swellfish.household import HOUSEHOLD
    >>> strategy = UnicornPlan(HOUSEHOLD, bins=1, epsilon=1.0)
    >>> plan = strategy.plan(strategy.start(1))
    >>> [round(Plan.decoded(plan).charge(tick) / strategy.units, 3) for tick in range(8)]
    [0.0, 0.667, 0.333, 0.333, 0.333, 0.333, 0.0, 1.0]
    >>> strategy.plan(strategy.after_plan(strategy.start(1), plan)) is None
    True

    Source: Swellfish specification, section 5.2, for the ledgers.
    """

    kind: ClassVar[str] = "unicorn_plan"
    claim: ClassVar[str] = (
        "the charges of an interval that can matter add up to epsilon at most, whatever is planned"
    )

    def __post_init__(self) -> None:
        require_solver()
        super().__post_init__()

    def start(self, rows: int) -> State:
        return {**super().start(rows), "plan": np.full(rows, b"", dtype=object)}

    def plan(self, state: State) -> bytes | None:
        """Return a plan for the next ticks, where all rows have the same policies and ledgers;
        None if the state has one."""
        columns = (state[name].tolist() for name in ("tick", "changes", "ledgers", "plan"))
        [(tick, changes, content, known)] = set(zip(*columns, strict=True))
        if known and Plan.decoded(known).holds(tick, changes):
            return None
        stretches = foreseen(self.timeline, changes, tick)
        opened = Ledgers.decoded([content]).opened(np.array([tick]), [stretches[0].value.spans])
        charges = planned_charges(stretches, opened, self.cap)
        lengths = [stretch.last - stretch.first + 1 for stretch in stretches]
        plan = Plan(tick, digest_of_changes(changes), tuple(lengths), tuple(charges))
        return plan.until(tick + (sum(lengths) + 1) // 2).encoded()

    def after_plan(self, state: State, plan: bytes) -> State:
        """Return every row with this plan, unless ticks of it are over, which have spent something
        else than it says; `ValueError` if it is none."""
        first = Plan.decoded(plan).first
        rows = zip(state["tick"].tolist(), state["plan"].tolist(), strict=True)
        return {**state, "plan": objects([plan if tick <= first else now for tick, now in rows])}

    def _offer(self, state: State, opened: Books) -> Offer:
        offer = super()._offer(state, opened)
        rows = zip(*(state[name].tolist() for name in ("tick", "changes", "plan")), strict=True)
        planned = np.array([_charge(*row) for row in rows], dtype=np.int64)
        ledgers = opened.ledgers
        headroom = ledgers.least(ledgers.headroom(self.cap))[opened.of_row]
        charge = np.where(planned > 0, np.minimum(planned, headroom), offer.publication)
        return Offer(offer.decision, charge, charge)

    def _settle(self, state: State, opened: Books, charged: Offer) -> State:
        return {**super()._settle(state, opened, charged), "plan": state["plan"].copy()}


def _charge(tick: int, changes: bytes, content: bytes) -> int:
    """Return what is planned for a tick; 0: nothing."""
    plan = Plan.decoded(content) if content else None
    return plan.charge(tick) if plan and plan.holds(tick, changes) else 0
