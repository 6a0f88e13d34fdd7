"""Hold what an audit found, as data."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from fugu.dataflows.offline.auditing.attacks import Effort, Finding
from fugu.dataflows.offline.auditing.exact import Exact

SURVIVED = "no attack exceeded its claim; this is evidence, not proof"


@dataclass(frozen=True, eq=False)
class Report:
    """Hold everything that an audit found about one pipeline."""

    pipeline: str
    mechanism: str
    law: str
    numbers: Mapping[str, object]
    sound: bool
    exact: Exact | None
    effort: Effort
    out_of_reach: float
    findings: Sequence[Finding]

    @property
    def broken(self) -> list[str]:
        """List the checks that failed, in words: the worst case, ledger, `step`, and attacks."""
        problems = []
        if self.exact is not None:
            worst = max(self.exact.worst, key=lambda case: case.leaked - case.claim)
            if worst.broken:
                problems.append(
                    f"{worst.notion}, {worst.about}, release 1 to {worst.releases}: exactly "
                    f"{worst.leaked:.4g} nats, where {worst.claim:.4g} are claimed"
                )
            if self.exact.ledger_covers is False:
                problems.append("on some path more is leaked than the ledger says")
            if not self.exact.step_agrees:
                problems.append("step does not do what the mechanism says about it")
        broken = [finding for finding in self.findings if finding.broken]
        if broken:
            surest = max(broken, key=lambda finding: finding.bound - finding.attack.claim)
            problems.append(
                f"{len(broken)} of {len(self.findings)} attacks proved more than is claimed, such "
                f"as {surest.attack.notion}, {surest.attack.name}: at least {surest.bound:.4g} "
                f"nats, where {surest.attack.claim:.4g} are claimed"
            )
        return problems

    @property
    def verdict(self) -> str:
        """Return the verdict in one line."""
        return f"CLAIM BROKEN: {'; '.join(self.broken)}" if self.broken else SURVIVED

    def document(self) -> dict[str, object]:
        """Return the same for a machine."""
        return {
            "pipeline": self.pipeline,
            "mechanism": self.mechanism,
            "law": self.law,
            "numbers": self.numbers,
            "sound": self.sound,
            "exact": None if self.exact is None else _exact_document(self.exact),
            "effort": asdict(self.effort),
            "out_of_reach": self.out_of_reach,
            "attacks": [_attack_document(finding) for finding in self.findings],
            "broken": self.broken,
            "verdict": self.verdict,
        }


def _exact_document(exact: Exact) -> dict[str, object]:
    return {
        "worst_cases": [{**asdict(case), "broken": case.broken} for case in exact.worst],
        "ledger_covers_every_path": exact.ledger_covers,
        "step": None if exact.step is None else {**asdict(exact.step), "states": exact.step_states},
    }


def _attack_document(finding: Finding) -> dict[str, object]:
    found = asdict(finding)
    return {**found.pop("attack"), **found, "broken": finding.broken}
