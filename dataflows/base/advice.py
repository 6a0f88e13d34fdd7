"""Say for every reason of dead letters what to do if many records are refused for it."""

from collections.abc import Mapping

from fugu.dataflows.base.batches import Reason

ADVICE: Mapping[Reason, str] = {
    Reason.NO_KEY: "producers must send the user as the key of every record, or as source.key says",
    Reason.TOMBSTONE: "producers send records without a value, which hold nothing to release",
    Reason.TOO_LARGE: "raise source.max_value_bytes, or send smaller records",
    Reason.NOT_JSON: "producers must write JSON objects; look at one of these records",
    Reason.BYTE_ORDER_MARK: (
        "producers write a byte order mark in front of JSON, as editors and .NET do; they must "
        "write UTF-8 without one"
    ),
    Reason.UNREADABLE: (
        "reading these records fails in a way that Fugu does not foresee, which is a defect; "
        "please report the exception and the line of code that the log names"
    ),
    Reason.FIELD_MISSING: "records lack a field that source names; dead letters say which one",
    Reason.WRONG_TYPE: "a field has another type than it should; dead letters say which one",
    Reason.NOT_FINITE: "a field holds a number that is too large, or none; dead letters say which",
    Reason.OUTSIDE_DOMAIN: "values are not among those of the operator; see its section",
    Reason.DUPLICATE: "producers send the same events again (source.dedupe)",
    Reason.WRONG_PARTITION: (
        "producers use another partitioner, or the topic was extended; run fugu validate --kafka, "
        "then fugu state repartition, and fugu redrive for the records that were refused"
    ),
    Reason.UNKNOWN_BUDGET: (
        "these users were released under pseudonyms before records were lost, and nobody knows "
        "what they have spent: they stay refused"
    ),
    Reason.TOO_MANY_KEYS: "raise state.max_keys, then fugu redrive --reason too_many_keys",
    Reason.LATE: "records come too late for their tick; raise ticks.grace in a new pipeline",
    Reason.TOO_FAR_AHEAD: (
        "a clock is wrong (certainly where the dead letter names a field: its time is more than "
        "ticks.stream_time.max_ahead after Kafka's), or stream time waits: too few people move it "
        "(ticks.stream_time), or it was silent for longer than ticks.max_jump and goes on by itself"
    ),
    Reason.TIME_NOT_BEGUN: (
        "stream time begins when enough people have sent records, or a heartbeat "
        "(ticks.stream_time). If this partition has fewer people, lower distinct_keys or declare "
        "heartbeats at a stop"
    ),
    Reason.SECOND_IN_TICK: "a stream has several records in a tick; see ticks.several",
    Reason.OTHER_SENSITIVE_VALUE: (
        "records of a person say two sensitive values in a window; the first one counts. Correct "
        "the producer, or shorten the window"
    ),
    Reason.TOO_MANY_PEOPLE: (
        "a partition has more people in a window than its share of operator.max_people; raise that "
        "in a new pipeline, or add partitions"
    ),
    Reason.TOO_MANY_POINTS: (
        "a person has more points in a window than operator.max_points; a larger quantum makes "
        "fewer of them"
    ),
    Reason.NO_COLLECTION: "keys belong to no collection of the policy document",
    Reason.ROW_DELETED: "rows were deleted at the source, which leaves nothing to release",
    Reason.UNAVAILABLE_VALUE: (
        "Debezium did not know the value, because an update has not touched it; set REPLICA "
        "IDENTITY FULL on the table, or its equivalent in your database"
    ),
    Reason.NO_SCHEMA_ID: "producers must write by a serializer of the schema registry",
    Reason.UNKNOWN_SCHEMA: "the registry has no such schema; is source.format.registry theirs?",
    Reason.UNUSABLE_SCHEMA: (
        "a schema is of another kind, or holds not all fields that source names; dead letters have "
        "its id"
    ),
    Reason.NOT_AS_SCHEMA: "records are not as their schema says; a producer is wrong",
    Reason.NOT_FORWARDED: (
        "somebody else writes into the internal topic of source.key.repartition; let nobody"
    ),
    Reason.BAD_POLICY: "changes of policies are wrong; the log says why",
}
