"""What a file holds, told by its bytes and never by its name: rows, generations, verdicts, checkpoints, logs, bundles.

Limits: an encrypted or unknown container, and JSON whose keys use none of the names below, are not recognised.
"""

from __future__ import annotations

import bz2
import io
import lzma
import re
import struct
import zipfile
import zlib
from dataclasses import dataclass, replace

from manifests.zipmembers import read_member

HEAD_BYTES = 65_536
MOST_INFLATED_BYTES = 64 * 2**20

JSON_KEY = re.compile(rb'"([A-Za-z0-9_.]{1,48})"\s*:')
COLUMN = re.compile(rb"[A-Za-z0-9_ ./-]{1,48}")
COMPLETION_KEYS = frozenset(
    b"completion completion_text completion_ids completions response responses generation generations generated_text "
    b"output outputs output_text prediction predictions pred preds solution model_output lean_code full_code proof code "
    b"token_ids text sample_output resps filtered_resps".split()
)
VERDICT_KEYS = frozenset(
    b"correct is_correct accepted passed pass ok verdict exact_match acc accuracy reward success complete judged score scores "
    b"code_sha256 verify_s compile_error".split()
)
LOG_KEYS = frozenset(b"loss train_loss train/loss grad_norm learning_rate lr kl_coef".split())
STEP_KEYS = frozenset(b"step global_step epoch iteration".split())
ID_VALUE = re.compile(
    rb'"(?:problem_id|unique_id|task_id|question_id|doc_id|sample_id|name|idx|index|id)"\s*:\s*'
    rb'(?:"((?:[^"\\]|\\.){1,200})"|(-?\d{1,18}))'
)
MODEL_VALUE = re.compile(
    rb'"(?:model|model_name|model_path|model_rev|model_id|model_args|revision|system|checkpoint|policy)"\s*:\s*'
    rb'"((?:[^"\\]|\\.){1,400})"'
)
UNIT_VALUE = re.compile(rb'"unit"\s*:\s*"([a-z0-9_-]+\.[a-z0-9_-]+\.[a-z0-9_-]+)"')
COMPUTED_FROM = re.compile(rb'"record_sha256"\s*:\s*"[0-9a-f]{64}"')
"""A bundle names the record of every unit that a number of it was computed from; one of pending units names none."""

RECORD_FORMATS = {b'"unit-record/1"': "unit record", b'"aggregate/1"': "bundle", b'"provenance/1"': "bundle"}
GZIP, BZIP, XZ, ZIP, ZSTD = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"PK\x03\x04", b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What was recognised.

    ids: problem ids as text; models: values of fields that name a model; units: unit ids; text: for searching statements;
    unread: why a part of it could not be looked at, empty when all was.
    """

    kind: str
    n_records: int
    ids: frozenset[str]
    models: frozenset[str]
    units: frozenset[str]
    text: bytes
    unread: str = ""


def looks_like_data(head: bytes) -> bool:
    """False for most files, cheaply: nothing in the first bytes calls for reading the rest."""
    if head[:4] in {b"PAR1", ZIP, ZSTD, b"GGUF"} or head[:2] == GZIP or head[:3] == BZIP or head[:6] == XZ:
        return True
    return _is_safetensors(head) or _kind(head) is not None


def recognise(data: bytes) -> Contents | None:
    """What the whole file holds, or None."""
    if data[:4] == b"GGUF" or _is_safetensors(data):
        return _plain("checkpoint")
    if data[:4] == b"PAR1":
        return _parquet(data)
    if data[:4] == ZIP:
        return _zipped(data)
    text = _inflated(data)
    return None if text is None else _textual(text)


def _plain(kind: str) -> Contents:
    return Contents(kind=kind, n_records=1, ids=frozenset(), models=frozenset(), units=frozenset(), text=b"")


def _is_safetensors(head: bytes) -> bool:
    # Eight bytes of length, then a JSON object of tensors.
    return head[8:9] == b"{" and (b'"dtype"' in head[:HEAD_BYTES] or b'"__metadata__"' in head[:256])


def _inflated(data: bytes) -> bytes | None:
    try:
        if data[:2] == GZIP:
            return zlib.decompressobj(31).decompress(data, MOST_INFLATED_BYTES)
        if data[:3] == BZIP:
            return bz2.BZ2Decompressor().decompress(data, MOST_INFLATED_BYTES)
        if data[:6] == XZ:
            return lzma.LZMADecompressor().decompress(data, MOST_INFLATED_BYTES)
    except (OSError, zlib.error, lzma.LZMAError, EOFError):
        return None
    return data


def _kind(text: bytes) -> str | None:
    """The kind of a text by the keys of its JSON objects, or by the header of its table."""
    head = text[:HEAD_BYTES]
    if head.lstrip()[:1] == b"{":  # a document of ours, not a source file that speaks of one
        for mark, kind in RECORD_FORMATS.items():
            if mark in head:
                return kind
    keys = frozenset(JSON_KEY.findall(head)) if b'"' in head else frozenset()
    return _kind_of(keys or _columns(head))


def _kind_of(keys: frozenset[bytes]) -> str | None:
    completion, verdict = bool(keys & COMPLETION_KEYS), bool(keys & VERDICT_KEYS)
    if keys & LOG_KEYS and keys & STEP_KEYS:
        return "log"
    if completion or verdict:
        return "rows" if completion and verdict else "generations" if completion else "verdicts"
    return None


def _columns(head: bytes) -> frozenset[bytes]:
    """The header of a table separated by commas or tabs, when the first lines look like one."""
    first, _, rest = head.partition(b"\n")
    separator = b"\t" if b"\t" in first else b","
    cells = [cell.strip(b' "\r') for cell in first.split(separator)]
    if (
        len(cells) < 2
        or separator not in rest.partition(b"\n")[0]
        or not all(COLUMN.fullmatch(cell) for cell in cells)
    ):
        return frozenset()
    return frozenset(cells)


def _textual(text: bytes) -> Contents | None:
    kind = _kind(text)
    if kind is None:
        return None
    if kind == "bundle" and b'"pending"' in text and not COMPUTED_FROM.search(text):
        return _plain("bundle of pending units")
    ids = frozenset(
        (quoted or number).decode("utf-8", "replace") for quoted, number in ID_VALUE.findall(text)
    )
    if not ids and b'"' not in text[:HEAD_BYTES]:
        ids = frozenset(
            cell.strip().decode("utf-8", "replace") for cell in re.split(rb"[,\t\n]", text)[:200_000]
        )
    lines = sum(1 for line in text.split(b"\n") if line.strip())
    as_lines = text.lstrip()[:1] == b"{" and text.lstrip().split(b"\n", 1)[0].rstrip().endswith(b"}")
    return Contents(
        kind=kind,
        n_records=lines if as_lines else max(1, len(ID_VALUE.findall(text))),
        ids=ids,
        models=frozenset(value.decode("utf-8", "replace") for value in MODEL_VALUE.findall(text)),
        units=frozenset(value.decode() for value in UNIT_VALUE.findall(text)),
        text=text,
    )


def _zipped(data: bytes) -> Contents | None:
    """A torch checkpoint, an Inspect log or zipped JSON: the members, joined, as far as the limit goes."""
    stream = io.BytesIO(data)
    try:
        archive = zipfile.ZipFile(stream)
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError, struct.error):
        return None
    members = [info for info in archive.infolist() if not info.is_dir()]
    if any(info.filename.endswith("data.pkl") for info in members):
        return _plain("checkpoint")
    parts: list[bytes] = []
    left = MOST_INFLATED_BYTES
    n_unread = 0
    for info in members:
        try:
            part = read_member(stream, info, most=min(left, 2**22), archive=archive)
        except zipfile.BadZipFile:
            n_unread += 1
            continue
        if _kind(part) is not None:
            parts.append(part)
        left -= len(part)
        if left <= 0:
            break
    found = _textual(b"\n".join(parts)) if parts else None
    if not n_unread:
        return found
    return replace(
        found or _plain("unreadable archive"),
        unread=f"{n_unread} of {len(members)} members cannot be unpacked",
    )


def _parquet(data: bytes) -> Contents | None:
    import pyarrow as pa  # noqa: PLC0415 - a slow import that most studies without Parquet never pay
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        with pq.ParquetFile(io.BytesIO(data)) as file:
            names = [name.encode() for name in file.schema_arrow.names]
            kind = _kind_of(frozenset(names))
            if kind is None:
                return None
            wanted = [
                n.decode()
                for n in names
                if re.fullmatch(rb"(problem|unique|task|question|doc)_id|id|name|idx", n)
            ]
            table = file.read(columns=wanted)
            ids = frozenset(str(one) for name in wanted for one in table[name].unique().to_pylist())
            return Contents(
                kind=kind,
                n_records=file.metadata.num_rows,
                ids=ids,
                models=frozenset(),
                units=frozenset(),
                text=b"",
            )
    except (pa.ArrowException, OSError, ValueError):
        return None
