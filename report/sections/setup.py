"""Setup and pins: every model, its role, every protocol, every verifier and problem set."""

from __future__ import annotations

from collections import defaultdict

from prereg.protocols import ResolvedProtocol, ResolvedSampling
from prereg.systems import ExpandedSystem, HubModel, LocalModel
from report.content import Block, Cell, Code, Column, Inline, Section, Table, Text
from report.numbers import DASH
from report.sections.material import Material, plain


def setup(material: Material) -> Section:
    """Section 5."""
    return Section(
        id="setup",
        title="Setup and pins",
        blocks=(
            _systems(material),
            _protocols(material),
            _benchmarks(material),
            *material.notes.get("setup", ()),
        ),
    )


def _systems(material: Material) -> Block:
    design = material.evidence.design
    roles: dict[str, set[str]] = defaultdict(set)
    for name, endpoint in design.endpoints.items():
        roles[endpoint.baseline.system].add(f"baseline of {name}")
        roles[endpoint.candidate.system].add(f"candidate of {name}")
    rows = tuple(
        (
            Cell((Code(name),)),
            Cell(_pin(system)),
            plain(", ".join(sorted(roles[name])) or "no endpoint names it"),
        )
        for name, system in design.systems_expanded.items()
    )
    return Table(
        caption="Systems",
        note="A system is known by a revision or a hash, or by what it is trained from.",
        columns=(Column("System"), Column("What it is"), Column("Roles")),
        rows=rows,
        stacked=True,
    )


def _pin(system: ExpandedSystem) -> Text:
    model = system.model
    if isinstance(model, HubModel):
        return (Code(model.repo), " at ", Code(model.revision))
    if isinstance(model, LocalModel):
        return (Code(model.path), ", tree sha256 ", Code(model.tree_sha256), f", from {model.source}")
    if model is not None:
        return (f"no revision recorded: {model.unrecorded}",)
    parts: list[Inline] = ["trained from ", Code(system.trained_from or "")]
    if system.config:
        parts += [" by ", Code(system.config.path), ", sha256 ", Code(system.config.sha256[:12])]
    return (*parts, f", checkpoint {system.checkpoint}")


def _protocols(material: Material) -> Block:
    design = material.evidence.design
    used = sorted({unit.unit.protocol for unit in design.planned_units()})
    rows = []
    for name in used:
        protocol = design.resolve_protocol(name)
        rows += [
            (
                Cell((Code(name),)),
                plain(sampling.name),
                Cell((f"{sampling.samples:,d}",), sort=str(sampling.samples)),
                plain(_drawn(sampling)),
                Cell((f"{protocol.cap_tokens:,d}",), sort=str(protocol.cap_tokens)),
                plain(_verifier(protocol)),
            )
            for sampling in protocol.samplings
        ]
    return Table(
        caption="Protocols",
        note="Cap: tokens of a completion at most. Samples: of each problem.",
        columns=(
            Column("Protocol"), Column("Sampling"), Column("Samples", numeric=True), Column("How drawn"),
            Column("Cap", numeric=True), Column("Verifier"),
        ),
        rows=tuple(rows),
        stacked=True,
    )  # fmt: skip


def _drawn(sampling: ResolvedSampling) -> str:
    parts = [
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in (
            ("T", sampling.temperature),
            ("top_p", sampling.top_p),
            ("top_k", sampling.top_k),
            ("prompt", sampling.prompt),
            ("seeds", None if sampling.seeds is None else _seeds(sampling.seeds)),
        )
        if value is not None
    ]
    return ", ".join(parts) or DASH


def _seeds(seeds: tuple[int, ...]) -> str:
    in_a_row = seeds == tuple(range(seeds[0], seeds[0] + len(seeds)))
    return f"{seeds[0]} to {seeds[-1]}" if in_a_row and len(seeds) > 1 else ", ".join(map(str, seeds[:12]))


def _verifier(protocol: ResolvedProtocol) -> str:
    verifier = protocol.verifier
    if verifier is None:
        return "not stated"
    parts = [verifier.kind, *(f"{key} {value}" for key, value in verifier.pins)]
    if verifier.budget_s is not None:
        parts.append(f"budget {verifier.budget_s:g} s")
    return ", ".join(parts)


def _benchmarks(material: Material) -> Block:
    rows = tuple(
        (
            Cell((Code(name),)),
            Cell((Code(benchmark.problems),)),
            Cell((f"{benchmark.n:,d}",), sort=str(benchmark.n)),
            Cell((Code(benchmark.sha256),)),
        )
        for name, benchmark in sorted(material.evidence.design.benchmarks.items())
    )
    return Table(
        caption="Problem sets",
        columns=(Column("Benchmark"), Column("File"), Column("n", numeric=True), Column("sha256")),
        rows=rows,
        stacked=True,
    )
