"""Hold what an audit found, as data."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields

from fugu.dataflows.offline.auditing.attacks import Effort, Finding
from fugu.dataflows.offline.auditing.audited import Audited

_NEVER_REACHED = (
    "pseudonyms, release ids, dead letters and the ledger, in any audit; Kafka and bytewax take no "
    "part"
)
SURVIVED = "no attack exceeded its claim; this is evidence, not proof"


@dataclass(frozen=True, eq=False)
class Report:
    """Hold everything that an audit found about one pipeline."""

    pipeline: str
    mechanism: str
    law: str
    numbers: Mapping[str, object]
    audited: Audited
    effort: Effort
    out_of_reach: float
    findings: Sequence[Finding]

    @property
    def broken(self) -> list[str]:
        """List what failed, in words: the worst case, checks, and attacks."""
        problems = []
        cases = [case for case in self.audited.worst if case.broken]
        if cases:
            worst = max(cases, key=lambda case: case.leaked - case.claim)
            problems.append(
                f"{worst.notion}, {worst.about}, {worst.extent}: exactly {worst.leaked:.4g} nats, "
                f"where {worst.claim:.4g} are claimed"
            )
        problems += [f"not so: {one.about}" for one in self.audited.checks if not one.passed]
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
    def not_reached(self) -> tuple[str, ...]:
        """Return what no worst case, check or attack looked at."""
        return (*self.audited.not_reached, _NEVER_REACHED)

    @property
    def verdict(self) -> str:
        """Return the verdict in one line."""
        return f"CLAIM BROKEN: {'; '.join(self.broken)}" if self.broken else SURVIVED

    def document(self) -> dict[str, object]:
        """Return the same for a machine."""
        return {
            "pipeline": self.pipeline,
            "status": "broken" if self.broken else "survived",
            "mechanism": self.mechanism,
            "law": self.law,
            "numbers": self.numbers,
            "sound": self.audited.sound,
            "worst_cases": [{**asdict(case), "broken": case.broken} for case in self.audited.worst],
            "checks": [asdict(check) for check in self.audited.checks],
            "not_reached": list(self.not_reached),
            "effort": asdict(self.effort),
            "out_of_reach": self.out_of_reach,
            "attacks": [_attack_document(finding) for finding in self.findings],
            "broken": self.broken,
            "verdict": self.verdict,
        }


def _attack_document(finding: Finding) -> dict[str, object]:
    attack = finding.attack
    found = {field.name: getattr(finding, field.name) for field in fields(finding)[1:]}
    about = {name: getattr(attack, name) for name in ("notion", "name", "claim", "delta")}
    return {**about, **found, "broken": finding.broken}
