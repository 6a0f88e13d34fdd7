"""Read what a consumer says about its group, in the bytes that librdkafka writes.

`CGMDv2:`, i32 generation, group, 0, member, 0, and what follows about a static member. A member
that has left its group has generation -1 and no name, which Kafka takes from old clients and fences
nobody by, so whoever commits must look.
"""

import sys
from dataclasses import dataclass

_MAGIC = b"CGMDv2:"
_GENERATION_BYTES = 4


@dataclass(frozen=True)
class GroupMetadata:
    """Hold a membership in a consumer group; `written` is what transactions are given."""

    written: bytes
    generation: int
    group: str
    member: str

    @classmethod
    def read(cls, written: bytes) -> "GroupMetadata":
        """Read what librdkafka wrote; `ValueError` if it is of another form.

        >>> known = GroupMetadata.read(b"CGMDv2:" + (7).to_bytes(4, "little") + b"group\\0me\\0\\1")
        >>> known.generation, known.group, known.member, known.is_of("me"), known.is_of("you")
        (7, 'group', 'me', True, False)
        """
        end = len(_MAGIC) + _GENERATION_BYTES
        names = written[end:].split(b"\0")
        if not written.startswith(_MAGIC) or len(names) <= 2:
            raise ValueError("this librdkafka describes consumer groups in another form")
        generation = int.from_bytes(written[len(_MAGIC) : end], sys.byteorder, signed=True)
        return cls(written, generation, names[0].decode(), names[1].decode())

    def is_of(self, member: str) -> bool:
        """Return whether this is a membership now, and that of this member."""
        return self.generation >= 0 and bool(member) and self.member == member
