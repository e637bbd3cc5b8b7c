"""Compiles a code point -> string table for tensorflow-text's normalizer op.

`FastBertNormalizer` takes its table as a FlatBuffer (`model_buffer`): a
double-array trie over UTF-8 bytes whose values point into a pool of strings.
The stock table differs from the reference (it folds compatibility characters
and turns control characters into spaces). The op itself maps any code point to
any string of up to 63 bytes, as fast as with the stock table.

Layout of the trie, as read by `DartsCloneTrieWrapper` in tensorflow/text: node
`n` with unit `u` has the child for byte `b` at `n ^ offset(u) ^ b`, where the
child's unit holds `b` in its low 8 bits, bit 8 when a value follows, and the
offset from bit 10 up. The value is stored at `n ^ offset(u)`. There are 64
UTF-8 continuation bytes, so one aligned block of 64 units holds all children of
a node. No search for free slots is needed, and equal blocks are stored once.
"""

from collections.abc import Mapping

import flatbuffers
import numpy as np

_CHANGED = 0x40000000
_LENGTH_BITS = 6
_HAS_VALUE = 0x100
_OFFSET_SHIFT = 10
_ROOT_BLOCK = 256  # the units of all first bytes
_BLOCKS = 512
_MAX_LENGTH = (1 << _LENGTH_BITS) - 1


def compile_character_map(images: Mapping[int, str]) -> bytes:
    """Returns the `model_buffer` that replaces each key by its string.

    Args:
        images: Maps code points to their replacements, at most 63 bytes of
            UTF-8. Other code points are left unchanged.

    Raises:
        ValueError: If an image is longer than 63 bytes.

    Reference: `fast_bert_normalizer.h`, `darts_clone_trie_wrapper.h` and
    `fast_bert_normalizer_model.fbs` in tensorflow/text.
    """
    pool, values = _pool(images)
    distinct, indices = np.unique(np.array(list(values.values())), return_inverse=True)
    table = np.zeros(0x140000, np.int64)  # 5 x 64 x 64 x 64
    table[np.fromiter(values, np.int64)] = indices + 1
    zero = values.get(0, 0)
    return _flatbuffer(_trie(table, distinct), zero, pool)


def _pool(images: Mapping[int, str]) -> tuple[bytes, dict[int, int]]:
    pool = bytearray()
    offsets: dict[str, int] = {}
    values = {}
    for code_point, image in images.items():
        text = image.encode()
        if len(text) > _MAX_LENGTH:
            raise ValueError(
                f"An image may have at most {_MAX_LENGTH} bytes. "
                f"Received: {image!r} for U+{code_point:04X}"
            )
        if image not in offsets:
            offsets[image] = len(pool)
            pool += text
        values[code_point] = _CHANGED | offsets[image] << _LENGTH_BITS | len(text)
    return bytes(pool), values


def _trie(table: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Lays out the trie; `table` maps a code point to 1 + its value's index."""
    leaves, leaf_of = _shared_blocks(table)
    middles, middle_of = _shared_blocks(leaf_of)
    tops, top_of = _shared_blocks(middle_of)
    counts = [len(leaves), len(middles), len(tops)]
    starts = _BLOCKS + 64 * np.concatenate([[0], np.cumsum(counts)])
    units = np.zeros(starts[-1] + len(values), np.int64)
    units[starts[-1] :] = values
    slots = starts[-1] + np.arange(len(values))
    units[0] = _ROOT_BLOCK << _OFFSET_SHIFT

    def fill(at, byte, chosen, targets, flag):
        found = chosen > 0
        at, byte, target = at[found], byte[found], targets[chosen[found] - 1]
        units[at] = byte | flag | (at ^ target) << _OFFSET_SHIFT

    continuation = 0x80 | np.arange(64)
    for blocks, start, targets, flag in (
        (leaves, starts[0], slots, _HAS_VALUE),
        (middles, starts[1], _entries(starts[0], counts[0]), 0),
        (tops, starts[2], _entries(starts[1], counts[1]), 0),
    ):
        at = start + np.arange(blocks.size).reshape(blocks.shape)
        fill(at, np.broadcast_to(continuation, at.shape), blocks, targets, flag)

    root = _ROOT_BLOCK ^ np.arange(256)
    byte = np.arange(256)
    fill(root[1:128], byte[1:128], table[1:128], slots, _HAS_VALUE)
    two = slice(0xC2, 0xE0)
    fill(root[two], byte[two], leaf_of[2:32], _entries(starts[0], counts[0]), 0)
    three = slice(0xE0, 0xF0)
    fill(root[three], byte[three], middle_of[:16], _entries(starts[1], counts[1]), 0)
    four = slice(0xF0, 0xF5)
    fill(root[four], byte[four], top_of[:5], _entries(starts[2], counts[2]), 0)
    return units


def _shared_blocks(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the distinct blocks of 64 and the number of each block, from 1.

    A block of zeros has the number 0 and is not stored.
    """
    blocks = table.reshape(-1, 64)
    numbers = {bytes(8 * 64): 0}
    order = [numbers.setdefault(x.tobytes(), len(numbers)) for x in blocks]
    stored = [np.frombuffer(x, np.int64) for x in list(numbers)[1:]]
    positions = np.pad(order, (0, -len(order) % 64))
    return np.array(stored, np.int64).reshape(-1, 64), positions


def _entries(start: int, count: int) -> np.ndarray:
    """Returns the targets of parent offsets, so that `^ byte` lands in the block."""
    return (start + 64 * np.arange(count)) ^ 0x80


def _flatbuffer(units: np.ndarray, zero: int, pool: bytes) -> bytes:
    builder = flatbuffers.Builder(4 * len(units) + len(pool) + 64)
    trie = builder.CreateNumpyVector(units.astype(np.uint32))
    strings = builder.CreateNumpyVector(np.frombuffer(pool or b" ", np.uint8))
    # Fields: lower_case (not read by the op), trie, value of NUL, pool.
    builder.StartObject(4)
    builder.PrependUOffsetTRelativeSlot(1, trie, 0)
    builder.PrependInt32Slot(2, zero, 0)
    builder.PrependUOffsetTRelativeSlot(3, strings, 0)
    builder.Finish(builder.EndObject())
    return bytes(builder.Output())
