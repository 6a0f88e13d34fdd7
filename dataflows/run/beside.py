"""Write records of a source by user, beside the dataflows that read them."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Thread
from typing import cast

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.copies.by_user import ByUser
from fugu.dataflows.copies.forwarding import Forwarder
from fugu.dataflows.flows.partitions import PartitionsPlan
from fugu.dataflows.flows.plan import Plan
from fugu.dataflows.kafka.client import CopyClient
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.run.causes import cause
from fugu.dataflows.state.same_topics import SameTopics

_END_SECONDS = 30.0

log = logging.getLogger(__name__)


@contextmanager
def written_by_user(file: PipelineFile, plans: Sequence[Plan], name: str) -> Iterator[None]:
    """Write by user until the end of the context, where the pipeline file says so.

    What ends the writing ends the pipeline, and is raised once that has stopped.
    """
    plan = next((one for one in plans if isinstance(one, PartitionsPlan)), None)
    source = file.pipeline.source
    if plan is None or not source.is_repartitioned:
        yield
        return
    if plan.finishing is not None:
        log.info("records of %s that are not written by user yet stay there", source.topic)
        yield
        return
    every, failures = file.pipeline.state.every.total_seconds(), list[BaseException]()
    what, client = ByUser.of(plan, every), cast(CopyClient, plan.client)
    same = SameTopics(client, plan.fingerprint)
    forwarder = Forwarder(what, name, client, plan.stop, plan.metrics, same)

    def write() -> None:
        try:
            forwarder.run()
        except BaseException as error:
            failures.append(cause(error))

    thread = Thread(target=write, name="by-user", daemon=True)
    thread.start()
    try:
        yield
    finally:
        plan.stop.request()
        thread.join(_END_SECONDS)
        if thread.is_alive():
            log.warning(
                "writing by user has not ended within %g s: what is not committed is aborted, and "
                "the next start writes it",
                _END_SECONDS,
            )
    if failures:
        raise failures[0]


def refuse_by_user(file: PipelineFile) -> None:
    """Refuse to run by `bytewax.run` what needs a writer beside its dataflow."""
    if file.pipeline.source.is_repartitioned:
        raise ConfigurationError(
            "bytewax.run runs a dataflow only, and nobody would write records by user "
            "(source.key.repartition); use fugu run"
        )
