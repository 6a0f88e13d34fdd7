"""`fugu validate --kafka` looks whether the newest schema of a source holds what is read."""

from dataclasses import dataclass

import pytest

from fugu.dataflows.commands.checks import Checks
from fugu.dataflows.commands.validate_schemas import check_schemas
from fugu.dataflows.kafka.schema_registry import RegistryUnavailable
from fugu.dataflows.records.registered import Registered, SchemaKind, SchemaText

AVRO = '{"type": "record", "name": "R", "fields": [{"name": "zone", "type": "string"}]}'
PROTO = 'syntax = "proto3"; message R { string zone = 1; } message Other { string gone = 1; }'


@dataclass
class Newest:
    """A registry of one subject."""

    found: SchemaText | None
    url: str = ""
    away_since: float | None = None
    away_because: str = ""
    away: bool = False

    def prepare(self) -> None:
        """Nothing."""

    def are_there(self, _: object) -> bool:
        return True

    def text_of(self, number: int) -> SchemaText | None:
        return None

    def newest(self, subject: str) -> SchemaText | None:
        assert subject == "vitals.raw-value"
        if self.away:
            raise RegistryUnavailable(self.url, "it does not answer")
        return self.found


@pytest.mark.parametrize(
    ("kind", "found", "result", "text"),
    [
        ("avro", SchemaText("AVRO", AVRO), "ok", "can hold all fields"),
        ("avro", SchemaText("AVRO", AVRO.replace("zone", "gone")), "failed", "has no zone"),
        ("avro", SchemaText("JSON", "{}"), "failed", "is of kind JSON"),
        ("json_schema", SchemaText("JSON", "{}"), "ok", "is read"),
        ("protobuf", SchemaText("PROTOBUF", PROTO), "ok", "can hold all fields"),
        ("protobuf", SchemaText("PROTOBUF", PROTO.replace("zone", "x")), "failed", "has no zone"),
        ("protobuf", SchemaText("PROTOBUF", "gone"), "failed", "is no schema"),
        ("protobuf", None, "warning", "has no subject vitals.raw-value"),
    ],
)
def test_the_newest_schema_is_looked_at(
    kind: SchemaKind, found: SchemaText | None, result: str, text: str
) -> None:
    checks = Checks()
    check_schemas("vitals.raw", Registered(kind, Newest(found), ["zone"]), checks)
    [(_, said, detail)] = checks.results
    assert said == result
    assert text in detail


def test_a_registry_that_is_away_is_a_warning() -> None:
    checks = Checks()
    check_schemas("vitals.raw", Registered("avro", Newest(None, away=True), ["zone"]), checks)
    assert [said for _, said, _ in checks.results] == ["warning"]
