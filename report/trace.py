"""Trace: from a line of the report, or a pointer, to method, rows, files and digests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from manifests.errors import BeforehandError
from manifests.files import read_bytes
from report.provenance import FILE_NAME, PointerNode, ProvenanceMap, find_pointer, read_provenance

LINE = re.compile(r"(?P<file>[A-Za-z]+\.md):(?P<line>[1-9][0-9]*)")
MEND = "build the report first: python build_report.py STUDY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """The numbers of one pointer that were asked for: all of them, or those that stand on the line."""

    pointer: str
    fields: tuple[str, ...]
    node: PointerNode

    @property
    def text(self) -> str:
        """What people read."""
        node = self.node
        lines = [
            f"{self.pointer}.{name} = {node.values[name].exact}, printed {node.values[name].shown}"
            for name in self.fields
        ]
        lines += [
            f"  method: {node.method}",
            f"  n: {node.n}",
            f"  label: {node.label}",
            f"  in aggregate.json: {node.at}",
        ]
        for one in node.inputs:
            lines.append(f"  rows of {one.unit}, record sha256 {one.record_sha256}")
            lines += [f"    {file.path} sha256 {file.sha256}" for file in one.files]
        return "\n".join(lines)

    @property
    def document(self) -> dict[str, object]:
        """The same for `--json`."""
        return {"pointer": self.pointer, "fields": list(self.fields), **self.node.model_dump(mode="json")}


def load_provenance(study_root: Path) -> ProvenanceMap:
    """The map of the bundle that was built last."""
    return read_provenance(read_bytes(study_root / "report" / FILE_NAME, mend=MEND))


def trace(study_root: Path, what: str) -> tuple[Traced, ...]:
    """What stands on a line (`README.md:12`), or behind a pointer (`P1.gain`, `P1`)."""
    provenance = load_provenance(study_root)
    match = LINE.fullmatch(what)
    pointers = (what,) if match is None else _on_line(provenance, match["file"], match["line"])
    found = [find_pointer(provenance, pointer) for pointer in pointers]
    fields: dict[str, list[str]] = {}
    for name, field in found:
        fields.setdefault(name, []).extend([field] if field else provenance.pointers[name].values)
    return tuple(
        Traced(pointer=name, fields=tuple(wanted), node=provenance.pointers[name])
        for name, wanted in fields.items()
    )


def _on_line(provenance: ProvenanceMap, file: str, line: str) -> tuple[str, ...]:
    lines = provenance.lines.get(file)
    if lines is None:
        raise BeforehandError(
            f"has no lines with numbers; files are {', '.join(sorted(provenance.lines))}", where=file
        )
    if line not in lines:
        near = sorted(lines, key=lambda other: (abs(int(other) - int(line)), int(other)))[:3]
        raise BeforehandError(
            "has no number that was computed", where=f"{file}:{line}", mend=f"the nearest lines with numbers are {', '.join(near)}"
        )  # fmt: skip
    return lines[line]
