"""Look at the internal topic into which records of a source are written by user."""

from dataclasses import replace

from fugu.dataflows.commands.checks import Checks
from fugu.dataflows.kafka.client import Client, Topic
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.pipeline.topics import by_user_problems

_KEY = "source.key.repartition"
_RETENTION = "retention.ms"


def check_by_user(pipeline: Pipeline, client: Client, source: Topic, checks: Checks) -> Topic:
    """Return the topic of records by user as it is, or as it would be created."""
    name = pipeline.read_topic
    by_user = client.topic(name)
    if by_user is None:
        if pipeline.sink.create:
            checks.passed(_KEY, f"{name} will be created with {source.partitions} partitions")
        return replace(source, name=name)
    for problem in by_user_problems(by_user):
        checks.failed(_KEY, problem)
    if is_kept_longer(by_user, source):
        checks.warned(
            _KEY,
            f"{name} keeps private records longer than {source.name} does: set {_RETENTION} of "
            "both to the same",
        )
    checks.passed(_KEY, f"{name}, {by_user.partitions} partitions, by user")
    return by_user


def is_kept_longer(by_user: Topic, source: Topic) -> bool:
    """Return whether private records stay in the internal topic when the source has none of them
    any more."""
    own, its = ((topic.settings or {}).get(_RETENTION) for topic in (by_user, source))
    if own is None or its is None or int(its) < 0:
        return False
    return int(own) < 0 or int(own) > int(its)
