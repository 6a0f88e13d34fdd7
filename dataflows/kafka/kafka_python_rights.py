"""Ask Kafka who may do what to a topic."""

from collections import defaultdict

from kafka import KafkaAdminClient
from kafka.admin import (
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePatternFilter,
    ResourceType,
)
from kafka.errors import KafkaError, SecurityDisabledError

from fugu.dataflows.kafka.client import EVERYBODY, Rights


def rights_of(admin: KafkaAdminClient, topic: str) -> Rights | None:
    """Return who may do what to a topic; None where Kafka does not tell."""
    every = ResourcePatternFilter(ResourceType.TOPIC, topic, ACLResourcePatternType.MATCH)
    asked = ACLFilter(None, None, ACLOperation.ANY, ACLPermissionType.ANY, every)
    try:
        rules, _ = admin.describe_acls(asked)
    except SecurityDisabledError:
        return Rights({"ALL": frozenset({EVERYBODY})})
    except KafkaError:
        return None
    allowed = defaultdict[str, set[str]](set)
    for rule in rules:
        if rule.permission_type is ACLPermissionType.ALLOW:
            allowed[rule.operation.name].add(rule.principal)
    return Rights({name: frozenset(found) for name, found in allowed.items()}, bool(rules))
