"""An account of what one partition has published counts right, whatever comes back of it."""

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.copies.accounts import Account
from fugu.dataflows.flows.plan import Output
from fugu.dataflows.records.published import RELEASE_HEADER, record_digest


def released(timestamp: int) -> Outgoing:
    return Outgoing(0, [b"user"], [b"{}"], [[(RELEASE_HEADER, b"id")]], [timestamp])


def account(begin: int, published: int = 0) -> Account:
    output = Output("releases", "sink", lambda _: released(1), "sanitized", {"0": 0})
    return Account(output, 0, begin, published)


def test_a_release_at_timestamp_0_comes_back_as_it_was_written() -> None:
    """Kafka has it at 1, because librdkafka takes 0 for the time of writing."""
    own = account(begin=5)
    own.tail[b"id"] = record_digest(b"user", b"{}", [(RELEASE_HEADER, b"id")], 1)
    own.note(released(timestamp=0))
    assert own.tail == {}
    assert own.published == 1


def test_what_this_copy_wrote_when_it_owned_the_partition_before_ends_no_account() -> None:
    """The last acknowledged end of a writer may be of a time before another owner's releases."""
    own = account(begin=150, published=50)
    own.tail, own.tail_until = {b"id": b"digest"}, 10
    assert own.close(100, position=10)
    assert (own.begin, own.published) == (150, 50)


def test_an_account_begins_anew_behind_what_was_acknowledged() -> None:
    own = account(begin=150, published=50)
    assert not own.close(200, position=10)
    assert (own.begin, own.published) == (200, 0)
