"""Read a sanitized topic, or files exported from it, and estimate what it tells.

    import fugu
    topic = fugu.read("kafka://localhost:9092/vitals.sanitized", since="1d")
    print(topic.promise)
    print(topic.shares(by="1h"))

It needs pyarrow, and neither bytewax nor a Kafka client where files are read.
"""

from fugu.dataflows.base.errors import CannotBeEstimated
from fugu.dataflows.base.install import install

try:
    from fugu.dataflows.analysis.estimates import Estimates, ModelAlarm
    from fugu.dataflows.analysis.reading import read
    from fugu.dataflows.analysis.topic import Topic
except ModuleNotFoundError as error:
    if error.name != "pyarrow":
        raise
    raise ModuleNotFoundError(
        f"fugu.analysis needs pyarrow: {install('analysis')}", name="pyarrow"
    ) from None
from fugu.dataflows.publishing.checked_promise import PromiseAlarm
from fugu.dataflows.publishing.promise import Promise

__all__ = [
    "CannotBeEstimated",
    "Estimates",
    "ModelAlarm",
    "Promise",
    "PromiseAlarm",
    "Topic",
    "read",
]
