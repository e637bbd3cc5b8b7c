"""SentencePiece's precompiled charsmap, as a table of keys and images.

A charsmap is a double-array trie over the UTF-8 bytes of the keys, followed by
the images, each ended by a NUL byte.

Reference: `normalizer.cc` in google/sentencepiece; `precompiled.rs` in Hugging
Face tokenizers, which reads the same bytes differently. It cuts text into
grapheme clusters and replaces a cluster of fewer than six bytes by the image of
its shortest prefix that is a key; the rest of the cluster is dropped.
"""

import functools
import struct

import numpy as np

# Longer clusters are looked up character by character.
MAX_CLUSTER_BYTES = 5
_HAS_LEAF = 0x100
_LABEL = 0x800000FF
_VALUE = 0x7FFFFFFF
_BYTES = np.arange(1, 256)


@functools.lru_cache(maxsize=8)
def read_charsmap(charsmap: bytes) -> dict[str, str]:
    """Returns the keys that a cluster of at most five bytes can match, with images.

    Raises:
        ValueError: If the bytes are not a charsmap.
    """
    if not charsmap:
        return {}
    try:
        return dict(_walk(charsmap))
    except (struct.error, IndexError, ValueError) as error:
        raise ValueError(
            "`charsmap` must be a `precompiled_charsmap` of SentencePiece. "
            f"Received: {len(charsmap)} invalid bytes ({error})"
        ) from error


def _walk(charsmap: bytes):
    (size,) = struct.unpack_from("<I", charsmap)
    if size % 4 or 4 + size > len(charsmap):
        raise ValueError(f"a trie of {size} bytes")
    units = np.frombuffer(charsmap, "<u4", size // 4, 4).astype(np.int64)
    labels = units & _LABEL
    images = charsmap[4 + size :]
    pending = [(0, b"")]
    while pending:
        node, prefix = pending.pop()
        unit = int(units[node])
        base = node ^ ((unit >> 10) << ((unit & 0x200) >> 6))
        if unit & _HAS_LEAF:
            start = int(units[base]) & _VALUE
            end = images.index(b"\0", start)
            yield prefix.decode(), images[start:end].decode()
        if len(prefix) < MAX_CLUSTER_BYTES:
            children = base ^ _BYTES
            children = children[children < len(units)]
            children = children[labels[children] == children ^ base]
            pending += [
                (child, prefix + bytes([child ^ base])) for child in children.tolist()
            ]
