"""Contradictions inside a design: names that lead nowhere, sides that could never be compared, tests that do not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from manifests.errors import BeforehandError, Finding
from manifests.names import UnitId, is_slug
from prereg.methods import MeanCorrect, PassAtK, SolvedAtK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prereg.design import Design, ResolvedSide
    from prereg.endpoints import Endpoint, Side


def contradictions(design: Design) -> tuple[Finding, ...]:
    """Every contradiction, each with its dotted place."""
    basis = (*_systems(design), *_protocols(design))
    found = [*basis, *_units(design), *_validity(design)]
    for name, endpoint in design.endpoints.items():
        dangling = tuple(_references(design, f"endpoints.{name}", endpoint))
        found += dangling
        found += _method(f"endpoints.{name}", endpoint)
        if not dangling and not basis:
            found += _sides(f"endpoints.{name}", endpoint, *design.sides(name))
            found += _sizes(design, f"endpoints.{name}", endpoint, *design.sides(name))
    return tuple(found)


def _unknown(place: str, kind: str, name: str, known: object) -> Finding:
    names = ", ".join(sorted(str(one) for one in known)) if isinstance(known, dict) else ""
    return Finding(
        where=place,
        what=f"names the {kind} {name!r}, which the design does not declare",
        mend=f"declared: {names}",
    )


def _systems(design: Design) -> Iterator[Finding]:
    expanded = design.systems_expanded
    for name, system in design.systems.items():
        for step in system.checkpoints:
            full = f"{name}-ckpt{step}"
            if full in design.systems:
                yield Finding(
                    where=f"systems.{name}.checkpoints",
                    what=f"gives {full!r}, which is declared by itself too",
                )
            if not is_slug(full):
                yield Finding(
                    where=f"systems.{name}.checkpoints", what=f"gives {full!r}, which is too long for a name"
                )
        if system.trained_from is not None and system.trained_from not in expanded:
            yield _unknown(f"systems.{name}.trained_from", "system", system.trained_from, dict(expanded))
        elif _descends_from_itself(design, name):
            yield Finding(
                where=f"systems.{name}.trained_from",
                what="leads back to the system itself",
                mend="name its real origin",
            )


def _descends_from_itself(design: Design, name: str) -> bool:
    expanded, at, seen = design.systems_expanded, design.systems[name].trained_from, set[str]()
    while at is not None and at in expanded and at not in seen:
        if expanded[at].declared_as == name:
            return True
        seen.add(at)
        at = expanded[at].trained_from
    return False


def _protocols(design: Design) -> Iterator[Finding]:
    for name, protocol in design.protocols.items():
        if protocol.reduces is not None and protocol.reduces not in design.protocols:
            yield _unknown(f"protocols.{name}.reduces", "protocol", protocol.reduces, design.protocols)
            continue
        try:
            design.resolve_protocol(name)
        except ValueError as err:
            yield Finding(
                where=f"protocols.{name}", what=str(err), mend="a reduced protocol lists only what differs"
            )
        except KeyError:  # what it reduces has a dangling name of its own, reported there
            continue


def _units(design: Design) -> Iterator[Finding]:
    for index, text in enumerate(design.units):
        place = f"units.{index}"
        try:
            unit = UnitId.parse(text)
        except BeforehandError as err:
            yield Finding(where=place, what=err.what, mend=err.mend)
            continue
        if unit.system not in design.systems_expanded:
            yield _unknown(place, "system", unit.system, dict(design.systems_expanded))
        if unit.benchmark not in design.benchmarks:
            yield _unknown(place, "benchmark", unit.benchmark, design.benchmarks)
        if unit.protocol not in design.protocols:
            yield _unknown(place, "protocol", unit.protocol, design.protocols)


def _validity(design: Design) -> Iterator[Finding]:
    for index, rule in enumerate(design.validity):
        for name in rule.endpoints:
            if name not in design.endpoints:
                yield _unknown(f"validity.{index}.endpoints", "endpoint", name, design.endpoints)


def _references(design: Design, place: str, endpoint: Endpoint) -> Iterator[Finding]:
    if endpoint.benchmark not in design.benchmarks:
        yield _unknown(f"{place}.benchmark", "benchmark", endpoint.benchmark, design.benchmarks)
    for role, side in (("baseline", endpoint.baseline), ("candidate", endpoint.candidate)):
        yield from _side_references(design, f"{place}.{role}", endpoint, side)


def _side_references(design: Design, place: str, endpoint: Endpoint, side: Side) -> Iterator[Finding]:
    if side.system not in design.systems_expanded:
        steps = [name for name, one in design.systems_expanded.items() if one.declared_as == side.system]
        if steps:
            yield Finding(
                where=place,
                what=f"leaves open which checkpoint of {side.system!r}",
                mend=f"name one: {', '.join(steps)}",
            )
        else:
            yield _unknown(place, "system", side.system, dict(design.systems_expanded))
    protocol_name = side.protocol or endpoint.protocol
    if protocol_name is None:
        yield Finding(where=place, what="has no protocol", mend="give one to the endpoint or to each side")
        return
    if protocol_name not in design.protocols:
        yield _unknown(f"{place}.protocol", "protocol", protocol_name, design.protocols)
        return
    sampling_name = side.sampling or endpoint.sampling
    if sampling_name is None:
        yield Finding(where=place, what="has no sampling", mend="give one to the endpoint or to each side")
        return
    try:
        design.resolve_protocol(protocol_name).sampling(sampling_name)
    except KeyError:
        what = f"names the sampling {sampling_name!r}, which the protocol {protocol_name!r} does not have"
        yield Finding(where=f"{place}.sampling", what=what)
    except ValueError:  # the protocol itself is wrong, reported there
        return


def _method(place: str, endpoint: Endpoint) -> Iterator[Finding]:
    test, metric = endpoint.test, endpoint.metric
    if endpoint.decide not in test.decides:
        what = f"{endpoint.decide!r} needs what {test.name} does not give"
        yield Finding(where=f"{place}.decide", what=what, mend=f"write {' or '.join(test.decides)}")
    if test.binary_only and isinstance(metric, PassAtK):
        what = f"{test.name} needs 0 or 1 a problem, and pass_at_k is a share"
        yield Finding(
            where=f"{place}.test", what=what, mend=f"use solved_at_k with k = {metric.k}, or paired_bootstrap"
        )


def _sides(
    place: str, endpoint: Endpoint, baseline: ResolvedSide, candidate: ResolvedSide
) -> Iterator[Finding]:
    """What differs must be named by `varies`, or be a matter of size that `pairing` settles."""
    one, other = baseline.sampling, candidate.sampling
    differing = {
        "system": baseline.system.name != candidate.system.name,
        "cap_tokens": baseline.protocol.cap_tokens != candidate.protocol.cap_tokens,
        "verifier": baseline.protocol.verifier != candidate.protocol.verifier,
        "prompt": one.prompt != other.prompt,
        "sampling": (one.temperature, one.top_p, one.top_k) != (other.temperature, other.top_p, other.top_k),
    }
    for aspect, differs in differing.items():
        if differs and aspect not in endpoint.varies:
            what = f"the two sides differ in {aspect}, which `varies` does not name"
            yield Finding(
                where=f"{place}.varies",
                what=what,
                mend="the comparison would be invalid: use one protocol, or say so",
            )
    if not any(differing.values()):
        yield Finding(
            where=place, what="compares a system with itself", mend="name two sides that differ in something"
        )
    smaller_set = baseline.protocol.problems != candidate.protocol.problems
    fewer_samples = one.samples != other.samples or one.seeds != other.seeds
    if smaller_set and endpoint.pairing.problems == "same":
        mend = 'write pairing = { problems = "candidate" }, naming the side with fewer'
        yield Finding(where=f"{place}.pairing", what="the two sides plan different problems", mend=mend)
    if fewer_samples and endpoint.pairing.samples == "same":
        mend = 'write pairing = { samples = "candidate" }, naming the side with fewer'
        yield Finding(where=f"{place}.pairing", what="the two sides plan different samples", mend=mend)


def _sizes(
    design: Design, place: str, endpoint: Endpoint, baseline: ResolvedSide, candidate: ResolvedSide
) -> Iterator[Finding]:
    samples = min(baseline.sampling.samples, candidate.sampling.samples)
    metric = endpoint.metric
    if isinstance(metric, SolvedAtK | PassAtK) and metric.k > samples:
        mend = "a k beyond the samples cannot be computed"
        yield Finding(
            where=f"{place}.metric.k", what=f"is {metric.k}, with {samples} samples a problem", mend=mend
        )
    if endpoint.test.binary_only and isinstance(metric, MeanCorrect):
        what = f"{endpoint.test.name} needs 0 or 1 a problem, and mean_correct is a share"
        mend = "use solved_at_k with k = 1" if samples == 1 else "use solved_at_k, or paired_bootstrap"
        yield Finding(where=f"{place}.test", what=what, mend=mend)
    whole = design.benchmarks[endpoint.benchmark].n
    for side in (baseline, candidate):
        subset = side.protocol.problems
        if subset is not None and subset.n_problems > whole:
            what = f"takes {subset.n_problems} problems of a benchmark of {whole}"
            yield Finding(where=f"protocols.{side.protocol.name}.problems", what=what)
