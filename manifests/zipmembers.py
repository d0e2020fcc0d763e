"""One member of a zip archive, unpacked in memory, whatever common method packed it: Python 3.11 has no zstd, Arrow does."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from typing import BinaryIO

ZSTD = 93
LOCAL_HEADER = struct.Struct("<4s5H3I2H")


def read_member(
    stream: BinaryIO, info: zipfile.ZipInfo, *, most: int, archive: zipfile.ZipFile | None = None
) -> bytes:
    """The member's first `most` bytes. stream: the archive; archive: the same where it is open, to parse its contents once.

    Raises BadZipFile for whatever keeps it from being unpacked: damage, a password, a method that is not known here.
    """
    try:
        if info.compress_type == ZSTD and not info.flag_bits & 1:
            return _zstd(stream, info, most)
        with (archive or zipfile.ZipFile(stream)).open(info) as member:
            return member.read(most)
    # An encrypted member is a RuntimeError, a method that is not known a NotImplementedError; Arrow's are ValueErrors.
    except (OSError, EOFError, RuntimeError, ValueError, zlib.error, lzma.LZMAError, struct.error) as err:
        raise zipfile.BadZipFile(str(err)) from err


def _zstd(stream: BinaryIO, info: zipfile.ZipInfo, most: int) -> bytes:
    import pyarrow as pa  # noqa: PLC0415 - a slow import that only archives packed this way pay

    stream.seek(info.header_offset)
    header = LOCAL_HEADER.unpack(stream.read(LOCAL_HEADER.size))
    stream.seek(header[-2] + header[-1], 1)
    packed = stream.read(info.compress_size)
    with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as unpacked:
        return bytes(unpacked.read(most))
