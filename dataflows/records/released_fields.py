"""Name the fields that releases of a kind have, with their types.

They depend on how a kind releases, and on the name of the field alone: not on the alphabet, and not
on numbers of the law. So schemas stay the same where a pipeline changes those. A later version of
Fugu may add fields at the end that have defaults, which readers of before pass over.
"""

from dataclasses import dataclass

from fugu.dataflows.base.field_paths import released_name
from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.unusable_schema import UnusableSchema
from fugu.dataflows.records.values import Values

_ONE = "whether it says what an earlier release said"


@dataclass(frozen=True)
class Shown:
    """Describe a field of a release: its type in Avro, and whether it may be null or left out."""

    name: str
    type: str
    about: str
    many: bool = False
    null: bool = False
    default: bool | None = None


_REPEATED = Shown("repeated", "boolean", _ONE, default=False)
_CONFIDENCE = Shown("confidence", "double", "the probability that it is true, if known", null=True)
_SERIES = (
    Shown("value", "double", "the released number"),
    Shown("standard_error", "double", "the standard error of the value, if known", null=True),
    Shown("status", "string", "how the value came about"),
    Shown("predicted", "boolean", "whether it is predicted, and nothing was measured"),
    Shown("spent_rho", "double", "the budget that is spent"),
    Shown("remaining_rho", "double", "the budget that is left"),
    Shown("budget_exhausted", "boolean", "whether nothing is left to measure with"),
)


def shown_by(values: Values) -> tuple[Shown, ...]:
    """Return the fields of releases; `UnusableSchema` where they have none that are fixed."""
    form = values.released_as
    if form in ("payload", "figures", "person"):
        raise UnusableSchema(f"releases of this kind ({form}) have no fixed fields; leave it out")
    name, symbol = released_name(values.field), "string"
    if isinstance(values, Alphabet) and isinstance(next(iter(values.index)), int):
        symbol = "long"
        if not all(-(2**63) <= one < 2**63 for one in values.index if isinstance(one, int)):
            raise UnusableSchema("a symbol of the alphabet does not fit into 64 bits")
    shown: tuple[Shown, ...]
    several = Shown(name, symbol, "the released symbols", many=True)
    match form:
        case "symbol":
            shown = (Shown(name, symbol, "the released symbol"), _CONFIDENCE, _REPEATED)
        case "symbols":
            shown = (several, _CONFIDENCE, _REPEATED)
        case "set":
            shown = (several, _REPEATED)
        case "report":
            shown = (several, Shown("epsilon", "double", "the nats of this report"), _REPEATED)
        case "half":
            shown = (Shown(name, "long", "a row of the matrix, and a sign", many=True), _REPEATED)
        case "number":
            shown = (Shown(name, "double", "the released number"), _REPEATED)
        case _:
            shown = _SERIES
    if len({one.name for one in shown}) < len(shown):
        raise UnusableSchema(f"releases hold {name} already; give the field another name")
    return shown
