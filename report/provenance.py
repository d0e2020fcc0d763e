"""`provenance.json`: every pointer with its method, inputs, files and digests; and which pointers stand on which line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import ValidationError

from manifests.documents import Document, dump_document, findings_of
from manifests.errors import BeforehandError, FindingsError
from report.evidence import Evidence
from report.pointers import Numbers, PointedValue

FILE_NAME = "provenance.json"


class SourceFile(Document):
    """A file that rows were read from. path: relative to the study."""

    path: str
    sha256: str


class PointerInput(Document):
    """A unit behind a number."""

    unit: str
    record_sha256: str
    files: tuple[SourceFile, ...]


class PointerNode(Document):
    """One pointer."""

    label: str
    method: str
    n: str
    at: str
    inputs: tuple[PointerInput, ...]
    values: dict[str, PointedValue]


class ProvenanceMap(Document):
    """`provenance/1`. lines: file of the bundle -> line number -> pointers printed there."""

    format: Literal["provenance/1"]
    study: str
    pointers: dict[str, PointerNode]
    lines: dict[str, dict[str, tuple[str, ...]]]


def make_provenance(
    evidence: Evidence, numbers: Numbers, lines: Mapping[str, Mapping[int, tuple[str, ...]]]
) -> bytes:
    """The file's bytes."""
    units = {
        str(unit): PointerInput(
            unit=str(unit),
            record_sha256=there.record_sha256,
            files=tuple(
                SourceFile(path=f"units/{unit}/{file.path}", sha256=file.sha256)
                for file in there.record.files
            ),
        )
        for unit, there in evidence.units.items()
    }
    provenance = ProvenanceMap(
        format="provenance/1",
        study=evidence.study.config.name,
        pointers={
            name: PointerNode(
                label=one.label,
                method=one.method,
                n=one.n,
                at=one.at,
                inputs=tuple(units[unit] for unit in one.units) if len(one.units) <= 2 else (),
                values=one.values,
            )
            for name, one in numbers.pointers.items()
        },
        lines={
            name: {str(number): pointers for number, pointers in found.items()}
            for name, found in lines.items()
        },
    )
    return dump_document(provenance)


def read_provenance(data: bytes) -> ProvenanceMap:
    """The map in `data`."""
    try:
        return ProvenanceMap.model_validate_json(data)
    except ValidationError as err:
        mend = "build the report again"
        raise FindingsError("is no provenance map", findings_of(err), where=FILE_NAME, mend=mend) from err


def find_pointer(provenance: ProvenanceMap, wanted: str) -> tuple[str, str]:
    """(pointer, field or "") of `P1.gain`, or of `P1` alone."""
    if wanted in provenance.pointers:
        return wanted, ""
    name, _, field = wanted.rpartition(".")
    if name in provenance.pointers and field in provenance.pointers[name].values:
        return name, field
    raise BeforehandError(
        f"{wanted!r} is no pointer of this report",
        where=FILE_NAME,
        mend=f"pointers are {', '.join(list(provenance.pointers)[:12])}, …; a line is README.md:12",
    )
