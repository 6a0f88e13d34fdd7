"""Look whether records of the newest schema of a source hold what a pipeline reads."""

from fugu.dataflows.commands.checks import Checks
from fugu.dataflows.kafka.schema_registry import RegistryUnavailable
from fugu.dataflows.records.json_fields import UnusableSchema
from fugu.dataflows.records.registered import Registered, subject_of


def check_schemas(topic: str, wire: Registered, checks: Checks) -> None:
    """Ask the registry for the subject that serializers use unless they are told otherwise."""
    subject, schemas = subject_of(topic), wire.schemas
    try:
        wire.prepare()
        found = schemas.newest(subject)
        if found is None:
            checks.warned(
                "source.format",
                f"the registry has no subject {subject}; each schema is looked at when a record "
                "comes that has it",
            )
            return
        wire.check(found)
    except RegistryUnavailable as error:
        checks.warned("source.format", f"{error}; records wait until it answers")
    except UnusableSchema as error:
        checks.failed("source.format", f"the newest schema of {subject} {error}")
    else:
        held = "is read" if wire.kind == "json_schema" else "can hold all fields"
        checks.passed("source.format", f"the newest schema of {subject} {held}")
