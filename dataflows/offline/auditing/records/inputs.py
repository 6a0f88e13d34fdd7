"""Write records of a pipeline's source, from values as a mechanism counts them."""

from dataclasses import dataclass
from decimal import Decimal

import orjson

from fugu.dataflows.base.errors import CannotBeAudited
from fugu.dataflows.kinds import AlphabetOperator
from fugu.dataflows.kinds.families.ranges import RangeSection
from fugu.dataflows.pipeline.config import Pipeline, TimestampField


@dataclass(frozen=True)
class InputRecords:
    """Write the bytes of records: the index of a symbol, or a number of units, at a time."""

    pipeline: Pipeline

    def written(self, value: int, milliseconds: int, event: int) -> bytes:
        """Return a record, with its time and its event id where the pipeline file reads them."""
        source = self.pipeline.source
        record: dict[str, object] = {source.field: self._content(value)}
        if isinstance(source.timestamp, TimestampField):
            in_seconds = source.timestamp.format == "epoch-s"
            record[source.timestamp.field] = milliseconds // (1000 if in_seconds else 1)
        if source.dedupe is not None:
            record[source.dedupe.field] = event
        return orjson.dumps(record)

    def _content(self, value: int) -> object:
        match self.pipeline.operator:
            case AlphabetOperator() as section:
                return section.alphabet[value]
            case RangeSection() as section:
                return float(Decimal(value) * section.unit)
            case section:
                raise CannotBeAudited(
                    f"fugu audit does not know how to write records for kind {section.kind}. Read "
                    "fugu explain --json, which has its exact numbers"
                )
