"""Sentences made from numbers: the same words for the same facts, never an adjective."""

from __future__ import annotations

from report.aggregate import Estimate, Node
from report.markdown import escape
from report.numbers import DASH, count, decimal, interval, p_phrase, p_value, percent, points

CONCLUSIONS = {
    "improved": "improved",
    "degraded": "degraded",
    "no_detectable_difference": "no detectable difference",
    "invalid": "invalid",
    "incomplete": "incomplete",
    "pending": "pending",
}

RULES = {
    "p_below_alpha": "p below alpha",
    "ci_excludes_zero": "the interval excludes 0",
}


def side_phrase(estimate: Estimate, side: str) -> str:
    """`raft 50.0 % (480 of 960)`."""
    part = estimate.candidate if side == "candidate" else estimate.baseline
    counts = ""
    if part.numerator is not None and part.denominator is not None:
        counts = f" ({count(part.numerator)} of {count(part.denominator)})"
    return f"{part.system} {percent(part.value)}\u00a0%{counts}"


def sides_phrase(node: Node) -> str:
    """`raft − base on indist`."""
    baseline, candidate = node.registered_as["baseline"], node.registered_as["candidate"]
    if not isinstance(baseline, dict) or not isinstance(candidate, dict):
        raise TypeError("an endpoint without sides passed its model")
    return f"{candidate['system']} − {baseline['system']} on {node.registered_as['benchmark']}"


def gain_phrase(estimate: Estimate) -> str:
    """`+23.2 pp [+19.5, +27.2]`."""
    bounds = interval(
        estimate.ci.low if estimate.ci else None, estimate.ci.high if estimate.ci else None, signed=True
    )
    return f"{points(estimate.value)}\u00a0pp {bounds}"


def n_phrase(estimate: Estimate) -> str:
    """`120 × 8`: problems × samples."""
    samples = DASH if estimate.n_samples is None else count(estimate.n_samples)
    return f"{count(estimate.n_problems)}\u00a0×\u00a0{samples}"


def p_text(estimate: Estimate) -> str:
    """The registered p, or an en dash where the rule names none."""
    if estimate.method != "mcnemar_exact":
        return DASH
    return p_value(estimate.p, at_floor=estimate.p_at_floor, log10_p=estimate.log10_p)


def conclusion_word(node: Node) -> str:
    """The word of the registered rule; of a rule that is older than its data, nothing more than how it would read."""
    if node.missing:
        return node.missing[0].status
    word = CONCLUSIONS[node.conclusion]
    if node.label == "retrospective" and node.estimate is not None:
        return f"would read: {word}"
    return word


def endpoint_sentence(name: str, node: Node) -> str:
    """One sentence: problems, both sides, gain, interval, test, rule and word."""
    estimate = node.estimate
    if estimate is None:
        return f"**{name}.** {capitalised(conclusion_word(node))}: {escape(node.reason or '')}."
    sides = f"{side_phrase(estimate, 'candidate')}, {side_phrase(estimate, 'baseline')}"
    gain = f"gain {gain_phrase(estimate)}"
    parts = [f"**{name}.** On {count(estimate.n_problems)} problems, {estimate.name} of {sides}: {gain}"]
    if estimate.paired is not None:
        paired = estimate.paired
        parts.append(
            f"{count(paired.gained)} gained, {count(paired.lost)} lost, exact McNemar {p_phrase(p_text(estimate))}"
        )
    rule = RULES[str(node.registered_as["decide"])]
    parts.append(f"rule “{rule}”: {conclusion_word(node)}")
    reason = f" ({node.reason})" if node.reason else ""
    return "; ".join(parts) + reason + "."


def capitalised(text: str) -> str:
    """The first letter upper case, the rest as it is."""
    return text[:1].upper() + text[1:]


def agree(number: int, singular: str, plural: str) -> str:
    """`1 unit is`, `2 units are`: the number with the words that agree with it."""
    return f"{count(number)} {singular if number == 1 else plural}"


def seconds_phrase(seconds: str) -> str:
    """`1,033.8 s`."""
    return f"{decimal(float(seconds), 1)}\u00a0s"
