"""Bytes as printable characters, as in byte-level vocabularies."""

# Bytes that are printable in Latin-1 represent themselves.
_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
# UTF-8 never uses the other bytes.
UTF8_BYTES = [*range(0x80), *range(0x80, 0xC0), *range(0xC2, 0xF5)]


def _characters() -> dict[int, str]:
    others = [byte for byte in range(256) if byte not in _PRINTABLE]
    return {byte: chr(byte) for byte in _PRINTABLE} | {
        byte: chr(256 + i) for i, byte in enumerate(others)
    }


CHARACTERS = _characters()
BYTES = {character: byte for byte, character in CHARACTERS.items()}
_TO_LATIN_1 = str.maketrans({x: chr(byte) for x, byte in BYTES.items()})


def piece_bytes(piece: str) -> bytes:
    """Returns the bytes that a piece represents.

    A piece with any character that represents no byte is plain text, as in
    Hugging Face's `ByteLevel` decoder.
    """
    if BYTES.keys() >= set(piece):
        return piece.translate(_TO_LATIN_1).encode("latin-1")
    return piece.encode()
