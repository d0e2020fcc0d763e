"""Pointing: the pointers of an aggregate, each number printed once and for all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import get_args

from manifests.roster import Status
from report.aggregate import Aggregate, Estimate, MoneyGroup, Node, SamplingNode, UnitNode
from report.numbers import DASH, caps, count, decimal, p_value, percent, points, usd
from report.pointers import Numbers, PointedValue, Provenance


def point_at(aggregate: Aggregate) -> Numbers:
    """Every pointer of the aggregate, in a fixed order."""
    pointers: dict[str, Provenance] = {}
    for where, nodes in (
        ("endpoints", aggregate.endpoints),
        ("as_registered", aggregate.as_registered),
        ("exploratory", aggregate.exploratory),
    ):
        for name, node in nodes.items():
            key = f"{name}-as-registered" if where == "as_registered" else name
            pointers[key] = _of_node(node, at=f"{where}.{name}")
    for name, unit in aggregate.units.items():
        for sampling, one in unit.samplings.items():
            pointers[f"{name}/{sampling}"] = _of_sampling(name, sampling, one)
    pointers["units"] = _of_units(aggregate.units)
    pointers["registration"] = _of_registration(aggregate)
    pointers |= _of_money(aggregate)
    return Numbers(pointers)


def _of_node(node: Node, *, at: str) -> Provenance:
    estimate = node.estimate
    values = dict(_estimate_values(estimate)) if estimate else {}
    if estimate and node.naive:
        values |= {f"naive_{name}": value for name, value in _estimate_values(node.naive)}
    if node.change:
        for name, number in node.change.model_dump().items():
            values[name] = _count(number)
    if node.planning:
        values["spread"] = _value(decimal(node.planning.spread, 3), node.planning.spread)
        if node.planning.detectable is not None:
            values["detectable"] = _value(
                points(node.planning.detectable).removeprefix("+"), node.planning.detectable
            )
    if node.fragility and node.fragility.n_flips is not None:
        values["flips"] = _count(node.fragility.n_flips)
        values["lost_after"] = _count(node.fragility.lost_after or 0)
        values["gained_after"] = _count(node.fragility.gained_after or 0)
    return Provenance(
        method=_method(node),
        n=_n(node, estimate) if estimate else "no number",
        label=node.label,
        units=tuple(entry.unit for entry in node.inputs),
        at=at,
        values=values,
    )


def _estimate_values(estimate: Estimate) -> Iterator[tuple[str, PointedValue]]:
    yield "gain", _value(points(estimate.value), estimate.value)
    if estimate.ci:
        yield "ci_low", _value(points(estimate.ci.low), estimate.ci.low)
        yield "ci_high", _value(points(estimate.ci.high), estimate.ci.high)
    if estimate.p is not None or estimate.log10_p is not None:
        shown = p_value(estimate.p, at_floor=estimate.p_at_floor, log10_p=estimate.log10_p)
        yield "p", PointedValue(shown=shown, exact=f"{estimate.p!r}")
    yield "n_problems", _count(estimate.n_problems)
    if estimate.n_samples is not None:
        yield "n_samples", _count(estimate.n_samples)
    for name, side in (("baseline", estimate.baseline), ("candidate", estimate.candidate)):
        yield name, _value(percent(side.value), side.value)
        if side.numerator is not None and side.denominator is not None:
            yield f"{name}_correct", _count(side.numerator)
            yield f"{name}_of", _count(side.denominator)
    if estimate.paired:
        for name, number in estimate.paired.model_dump().items():
            yield name, _count(number)


def method_of(node: Node) -> str:
    """Metric and test with the parameters that the design gives them."""
    parts = []
    for key in ("metric", "test"):
        value = node.registered_as[key]
        if isinstance(value, dict):
            shown = [str(value["name"])]
            shown += [f"{name} {one}" for name, one in value.items() if one is not None and name != "name"]
            parts.append(", ".join(shown))
    return "; ".join(parts)


def _method(node: Node) -> str:
    """The method and what fixes its random numbers."""
    text = method_of(node)
    if node.estimate and (digest := node.estimate.parameters.get("index_sha256")):
        text += f"; resampling index sha256 {str(digest)[:12]}"
    return text


def _n(node: Node, estimate: Estimate) -> str:
    """Which rows: problems, samples, sampling, round, cap."""
    samples = DASH if estimate.n_samples is None else count(estimate.n_samples)
    metric, side = node.registered_as["metric"], node.registered_as["candidate"]
    sampling = (isinstance(side, dict) and side.get("sampling")) or node.registered_as["sampling"]
    round_ = metric.get("round", 0) if isinstance(metric, dict) else 0
    return (
        f"{count(estimate.n_problems)} problems × {samples} samples, sampling {sampling}, round {round_}, "
        f"{caps(estimate.baseline.cap_tokens, estimate.candidate.cap_tokens)} tokens"
    )


def _of_sampling(unit: str, sampling: str, node: SamplingNode) -> Provenance:
    values: dict[str, PointedValue] = {
        name: _count(getattr(node, name)) for name in ("planned", "got", "judged", "correct", "compared")
    }
    if node.judged:
        values["share"] = _share(node.correct, node.judged)
    if node.truncated is not None:
        values["truncated"] = _count(node.truncated)
        if node.got:
            values["truncated_share"] = _share(node.truncated, node.got)
    if node.mean_max_tokens is not None:
        values["max_tokens"] = _value(decimal(node.mean_max_tokens, 1), node.mean_max_tokens)
    if node.lengths:
        for name in ("mean", "median", "p90"):
            number = getattr(node.lengths, name)
            values[name] = _value(decimal(number, 1), number)
        values["max"] = _count(node.lengths.max)
    values |= dict(_extraction_values(node)) | dict(_curve_values(node))
    for place, reason in enumerate(node.reasons, start=1):
        values[f"reason_{place}"] = _count(reason.rows)
    return Provenance(
        method="counts over the rows of this sampling; pass@k: unbiased estimator, mean over problems, round 0",
        n=f"{count(node.got)} rows, {count(node.n_problems)} problems, cap {count(node.cap_tokens)} tokens",
        label="descriptive",
        units=(unit,),
        at=f"units.{unit}.samplings.{sampling}",
        values=values,
    )


def _curve_values(node: SamplingNode) -> Iterator[tuple[str, PointedValue]]:
    for point in node.pass_at_k:
        if point.value is not None:
            yield f"pass{point.k}", _value(percent(point.value), point.value)
        if point.ci is not None:
            yield f"pass{point.k}_low", _value(percent(point.ci.low), point.ci.low)
            yield f"pass{point.k}_high", _value(percent(point.ci.high), point.ci.high)


def _extraction_values(node: SamplingNode) -> Iterator[tuple[str, PointedValue]]:
    found = node.extraction
    for name, number in found.extractors.items():
        yield f"extracted_{name}", _count(number)
        if node.got:
            yield f"extracted_{name}_share", _share(number, node.got)
    if found.answered is not None:
        if node.got:
            yield "answered_share", _share(found.answered, node.got)
        if found.answered and found.answered_correct is not None:
            yield "correct_given_answer", _share(found.answered_correct, found.answered)
    if node.truncated and found.truncated_answered is not None:
        yield "truncated_answered_share", _share(found.truncated_answered, node.truncated)
    if node.truncated and found.truncated_correct is not None:
        yield "truncated_correct_share", _share(found.truncated_correct, node.truncated)


def _of_units(units: Mapping[str, UnitNode]) -> Provenance:
    values = {"planned": _count(len(units))}
    for status in get_args(Status):
        values[status] = _count(sum(unit.status == status for unit in units.values()))
    samplings = [one for unit in units.values() for one in unit.samplings.values()]
    for name in ("planned", "got", "judged", "correct", "compared"):
        values[f"rows_{name}"] = _count(sum(getattr(one, name) for one in samplings))
    return Provenance(
        method="counts over the roster and the unit records; compared: the most rows of a sampling that one endpoint used",
        n=f"{count(len(units))} planned units",
        label="descriptive",
        units=tuple(name for name, unit in units.items() if unit.status == "found"),
        at="units",
        values=values,
    )


def _of_registration(aggregate: Aggregate) -> Provenance:
    node = aggregate.registration
    return Provenance(
        method="counts in registration.json and amendments.jsonl",
        n="1 registration",
        label="descriptive",
        units=(),
        at="registration",
        values={
            "amendments": _count(len(node.amendments)),
            "witness_found": _count(len(node.found)),
            "witness_touching": _count(sum(bool(one.touches) for one in node.found)),
            "deviations": _count(aggregate.log.get("DEVIATION", 0)),
            "errata": _count(aggregate.log.get("ERRATUM", 0)),
            "log_entries": _count(sum(aggregate.log.values())),
        },
    )


def _of_money(aggregate: Aggregate) -> dict[str, Provenance]:
    money = aggregate.money
    values = {"entries": _count(money.entries), "seconds": _seconds(money.seconds)}
    amounts = {
        "spent": money.spent_usd,
        "reserved": money.reserved_usd,
        "cap": money.cap_usd,
        "remaining": money.remaining_usd,
        "floor": money.bases.floor_usd,
        "wall_clock": money.bases.wall_clock_usd,
        "per_unit": money.per_unit_usd,
        "per_conclusion": money.per_conclusion_usd,
    }
    values |= {name: _usd(amount) for name, amount in amounts.items() if amount is not None}
    head = f"sum over {count(money.entries)} rows of ledger.csv"
    found = {"money": _money("sums over ledger.csv", head, "money", values)}
    for kind, groups in (
        ("phase", money.by_phase),
        ("flavor", money.by_flavor),
        ("status", money.by_status),
        ("purchase", money.by_purchase),
    ):
        for place, group in enumerate(groups):
            found[f"money-{kind}-{place + 1}"] = _of_group(kind, place, group)
    for unit, cost in money.units.items():
        found[f"money-{unit}"] = _money(
            "a job that serves several units is split evenly",
            f"{len(cost.job_ids)} jobs",
            f"money.units.{unit}",
            {"spent": _usd(cost.spent_usd)},
        )
    return found


def _of_group(kind: str, place: int, group: MoneyGroup) -> Provenance:
    return _money(
        f"sum over the bookings of one {kind}",
        f"{count(group.bookings)} bookings",
        f"money.by_{kind}.{place}",
        {
            "spent": _usd(group.spent_usd),
            "floor": _usd(group.floor_usd),
            "seconds": _seconds(group.seconds),
            "bookings": _count(group.bookings),
        },
    )


def _money(method: str, n: str, at: str, values: dict[str, PointedValue]) -> Provenance:
    return Provenance(method=method, n=n, label="descriptive", units=(), at=at, values=values)


def _value(shown: str, exact: float) -> PointedValue:
    return PointedValue(shown=shown, exact=f"{exact!r}")


def _count(number: int) -> PointedValue:
    return PointedValue(shown=count(number), exact=str(number))


def _share(part: int, whole: int) -> PointedValue:
    return PointedValue(shown=percent(part / whole), exact=f"{part}/{whole}")


def _usd(amount: str) -> PointedValue:
    return PointedValue(shown=usd(Decimal(amount)), exact=amount)


def _seconds(seconds: str) -> PointedValue:
    return PointedValue(shown=f"{decimal(float(seconds), 1)}\u00a0s", exact=seconds)
