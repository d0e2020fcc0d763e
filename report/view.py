"""The view: what the templates print, every cell Markdown already, foreign text escaped once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import get_args

from manifests.roster import Status
from report import markdown
from report.aggregate import Aggregate, Node, SamplingNode
from report.evidence import Evidence
from report.markdown import code, escape
from report.numbers import DASH, count, decimal, interval, p_phrase, percent, points, usd
from report.sentences import (
    CONCLUSIONS,
    RULES,
    agree,
    capitalised,
    conclusion_word,
    endpoint_sentence,
    gain_phrase,
    n_phrase,
    p_text,
    seconds_phrase,
    sides_phrase,
)

LEGEND = "`registered` · `amended-before-results` · `amended-after-results` · `exploratory` · `retrospective`"
INTEGRITY = "Hashes show integrity, not identity and not time."


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Everything a template may use; `StrictUndefined` refuses the rest."""

    title: str
    banner: str
    conclusions: tuple[str, ...]
    status: str
    facts: tuple[str, ...]
    legend: str
    integrity: str
    summary_table: str
    figure_alt: str
    sentences: tuple[str, ...]
    warnings: tuple[str, ...]
    block: str
    registration: tuple[str, ...]
    deviations: str
    decisions: str
    setup: str
    units_table: str
    flow: str
    primary: tuple[str, ...]
    paired_table: str
    pass_at_k_table: str
    diagnostics_table: str
    limitations: tuple[str, ...]
    cost: tuple[str, ...]
    study: str
    inventory: str


def make_view(evidence: Evidence, aggregate: Aggregate) -> View:
    """The view of one build."""
    nodes = {**aggregate.endpoints, **aggregate.exploratory}
    primaries = {name: node for name, node in nodes.items() if node.role == "primary"}
    return View(
        title=escape(evidence.study.config.title),
        banner=_banner(evidence),
        conclusions=tuple(_conclusion(name, node) for name, node in primaries.items())
        or ("The design names no primary endpoint, so nothing here is a conclusion.",),
        status=_status(aggregate, primaries),
        facts=_facts(evidence, aggregate, primaries),
        legend=LEGEND,
        integrity=INTEGRITY,
        summary_table=_summary_table(nodes),
        figure_alt=escape(_figure_alt(nodes)),
        sentences=tuple(endpoint_sentence(name, node) for name, node in nodes.items()),
        warnings=tuple(
            f"{name}: {escape(warning)}" for name, node in nodes.items() for warning in node.warnings
        ),
        block=markdown.quote(evidence.block_text, language="markdown"),
        registration=_registration(evidence, aggregate),
        deviations=_deviations(evidence),
        decisions=_decisions(evidence),
        setup=_setup(evidence),
        units_table=_units_table(aggregate),
        flow=_flow(aggregate),
        primary=tuple(line for name, node in primaries.items() for line in _primary(name, node)),
        paired_table=_paired_table(nodes),
        pass_at_k_table=_pass_at_k_table(aggregate),
        diagnostics_table=_diagnostics_table(aggregate),
        limitations=_limitations(evidence, aggregate),
        cost=_cost(evidence, aggregate),
        study=evidence.study.config.name,
        inventory=_inventory(evidence),
    )


def _banner(evidence: Evidence) -> str:
    status = evidence.verification.status
    if status == "unchanged":
        return ""
    sentence = {
        "not_frozen": "NOT FROZEN. Nothing was registered; every number below is exploratory.",
        "changed": "REGISTRATION CHANGED AFTER THE FREEZE. Numbers below follow the frozen text that the record keeps.",
        "line_endings_only": "REGISTRATION CHANGED AFTER THE FREEZE, in its line endings alone.",
        "record_altered": "THE FREEZE RECORD WAS ALTERED. What was registered cannot be shown.",
    }.get(status, f"REGISTRATION {status.upper()}.")
    return f"**{sentence}**"


def _conclusion(name: str, node: Node) -> str:
    estimate = node.estimate
    if estimate is None:
        return f"Primary endpoint {name}: {conclusion_word(node)}. {capitalised(escape(node.reason or ''))}."
    rule = RULES[str(node.registered_as["decide"])]
    candidate, baseline = estimate.candidate, estimate.baseline
    sentence = (
        f"On {count(estimate.n_problems)} problems, {estimate.name} of {candidate.system} is "
        f"{percent(candidate.value)}\u00a0%{_of(candidate.numerator, candidate.denominator)}, of {baseline.system} "
        f"{percent(baseline.value)}\u00a0%{_of(baseline.numerator, baseline.denominator)}: "
        f"**a paired gain of {gain_phrase(estimate)}** ({_level(node)} interval, cap {count(estimate.cap_tokens)} tokens)."
    )
    if node.label == "retrospective":
        return f"{sentence} By the plan's own rule, *{rule}*, it would read *{CONCLUSIONS[node.conclusion]}*."
    return f"{sentence} By the registered rule, *{rule}*: **{CONCLUSIONS[node.conclusion]}**."


def _of(numerator: int | None, denominator: int | None) -> str:
    return (
        "" if numerator is None or denominator is None else f" ({count(numerator)} of {count(denominator)})"
    )


def _level(node: Node) -> str:
    if node.estimate is None or node.estimate.ci is None:
        return "no"
    return f"{decimal(100 * float(node.estimate.ci.level), 0)}\u00a0%"


def _status(aggregate: Aggregate, primaries: dict[str, Node]) -> str:
    if any(node.primary for node in primaries.values()):
        return f"**PRIMARY.** Frozen {aggregate.registration.frozen_at}. Witness: {escape(aggregate.registration.witness)}."
    if any(node.label == "retrospective" for node in primaries.values()):
        return "**Retrospective, not a confirmatory result.** The rows are older than the registration; no number here is PRIMARY."
    return "**Not a confirmatory result.** Section 7 says why; no number here is PRIMARY."


def _facts(evidence: Evidence, aggregate: Aggregate, primaries: dict[str, Node]) -> tuple[str, ...]:
    labels = {node.label for node in primaries.values()}
    registered = {
        frozenset({"registered"}): "yes, by the records"
        + (" and the witness" if evidence.witness else "; no witness is recorded"),
        frozenset({"retrospective"}): "no, the rows are older than the registration",
    }.get(frozenset(labels), "no")
    words = (
        "; ".join(f"{name} {conclusion_word(node)}" for name, node in primaries.items()) or "none is planned"
    )
    sizes = "; ".join(
        f"{name}: {_p_or_dash(node)}, {n_phrase(node.estimate)} (problems × samples)"
        for name, node in primaries.items()
        if node.estimate is not None
    )
    deviations = sum(entry.kind == "DEVIATION" for entry in evidence.decisions.entries)
    rows = sum(sampling.got for unit in aggregate.units.values() for sampling in unit.samplings.values())
    found = sum(unit.status == "found" for unit in aggregate.units.values())
    return (
        f"**Registered before data?** {capitalised(registered)}.",
        f"**Primary conclusion:** {words}.",
        f"**p and n:** {sizes or 'no primary number'}.",
        f"**Deviations:** {deviations} ([list](#4-deviations-and-decisions)); 0 amendments.",
        f"**Cost:** {_cost_fact(aggregate)}.",
        f"**Inputs:** {found} of {len(aggregate.units)} planned units, {count(rows)} rows, digests in [section 14](#14-inventory).",
    )


def _p_or_dash(node: Node) -> str:
    if node.estimate is None or p_text(node.estimate) == DASH:
        return "no p in its rule"
    return p_phrase(p_text(node.estimate))


def _cost_fact(aggregate: Aggregate) -> str:
    money = aggregate.money
    if money.entries == 0:
        return "not booked"
    cap = f" of a cap of {usd(Decimal(money.cap_usd))}" if money.cap_usd is not None else ", no cap set"
    return f"{usd(Decimal(money.spent_usd))}{cap}; {seconds_phrase(money.seconds)} booked"


def _summary_table(nodes: dict[str, Node]) -> str:
    rows = []
    for name, node in nodes.items():
        bold = "**" if node.role == "primary" else ""
        what = f"{bold}{_comparison(node)}, {node.role}{bold}"
        estimate = node.estimate
        if estimate is None:
            shown = "withheld" if node.conclusion == "invalid" else conclusion_word(node)
            rows.append([name, what, shown, DASH, DASH, DASH, node.label])
            continue
        rates = f"{percent(estimate.baseline.value)} → {percent(estimate.candidate.value)}"
        bounds = interval(
            estimate.ci.low if estimate.ci else None, estimate.ci.high if estimate.ci else None, signed=True
        )
        gain = f"{points(estimate.value)} {bounds}"
        rows.append([name, what, gain, rates, n_phrase(estimate), p_text(estimate), node.label])
    columns = ["Id", "Comparison", "Gain, pp [interval]", "Baseline → candidate, %", "n", "p", "Label"]
    return markdown.table(columns, rows, numeric=columns[2:4])


def _comparison(node: Node) -> str:
    if node.estimate is None:
        return sides_phrase(node)
    return f"{node.estimate.name}, {sides_phrase(node)}, cap {count(node.estimate.cap_tokens)}"


def _figure_alt(nodes: dict[str, Node]) -> str:
    above: list[str] = []
    below: list[str] = []
    includes: list[str] = []
    without: list[str] = []
    for name, node in nodes.items():
        ci = node.estimate.ci if node.estimate else None
        if ci is None:
            without.append(name)
        else:
            (above if ci.low > 0 else below if ci.high < 0 else includes).append(name)
    parts = [
        f"{', '.join(names)} {verb if len(names) == 1 else plural}"
        for names, verb, plural in (
            (above, "lies above 0", "lie above 0"),
            (below, "lies below 0", "lie below 0"),
            (includes, "includes 0", "include 0"),
            (without, "has no interval", "have no interval"),
        )
        if names
    ]
    return f"Paired gains with intervals. {'; '.join(parts) or 'No comparison is planned'}."


def _registration(evidence: Evidence, aggregate: Aggregate) -> tuple[str, ...]:
    node = aggregate.registration
    lines = [f"Status: **{node.status.replace('_', ' ')}**."]
    if node.block_sha256 is not None:
        lines.append(
            f"Block sha256 {code(node.block_sha256)}, frozen at {node.frozen_at} by this machine's clock."
        )
    lines.append(f"Witness: {escape(node.witness)}.")
    if evidence.registration is not None and evidence.registration.acknowledged:
        lines.append(f"Acknowledged at the freeze: {escape(evidence.registration.acknowledged)}")
    lines.extend(
        escape(str(finding).removeprefix("- ").replace("\n", " "))
        for finding in evidence.verification.findings
    )
    older = sorted(
        str(unit)
        for unit, there in evidence.units.items()
        if there.record.registration_sha256 != node.block_sha256 or node.block_sha256 is None
    )
    if older:
        lines.append(
            f"Units whose record does not name this registration: {', '.join(code(unit) for unit in older)}."
        )
    return tuple(lines)


def _deviations(evidence: Evidence) -> str:
    rows = [
        [entry.id, entry.day.isoformat(), escape(_first_line(entry.text))]
        for entry in evidence.decisions.entries
        if entry.kind == "DEVIATION"
    ]
    return (
        markdown.table(["Id", "Date", "What differed"], rows) if rows else "None is logged in `DECISIONS.md`."
    )


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _decisions(evidence: Evidence) -> str:
    entries = evidence.decisions.entries
    if not entries:
        return "The decision log is empty."
    text = "\n\n".join(
        f"{entry.day.isoformat()} · {entry.kind} · {entry.id}{f' · mends {entry.mends}' if entry.mends else ''}\n"
        f"{entry.text.strip()}"
        for entry in entries
    )
    return markdown.quote(text, language="text")


def _setup(evidence: Evidence) -> str:
    rows = []
    for name, system in evidence.design.systems_expanded.items():
        model = system.model
        if model is not None:
            pin = ", ".join(f"{key} {value}" for key, value in model.model_dump(mode="json").items())
        else:
            config = (
                f"{system.config.path} sha256 {system.config.sha256[:12]}" if system.config else "no config"
            )
            pin = f"trained from {system.trained_from}, {config}, checkpoint {system.checkpoint}"
        rows.append([code(name), escape(pin)])
    return markdown.table(["System", "What it is"], rows)


def _units_table(aggregate: Aggregate) -> str:
    rows = []
    for name, unit in aggregate.units.items():
        if unit.status != "found":
            why = (
                f"{unit.reason} ({unit.decision})" if unit.reason else "not there yet; rebuild when it lands"
            )
            rows.append([code(name), unit.status, DASH, DASH, DASH, DASH, escape(why)])
            continue
        note = "not regraded" if unit.regraded is False else ""
        rows.extend(
            [code(name), "found", sampling, count(node.planned), count(node.got), count(node.judged), note]
            for sampling, node in unit.samplings.items()
        )
    columns = ["Unit", "Status", "Sampling", "Rows planned", "Got", "Judged", "Note"]
    return markdown.table(columns, rows, numeric=columns[3:6])


def _flow(aggregate: Aggregate) -> str:
    statuses = Counter(unit.status for unit in aggregate.units.values())
    parts = ", ".join(f"{statuses[status]} {status}" for status in get_args(Status) if statuses[status])
    return f"{len(aggregate.units)} units planned: {parts or 'none'}."


def _primary(name: str, node: Node) -> list[str]:
    rule = RULES[str(node.registered_as["decide"])]
    lines = [f"**{name}.** Decision rule: {rule}. Test: {code(_test(node))}."]
    if node.not_primary_because:
        lines.append(
            "**Why not PRIMARY:** " + "; ".join(escape(reason) for reason in node.not_primary_because) + "."
        )
    lines.append(endpoint_sentence(name, node))
    return lines


def _test(node: Node) -> str:
    test = node.registered_as["test"]
    if not isinstance(test, dict):
        return ""
    return ", ".join(f"{key} = {value}" for key, value in test.items() if value is not None)


def _paired_table(nodes: dict[str, Node]) -> str:
    rows = []
    for name, node in nodes.items():
        if node.estimate is not None and node.estimate.paired is not None:
            paired = node.estimate.paired
            cells = [paired.both, paired.lost, paired.gained, paired.neither, node.estimate.n_problems]
            rows.append([name, *(count(cell) for cell in cells), p_text(node.estimate)])
    columns = ["Id", "Both", "Baseline only", "Candidate only", "Neither", "n", "Exact McNemar p"]
    if not rows:
        return "No endpoint counts a problem as 0 or 1, so there is no discordant table."
    return markdown.table(columns, rows, numeric=columns[1:6])


def _pass_at_k_table(aggregate: Aggregate) -> str:
    rows = []
    for unit, name, node in _samplings(aggregate):
        for entry in node.pass_at_k:
            bounds = interval(
                entry.ci.low if entry.ci else None, entry.ci.high if entry.ci else None, signed=False
            )
            value = percent(entry.value) if entry.value is not None else "not estimable"
            rows.append(
                [
                    code(unit),
                    name,
                    str(entry.k),
                    value,
                    bounds,
                    count(node.cap_tokens),
                    _mean(node.mean_max_tokens),
                ]
            )
    columns = ["Unit", "Sampling", "k", "pass@k, %", "95 % interval", "Cap", "Mean effective `max_tokens`"]
    return (
        markdown.table(columns, rows, numeric=[*columns[2:4], *columns[5:]])
        if rows
        else "No unit is there yet."
    )


def _diagnostics_table(aggregate: Aggregate) -> str:
    rows = []
    for unit, name, node in _samplings(aggregate):
        cut = DASH if node.truncated is None or not node.got else percent(node.truncated / node.got)
        share = percent(node.correct / node.judged) if node.judged else DASH
        rows.append([code(unit), name, count(node.got), share, cut, _mean(node.mean_completion_tokens)])
    columns = ["Unit", "Sampling", "n rows", "Correct, %", "Truncated, %", "Mean completion tokens"]
    return markdown.table(columns, rows, numeric=columns[2:]) if rows else "No unit is there yet."


def _samplings(aggregate: Aggregate) -> list[tuple[str, str, SamplingNode]]:
    return [
        (unit, name, node)
        for unit, entry in aggregate.units.items()
        for name, node in entry.samplings.items()
    ]


def _mean(value: float | None) -> str:
    return DASH if value is None else decimal(value, 1)


def _limitations(evidence: Evidence, aggregate: Aggregate) -> tuple[str, ...]:
    found = []
    missing = [name for name, unit in aggregate.units.items() if unit.status != "found"]
    if missing:
        found.append(
            f"{agree(len(missing), 'planned unit is', 'planned units are')} not there: {', '.join(code(name) for name in missing)}."
        )
    if any(unit.regraded is False for unit in aggregate.units.values()):
        found.append("Verdicts were read from the source, not graded again.")
    unrecorded = sorted(
        name for name in evidence.design.systems_expanded if not evidence.design.is_recorded(name)
    )
    if unrecorded:
        found.append(
            f"No revision or hash of the weights is recorded for {', '.join(code(name) for name in unrecorded)}."
        )
    small = [
        name
        for name, node in aggregate.endpoints.items()
        if node.estimate is not None and node.estimate.n_problems < 100
    ]
    if small:
        found.append(
            f"Fewer than 100 problems stand behind {', '.join(small)}: percentile intervals are too narrow there."
        )
    found.append(
        "Intervals cover the choice of problems; they say nothing about another training run or sampling seed."
    )
    found.append(INTEGRITY)
    return tuple(found)


def _cost(evidence: Evidence, aggregate: Aggregate) -> tuple[str, ...]:
    money = aggregate.money
    if money.entries == 0:
        return ("Nothing is booked in the ledger.",)
    lines = [f"{_cost_fact(aggregate)}, in {agree(money.entries, 'ledger row', 'ledger rows')}."]
    lines.append(f"Reserved: {usd(Decimal(money.reserved_usd))}.")
    lines.append(f"Ledger head: row {money.head_seq}, {code(money.head_hash or '')}.")
    lines.extend(
        f"Ledger finding: {escape(finding.where)}: {escape(finding.what)}."
        for finding in evidence.ledger.findings
    )
    return tuple(lines)


def _inventory(evidence: Evidence) -> str:
    rows = [[code(file.path), file.kind, count(file.bytes), code(file.sha256)] for file in evidence.inputs]
    return markdown.table(["Input", "Kind", "Bytes", "sha256"], rows, numeric=["Bytes"])
