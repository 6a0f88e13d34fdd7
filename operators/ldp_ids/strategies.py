"""Count users by their own reports: seven rules about whom to ask, and with which budget."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fugu.operators.ldp_ids.collector import Collector
from fugu.operators.ldp_ids.deciding import BudgetDivision, PopulationDivision
from fugu.operators.ldp_ids.reporting import (
    EVERYBODY,
    NOTHING,
    Instruction,
    Reporting,
    SharedBudget,
    SharedPopulation,
)
from fugu.operators.mechanism import Integers, State
from fugu.operators.wevent import allocation


@dataclass(frozen=True, eq=False)
class CollectedUniform(Collector):
    """Count users at every tick, each of whom reports with epsilon / window.

    This is LDP budget uniform (LBU).

    Claim. As for `Collector`: a window has `window` reports of a user, with an equal part each.

    Parameters: `symbols`, `window`, `epsilon` and `oracle`, as there; so are input, release and
    errors.

    >>> from fugu.operators.single_stream import released
    >>> lbu = CollectedUniform(symbols=2, window=2, epsilon=4.0)
    >>> [tick] = released(lbu, [[100, 0, 100, 0, 0, 66, 33]])
    >>> tick.values.round(1).tolist(), tick.annotations["standard_error"].round(1).tolist()
    ([[84.6, 13.2]], [9.6])

    Source: PBA specification, section 4 (LBU); Ren et al. 2022.
    """

    kind: ClassVar[str] = "lbu"
    claim: ClassVar[str] = "a user reports at every tick, with an equal part of epsilon"

    @property
    def reporting(self) -> Reporting:
        return SharedBudget(
            self.symbols, self.window, self.units, 0, self.oracle, fixed=self._at_a_tick
        )

    def _at_a_tick(self, tick: int) -> Instruction:
        return Instruction(self.first_units)

    def _published_with(self, state: State) -> Integers:
        return np.full(len(state["budget"]), self.first_units)

    @property
    def first_units(self) -> int:
        return self.units // self.window


@dataclass(frozen=True, eq=False)
class CollectedSample(Collector):
    """Count users at ticks whose number is a multiple of the window, and repeat in between.

    This is LDP sampling (LSP).

    Claim. As for `Collector`: a window has one report of a user, with all of epsilon.

    Parameters: `symbols`, `window`, `epsilon` and `oracle`, as there; so are input, release and
    errors.

    >>> from fugu.operators.single_stream import released
    >>> lsp = CollectedSample(symbols=2, window=2, epsilon=4.0)
    >>> first, second = released(lsp, [[100, 0, 100, 0, 0, 80, 20], [90, 0, 0, 0, 0, 0, 0]])
    >>> first.values.round(1).tolist(), second.values.round(1).tolist()
    ([[89.4, 10.6]], [[89.4, 10.6]])

    Source: PBA specification, section 4 (LSP); Ren et al. 2022.
    """

    kind: ClassVar[str] = "lsp"
    claim: ClassVar[str] = "a user reports at one tick of every window, with all of epsilon"

    @property
    def reporting(self) -> Reporting:
        return SharedBudget(
            self.symbols, self.window, self.units, 0, self.oracle, fixed=self._at_a_tick
        )

    def _at_a_tick(self, tick: int) -> Instruction:
        return NOTHING if tick % self.window else Instruction(self.units)

    def _published_with(self, state: State) -> Integers:
        return np.full(len(state["budget"]), self.units)

    @property
    def first_units(self) -> int:
        return self.units


@dataclass(frozen=True, eq=False)
class CollectedPopulationUniform(Collector):
    """Count users at every tick by one of `window` groups, which reports once in a window.

    This is LDP population uniform (LPU).

    Claim. As for `Collector`: a window has one report of a user, with all of epsilon.

    Parameters: `symbols`, `window`, `epsilon` and `oracle`, as there; so are input, release and
    errors.

    >>> from fugu.operators.single_stream import released
    >>> lpu = CollectedPopulationUniform(symbols=2, window=2, epsilon=4.0)
    >>> [tick] = released(lpu, [[100, 0, 50, 0, 0, 40, 10]])
    >>> tick.values.round(1).tolist()
    [[89.4, 10.6]]

    Source: PBA specification, section 4 (LPU); Ren et al. 2022.
    """

    kind: ClassVar[str] = "lpu"
    claim: ClassVar[str] = "a user reports once in any window, with all of epsilon"

    @property
    def reporting(self) -> Reporting:
        return SharedPopulation(
            self.symbols, self.window, self.units, 0, self.oracle, fixed=self._at_a_tick
        )

    def _at_a_tick(self, tick: int) -> Instruction:
        group = EVERYBODY // self.window
        return Instruction(group, tick % self.window * group)

    def _published_with(self, state: State) -> Integers:
        return np.full(len(state["budget"]), self.units)

    @property
    def first_units(self) -> int:
        return self.units

    @property
    def first_share(self) -> float:
        return 1.0 / self.window

    def _more(self) -> Mapping[str, object]:
        return {"share of users who report at a tick": self.first_share}


@dataclass(frozen=True, eq=False)
class CollectedBudgetDistribution(BudgetDivision):
    """Count users by reports with half of what the publications of a window have left.

    This is LDP budget distribution (LBD).

    Claim. As for `Collector`: half of epsilon is spread evenly over decisions, and a publication
    takes half of what those of the window have left of the other half.

    Parameters: `symbols`, `window`, `epsilon` and `oracle`, as there. Input, release and errors
    are those of `Collector`, decisions and state those of `DecidingCollector`.

    >>> from fugu.operators.single_stream import released
    >>> lbd = CollectedBudgetDistribution(symbols=2, window=2, epsilon=8.0)
    >>> far, near = [1000, 1000, 0, 850, 150, 0, 0], [1000, 1000, 1000, 850, 150, 850, 150]
    >>> ticks = released(lbd, [far, near, near])
    >>> [tick.annotations["published"].tolist() for tick in ticks]
    [[False], [True], [False]]

    Source: PBA specification, section 4 (LBD); Ren et al. 2022.
    """

    kind: ClassVar[str] = "lbd"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.BudgetDistribution
    claim: ClassVar[str] = (
        "a user reports at every tick for decisions, with half of epsilon in a window, and for "
        "publications with half of what those of the window have left of the other half"
    )


@dataclass(frozen=True, eq=False)
class CollectedBudgetAbsorption(BudgetDivision):
    """Count users by reports with the parts of skipped ticks, after which as many stay silent.

    This is LDP budget absorption (LBA).

    Claim. As for `Collector`: half of epsilon is spread evenly over decisions, and a publication
    takes the parts of its own tick and of skipped ones, which silent ticks pay back.

    Parameters: `symbols`, `window`, `epsilon` and `oracle`, as there. Input, release and errors
    are those of `Collector`, decisions and state those of `DecidingCollector`.

    >>> from fugu.operators.single_stream import released
    >>> lba = CollectedBudgetAbsorption(symbols=2, window=2, epsilon=8.0)
    >>> far, near = [1000, 1000, 0, 850, 150, 0, 0], [1000, 1000, 1000, 850, 150, 850, 150]
    >>> ticks = released(lba, [far, near, near])
    >>> [tick.annotations["published"].tolist() for tick in ticks]
    [[False], [True], [False]]

    Source: PBA specification, section 4 (LBA); Ren et al. 2022.
    """

    kind: ClassVar[str] = "lba"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.BudgetAbsorption
    claim: ClassVar[str] = (
        "a user reports at every tick for decisions, with half of epsilon in a window, and for "
        "publications with the parts of their own ticks and of skipped ones, which silent ticks "
        "pay back"
    )


@dataclass(frozen=True, eq=False)
class CollectedPopulationDistribution(PopulationDivision):
    """Count users by reports of half of those whom the publications of a window have left.

    This is LDP population distribution (LPD).

    Claim. As for `Collector`: a user reports once in any window, with all of epsilon.

    Parameters: `symbols`, `window`, `epsilon` and `oracle`, as there. Input, release and errors
    are those of `Collector`, decisions and state those of `DecidingCollector`.

    >>> from fugu.operators.single_stream import released
    >>> lpd = CollectedPopulationDistribution(symbols=2, window=2, epsilon=4.0)
    >>> far, near = [1000, 250, 0, 225, 25, 0, 0], [1000, 250, 250, 200, 50, 200, 50]
    >>> ticks = released(lpd, [far, near, near])
    >>> [tick.annotations["published"].tolist() for tick in ticks]
    [[False], [True], [False]]

    Source: PBA specification, section 4 (LPD); Ren et al. 2022.
    """

    kind: ClassVar[str] = "lpd"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.BudgetDistribution
    claim: ClassVar[str] = (
        "a user reports once in any window, for a decision or a publication, with all of epsilon"
    )


@dataclass(frozen=True, eq=False)
class CollectedPopulationAbsorption(PopulationDivision):
    """Count users by reports of those of skipped ticks, after which as many ticks stay silent.

    This is LDP population absorption (LPA).

    Claim. As for `Collector`: a user reports once in any window, with all of epsilon.

    Parameters: `symbols`, `window`, `epsilon` and `oracle`, as there. Input, release and errors
    are those of `Collector`, decisions and state those of `DecidingCollector`.

    >>> from fugu.operators.single_stream import released
    >>> lpa = CollectedPopulationAbsorption(symbols=2, window=2, epsilon=4.0)
    >>> far, near = [1000, 250, 0, 225, 25, 0, 0], [1000, 250, 250, 200, 50, 200, 50]
    >>> ticks = released(lpa, [far, near, near])
    >>> [tick.annotations["published"].tolist() for tick in ticks]
    [[False], [True], [False]]

    Source: PBA specification, section 4 (LPA); Ren et al. 2022.
    """

    kind: ClassVar[str] = "lpa"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.BudgetAbsorption
    claim: ClassVar[str] = (
        "a user reports once in any window, for a decision or a publication, with all of epsilon"
    )
