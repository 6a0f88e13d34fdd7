"""Read the compiled code of a usual pipeline at import, so that forked processes have it already.

A process reads it from a folder of compiled code, for most of a second. The client is the one
without compiled code: nothing of librdkafka may be used before a process is forked.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from fugu.dataflows.flows.warming import warm_up_without_kafka
from fugu.dataflows.pipeline.config import PipelineFile
from tests.kafka.clients import kafka_section
from tests.kafka.pipelines import pipeline_document, write_pipeline

with TemporaryDirectory() as folder:
    document = pipeline_document("localhost:9092", "private", "sanitized")
    document["kafka"] = kafka_section("localhost:9092", "kafka-python")
    warm_up_without_kafka(PipelineFile.read(write_pipeline(Path(folder), document)))
