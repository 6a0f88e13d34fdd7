"""Copy short strings of bytes, eight at a time, and write whole numbers among them.

Whoever calls sees to it that all places are inside the arrays: a number may be followed by up to
four bytes that are written too.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from fugu.operators.byte_column import Bytes
from fugu.operators.compiled.compiling import in_llvm, part

WORD_BYTES = 8
_WORD: Any = ir.IntType(64)


@in_llvm
def word_at(context: Any, text: Any, at: Any) -> Any:
    """Read the eight bytes that begin anywhere, the lowest first."""

    def written(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        there = _place(target, builder, signature, arguments)
        return builder.load(there, align=1)

    return types.uint64(text, types.int64), written


@in_llvm
def put_word(context: Any, text: Any, at: Any, word: Any) -> Any:
    """Write eight bytes that begin anywhere, the lowest first."""

    def written(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _place(target, builder, signature, arguments), align=1)
        return target.get_dummy_value()

    return types.void(text, types.int64, types.uint64), written


def _place(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    content = target.make_array(signature.args[0])(target, builder, arguments[0]).data
    return builder.bitcast(builder.gep(content, [arguments[1]]), _WORD.as_pointer())


@part
def put_size(text: Bytes, at: int, size: int) -> int:
    """Write a length, or a block number, in four bytes; return where it ends."""
    put_word(text, at, np.uint64(size))
    return at + 4


@part
def put_bytes(text: Bytes, at: int, content: Bytes, begin: int, end: int) -> int:
    """Copy some bytes; return where the copy ends."""
    length = end - begin
    if length >= WORD_BYTES:
        for place in range(0, length - WORD_BYTES, WORD_BYTES):
            put_word(text, at + place, word_at(content, begin + place))
        put_word(text, at + length - WORD_BYTES, word_at(content, end - WORD_BYTES))
    else:
        for place in range(length):
            text[at + place] = content[begin + place]
    return at + length


@part
def put_number(text: Bytes, at: int, number: int) -> int:
    """Write eight bytes, the highest first; return where they end."""
    word, reversed_word = np.uint64(number), np.uint64(0)
    for place in range(WORD_BYTES):
        byte = (word >> np.uint64(8 * place)) & np.uint64(255)
        reversed_word |= byte << np.uint64(56 - 8 * place)
    put_word(text, at, reversed_word)
    return at + WORD_BYTES
