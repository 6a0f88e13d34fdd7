"""Run a pipeline: prepare it, hand its shards over to bytewax, stop on SIGTERM and SIGINT.

A shard is a group of partitions, fixed when the pipeline is created, with a state directory and a
recovery store of its own. A process runs all shards, or those it is told to; every shard runs in a
single-worker dataflow on a thread of its own.
"""

import logging
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TypeVar

from bytewax.dataflow import Dataflow
from bytewax.errors import BytewaxRuntimeError
from bytewax.recovery import (
    InconsistentPartitionsError,
    MissingPartitionsError,
    NoPartitionsError,
    RecoveryConfig,
)
from bytewax.run import cli_main

from fugu.dataflows.base.errors import ConfigurationError, ShutOut, native_stderr_hidden
from fugu.dataflows.copies.instance import instance
from fugu.dataflows.flows.plan import Plan, Shard, require_held_now
from fugu.dataflows.flows.sections import end_of, is_merged
from fugu.dataflows.flows.starting import prepared, prepared_after_a_look
from fugu.dataflows.kafka.client import publishing_in_words
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.monitoring.monitor import Monitor
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.run.beside import refuse_by_user, written_by_user
from fugu.dataflows.run.causes import cause, collect_garbage_seldom
from fugu.dataflows.run.copying import copied_flow
from fugu.dataflows.run.following import Following
from fugu.dataflows.run.link import Link
from fugu.dataflows.run.renewal import Renewal
from fugu.dataflows.run.stopping import Starting, start_again
from fugu.dataflows.state.recovery import damaged_store, forget_unfinished_epochs, unusable_store
from fugu.operators import compiled
from fugu.operators.compiled import folders
from fugu.operators.temporal.temporal_perturbation import End

log = logging.getLogger(__name__)

_JOIN_SECONDS = 0.2

Result = TypeVar("Result")


def run(
    file: PipelineFile,
    shards: list[int] | None = None,
    *,
    finish: bool = False,
    supervised: bool = False,
) -> None:
    """Run some shards (or all) until told to stop; anything else raises and is safe to repeat.

    To `finish` is to read nothing more, and to publish or discard what streams hold back. A
    `supervised` process stops when its supervisor is gone, too.
    """
    finishing = end_of(file.pipeline) if finish else None
    os.umask(0o077)
    starting = Starting(file.pipeline.name)
    follows = file.pipeline.source.partitions == "follow"
    whole = shards is None and not finish
    following = Following(file, follows and whole)
    renewal = Renewal(file)
    if compiled.available():
        log.info("compiled code: %s", folders.described())
    with Monitor(file, supervised=supervised) as monitor:
        if supervised:
            Link(monitor.report, starting.stop.request).start()
        following.at_start()
        following.watch(monitor.numbers, starting.stop.request)
        renewal.watch(starting.stop.request)
        with closing(following), closing(renewal):
            _run(file, shards, starting, monitor, finishing)
    if following.decided or renewal.decided:
        start_again(starting.asked)


def _run(
    file: PipelineFile,
    shards: list[int] | None,
    starting: Starting,
    monitor: Monitor,
    finishing: End | None,
) -> None:
    stop = starting.stop
    plans, built = _made_ready(file, shards, starting, monitor, finishing)
    if finishing is None:
        log.info("pipeline %s is ready, and reads on", file.pipeline.name)
    with native_stderr_hidden():
        starting.begun()
        if finishing is not None:
            stop.request()
        for plan in plans:
            plan.directory.note_start(finishing=plan.finishing)
        part = f"{instance()}-{plans[0].fingerprint.shard}"
        shards_run = [partial(_run_shard, file, *one) for one in zip(plans, built, strict=True)]
        try:
            with written_by_user(file, plans, part):
                _in_threads(shards_run)
        except ShutOut:
            require_held_now(plans)
            raise
    for plan in plans:
        plan.directory.unlock()
    monitor.require_usable_topics()
    log.info("pipeline %s: stopped, state is written", file.pipeline.name)


def _made_ready(
    file: PipelineFile,
    shards: list[int] | None,
    starting: Starting,
    monitor: Monitor,
    finishing: End | None,
) -> tuple[list[Plan], list[Shard]]:
    """Return all plans and their dataflows; health says if that takes a while."""
    with monitor.compiling():
        plans = _planned(file, shards, starting.stop, monitor, finishing)
        with native_stderr_hidden():
            return plans, _in_threads([partial(_built, plan) for plan in plans])


def _planned(
    file: PipelineFile,
    shards: list[int] | None,
    stop: StopFlag,
    monitor: Monitor,
    finishing: End | None,
) -> list[Plan]:
    plans = monitor.observe(prepared_after_a_look(file, shards, stop, finishing=finishing))
    pipeline = file.pipeline
    log.info(
        "pipeline %s: %s -> %s, %d partitions in %d shards, of which %d here, %s, %s, "
        "state every %g s",
        pipeline.name,
        pipeline.source.topic,
        pipeline.sink.topic,
        plans[0].fingerprint.partitions,
        pipeline.state.shards,
        sum(plan.reads_source for plan in plans),
        plans[0].client.name,
        publishing_in_words(plans[0].client, pipeline.name),
        pipeline.state.every.total_seconds(),
    )
    log.info("compiled steps: %s", compiled.described())
    collect_garbage_seldom()
    return plans


def flow(path: str) -> Dataflow:
    """Return the dataflow of an unsharded pipeline, for people who know bytewax.

    python -m bytewax.run "fugu.dataflows.run.run:flow('pipeline.yaml')" \\
        -r STATE/shard-0000/recovery -s 1 -b 0

    With a state in Kafka, every worker of every process is a copy of its own, and nothing is kept
    on disk: leave the options of recovery out.
    """
    file = PipelineFile.read(Path(path))
    if file.pipeline.state.in_kafka:
        return copied_flow(file)
    refuse_by_user(file)
    if file.pipeline.state.shards > 1 or is_merged(file.pipeline):
        raise ConfigurationError("bytewax.run runs one dataflow only; use fugu run")
    [plan] = prepared(file, None, StopFlag())
    return plan.build().dataflow


def _in_threads(tasks: Sequence[Callable[[], Result]]) -> list[Result]:
    """Do everything at the same time, and raise the first failure once all have ended.

    After an error directories stay locked: only the end of the process is safe.
    """
    results, failures = dict[int, Result](), list[BaseException]()

    def do(number: int) -> None:
        try:
            results[number] = tasks[number]()
        except BaseException as error:
            if len(tasks) > 1 and not failures:
                log.error("a shard has ended, and others end now: %s", cause(error))
            failures.append(error)

    threads = [Thread(target=do, args=(number,), daemon=True) for number in range(len(tasks))]
    for thread in threads:
        thread.start()
    _join(threads)
    if failures:
        raise failures[0]
    return [results[number] for number in range(len(tasks))]


def _built(plan: Plan) -> Shard:
    try:
        return plan.build()
    except Exception as error:
        raise cause(error) from None


def _run_shard(file: PipelineFile, plan: Plan, shard: Shard) -> None:
    try:
        forget_unfinished_epochs(plan.directory.recovery)
        cli_main(
            shard.dataflow,
            epoch_interval=file.pipeline.state.every,
            recovery_config=RecoveryConfig(str(plan.directory.recovery)),
        )
        stopped_at = shard.stopped_at
        if stopped_at is not None:
            plan.directory.note_stop(stopped_at)
    except BytewaxRuntimeError as error:
        raise cause(error) from None
    except (NoPartitionsError, MissingPartitionsError, InconsistentPartitionsError):
        raise damaged_store(plan.directory.recovery) from None
    except RuntimeError:
        raise unusable_store(plan.directory.recovery) from None
    except Exception as error:
        raise cause(error) from None
    finally:
        plan.stop.request()


def _join(threads: Iterable[Thread]) -> None:
    """Wait in short steps, so that the main thread can take signals."""
    for thread in threads:
        while thread.is_alive():
            thread.join(_JOIN_SECONDS)
