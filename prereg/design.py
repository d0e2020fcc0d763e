"""The design: the machine-readable part of the block, typed, and checked as a whole before anything is frozen."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field

from manifests.documents import Document, parse_toml, validate_mapping
from manifests.errors import Finding, FindingsError
from manifests.names import UnitId
from prereg.consistency import contradictions
from prereg.endpoints import Endpoint, EndpointId, Side, Validity
from prereg.places import Places
from prereg.protocols import Protocol, ResolvedProtocol, ResolvedSampling, resolve
from prereg.systems import (
    MODEL_KINDS,
    ExpandedSystem,
    Sentence,
    Sha256,
    Slug,
    System,
    UnrecordedModel,
    expand,
)


class Benchmark(Document):
    """A problem set: JSON lines, relative to the study, with its digest and the number of its problems."""

    problems: Sentence
    sha256: Sha256
    n: Annotated[int, Field(ge=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedSide:
    """One side of an endpoint with every name looked up."""

    system: ExpandedSystem
    unit: UnitId
    protocol: ResolvedProtocol
    sampling: ResolvedSampling


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedUnit:
    """A unit that the design needs. samples: (sampling, samples a problem), by name."""

    unit: UnitId
    n_problems: int
    samples: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFile:
    """A file that the design names. sha256: as the design gives it, or None where freeze takes it; place: the dotted key."""

    path: str
    sha256: str | None
    place: str


class Design(Document):
    """What is asked, of which systems, how rows are made and judged, and by which rule each question is decided.

    units: planned units that no endpoint names. pinned: further files that freeze hashes, such as prompts or analysis code.
    """

    format: Literal["design/1"]
    benchmarks: Annotated[dict[Slug, Benchmark], Field(min_length=1)]
    systems: Annotated[dict[Slug, System], Field(min_length=1)]
    protocols: Annotated[dict[Slug, Protocol], Field(min_length=1)]
    endpoints: Annotated[dict[EndpointId, Endpoint], Field(min_length=1)]
    validity: tuple[Validity, ...] = ()
    units: tuple[str, ...] = ()
    pinned: tuple[Sentence, ...] = ()

    @classmethod
    def from_toml(cls, data: bytes, *, where: str, first_line: int = 1) -> "Design":
        """Parse and check. where: the file; first_line: number in it of the first line of `data`.

        Raises FindingsError with every problem, each at `FILE:LINE dotted.key`; problems of reference are looked for
        once the shape is right.
        """
        raw = parse_toml(data, where=where)
        places = Places.of(data.decode("utf-8"), first_line=first_line)
        return cls.from_mapping(raw, where=where, places=places)

    @classmethod
    def from_mapping(cls, raw: dict[str, object], *, where: str, places: Places | None = None) -> "Design":
        """The design of parsed TOML. places: where its keys stand, for the findings."""
        try:
            design = validate_mapping(cls, raw, where=where)
        except FindingsError as err:
            found = [
                (_without_tags(finding.where, raw), finding.what, _mend(finding)) for finding in err.findings
            ]
        else:
            found = [(finding.where, finding.what, finding.mend) for finding in contradictions(design)]
            if not found:
                return design
        findings = tuple(
            Finding(
                where=f"{where}:{places.line(at)} {at}" if places else f"{where} {at}", what=what, mend=mend
            )
            for at, what, mend in found
        )
        raise FindingsError("holds a design that cannot be carried out as written", findings, where=where)

    @cached_property
    def systems_expanded(self) -> Mapping[str, ExpandedSystem]:
        """Every system that can have units, by name, `checkpoints` expanded."""
        return {one.name: one for name in sorted(self.systems) for one in expand(name, self.systems[name])}

    def is_recorded(self, system: str) -> bool:
        """False where the system, or one that it is trained from, has no revision and no hash: such a result is never PRIMARY."""
        expanded = self.systems_expanded[system]
        if expanded.trained_from is not None:
            return self.is_recorded(expanded.trained_from)
        return not isinstance(expanded.model, UnrecordedModel)

    def resolve_protocol(self, name: str) -> ResolvedProtocol:
        """The protocol with everything that it reduces applied."""
        return resolve(name, self.protocols)

    def sides(self, endpoint_id: str) -> tuple[ResolvedSide, ResolvedSide]:
        """Baseline and candidate of the endpoint."""
        endpoint = self.endpoints[endpoint_id]
        return self._side(endpoint, endpoint.baseline), self._side(endpoint, endpoint.candidate)

    def _side(self, endpoint: Endpoint, side: Side) -> ResolvedSide:
        protocol = self.resolve_protocol(side.protocol or endpoint.protocol or "")
        return ResolvedSide(
            system=self.systems_expanded[side.system],
            unit=UnitId(side.system, endpoint.benchmark, protocol.name),
            protocol=protocol,
            sampling=protocol.sampling(side.sampling or endpoint.sampling or ""),
        )

    def planned_units(self) -> tuple[PlannedUnit, ...]:
        """Every unit that an endpoint or `units` names, sorted. A unit holds all samplings of its protocol."""
        return self._planned_units

    @cached_property
    def _planned_units(self) -> tuple[PlannedUnit, ...]:
        units = {UnitId.parse(text) for text in self.units}
        units |= {side.unit for name in self.endpoints for side in self.sides(name)}
        return tuple(self._planned(unit) for unit in sorted(units))

    def _planned(self, unit: UnitId) -> PlannedUnit:
        protocol = self.resolve_protocol(unit.protocol)
        whole = self.benchmarks[unit.benchmark].n
        return PlannedUnit(
            unit=unit,
            n_problems=protocol.problems.n_problems if protocol.problems else whole,
            samples=tuple((sampling.name, sampling.samples) for sampling in protocol.samplings),
        )

    def named_files(self) -> tuple[NamedFile, ...]:
        """Every file of the study that the design names, in the order of its places. Weights are not among them."""
        files = [
            NamedFile(path=path, sha256=None, place=f"pinned.{index}")
            for index, path in enumerate(self.pinned)
        ]
        files += [
            NamedFile(path=benchmark.problems, sha256=benchmark.sha256, place=f"benchmarks.{name}.sha256")
            for name, benchmark in self.benchmarks.items()
        ]
        files += [
            NamedFile(path=system.config.path, sha256=system.config.sha256, place=f"systems.{name}.config")
            for name, system in self.systems.items()
            if system.config
        ]
        for name, protocol in self.protocols.items():
            if protocol.verifier and protocol.verifier.config:
                files.append(
                    NamedFile(path=protocol.verifier.config, sha256=None, place=f"protocols.{name}.verifier")
                )
            if protocol.problems and protocol.problems.ids:
                subset = protocol.problems
                files.append(
                    NamedFile(path=subset.ids or "", sha256=subset.sha256, place=f"protocols.{name}.problems")
                )
        return tuple(sorted(files, key=lambda file: file.place))


def _without_tags(place: str, raw: object) -> str:
    """Pydantic's place without the names it gives to the members of a union: what is left stands in the file."""
    kept: list[str] = []
    parts = [part for part in place.split(".") if part != "[key]"]
    for index, part in enumerate(parts):
        if isinstance(raw, dict) and part in raw:
            raw = raw[part]
        elif isinstance(raw, list | tuple) and part.isdigit() and int(part) < len(raw):
            raw = raw[int(part)]
        elif index < len(parts) - 1 or not _may_be_key(part, raw):
            continue
        kept.append(part)
    return ".".join(kept)


def _may_be_key(part: str, raw: object) -> bool:
    """A missing key stays in the place; the name of a union's member does not."""
    tags = (
        {str(value) for value in raw.values() if isinstance(value, str)} if isinstance(raw, dict) else {part}
    )
    return part not in tags and part not in MODEL_KINDS.values()


def _mend(finding: Finding) -> str:
    if finding.what == "is missing" and finding.where.endswith(".candidate"):
        return "name a declared system; one that does not exist yet is declared by trained_from, config and checkpoint"
    if "should match pattern" in finding.what and finding.where.endswith("[key]"):
        return "names are lower case: a letter or digit, then letters, digits, _ or -, at most 48"
    return finding.mend
