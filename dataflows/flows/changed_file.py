"""Find what a state on disk does not go on under, before anything is stopped.

Kafka is not asked.
"""

from fugu.dataflows.flows.found_partitioner import as_begun
from fugu.dataflows.flows.state_directories import stored_fingerprint
from fugu.dataflows.pipeline.config import PipelineFile, reading_digest
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.pipeline.secrets import read_keys
from fugu.dataflows.state.fingerprint import check_same


def require_going_on(file: PipelineFile) -> None:
    """Raise `StartRefused`, naming what changed, where the state is that of another pipeline.

    A start asks Kafka, too, and looks at a state there. So nothing is said of that here, nor of one
    that has not begun.
    """
    stored = stored_fingerprint(file)
    if stored is None:
        return
    file = as_begun(file)
    pipeline, keys, mechanism = file.pipeline, read_keys(file), configure(file).mechanism
    said = {
        "pipeline": pipeline.name,
        "operator": mechanism.kind,
        "implementation": mechanism.implementation,
        "law": mechanism.law_digest().hex(),
        "reading": reading_digest(pipeline),
        "version": pipeline.version,
        "key_epoch": keys.epoch,
        "secret_check": keys.noise.check_value(),
        "shards": pipeline.state.shards,
        "source_topic": pipeline.read_topic,
        "sink_key": pipeline.sink.key,
        "dead_letters_topic": pipeline.sink.dead_letter_topic,
    }
    check_same(stored, stored.model_copy(update=said))
