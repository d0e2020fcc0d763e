"""Phrases made from numbers: the same words for the same facts, never an adjective. Every number has its pointer."""

from __future__ import annotations

from prereg.endpoints import side_names
from report.aggregate import Node
from report.content import Bounds, Inline, Strong, Text, Word
from report.numbers import DASH, decimal, p_phrase
from report.pointers import Numbers
from report.sections.material import Material

CONCLUSIONS = {
    "improved": "improved",
    "degraded": "degraded",
    "no_detectable_difference": "no detectable difference",
    "invalid": "invalid",
    "incomplete": "incomplete",
    "pending": "pending",
}
RULES = {"p_below_alpha": "p below alpha", "ci_excludes_zero": "the interval excludes 0"}
TESTS = {
    "mcnemar_exact": "exact McNemar",
    "mcnemar_midp": "McNemar mid-p",
    "paired_bootstrap": "paired bootstrap",
    "sign_flip": "sign-flip",
    "paired_t": "paired t",
    "clustered_t": "cluster-robust t",
}
P_TESTS = ("mcnemar_exact", "mcnemar_midp", "sign_flip")
"""Tests whose p is registered; the p of the others decides nothing and is not printed beside the gain."""


def rule(node: Node) -> str:
    """The decision rule, with its threshold where it has one."""
    text = RULES[str(node.registered_as["decide"])]
    test = node.registered_as["test"]
    if isinstance(test, dict) and "alpha" in test and test["alpha"] is not None:
        return f"p below {test['alpha']}"
    return text


def word(node: Node) -> str:
    """The word of the registered rule; of a rule that is older than its data, only how it would read."""
    if node.missing:
        return node.missing[0].status
    text = CONCLUSIONS[node.conclusion]
    return f"would read: {text}" if only_would_read(node) else text


def only_would_read(node: Node) -> bool:
    """A retrospective number concludes nothing."""
    return node.label == "retrospective" and node.estimate is not None


def word_mark(node: Node) -> Word:
    """The word with its mark."""
    text = node.missing[0].status if node.missing else CONCLUSIONS[node.conclusion]
    return Word(text=text, conclusion=node.conclusion, hollow=only_would_read(node))


def sides_of(node: Node) -> str:
    """`raft − base on indist`; `fourshot − instruct on words` where one system stands on both sides."""
    baseline, candidate = names_of(node)
    return f"{candidate} − {baseline} on {node.registered_as['benchmark']}"


def names_of(node: Node) -> tuple[str, str]:
    """What the two sides are called."""
    return side_names(_identity(node, "baseline"), _identity(node, "candidate"))


def _identity(node: Node, which: str) -> tuple[str, str, str]:
    """System, protocol and sampling of one side, as the endpoint says or leaves to both."""
    whole, part = node.registered_as, node.registered_as[which]
    if not isinstance(part, dict):
        raise TypeError("an endpoint without sides passed its model")
    system, protocol, sampling = (
        part.get(key) or whole.get(key) for key in ("system", "protocol", "sampling")
    )
    return str(system), str(protocol), str(sampling)


def interval(numbers: Numbers, name: str) -> Text:
    """`[+19.5, +27.2]`, both bounds with their pointers."""
    if not numbers.has(f"{name}.ci_low"):
        return ("not estimable",)
    return (Bounds(numbers(f"{name}.ci_low"), numbers(f"{name}.ci_high")),)


def gain(numbers: Numbers, name: str) -> Text:
    """`+23.2 pp [+19.5, +27.2]`."""
    return (numbers(f"{name}.gain"), "\u00a0pp ", *interval(numbers, name))


def side(numbers: Numbers, name: str, node: Node, which: str) -> Text:
    """`raft 50.0 % (480 of 960)`."""
    called = names_of(node)[which == "candidate"]
    parts: list[Inline] = [f"{called} ", numbers(f"{name}.{which}"), "\u00a0%"]
    if numbers.has(f"{name}.{which}_of"):
        parts += [" (", numbers(f"{name}.{which}_correct"), " of ", numbers(f"{name}.{which}_of"), ")"]
    return tuple(parts)


def n_of(numbers: Numbers, name: str) -> Text:
    """`120 × 8`: problems × samples."""
    samples: Inline = numbers(f"{name}.n_samples") if numbers.has(f"{name}.n_samples") else DASH
    return (numbers(f"{name}.n_problems"), "\u00a0×\u00a0", samples)


def p_of(numbers: Numbers, name: str, node: Node) -> Text:
    """The registered p, or an en dash where the rule names none."""
    if node.estimate is None or node.estimate.method not in P_TESTS or not numbers.has(f"{name}.p"):
        return (DASH,)
    return (numbers(f"{name}.p"),)


def p_clause(numbers: Numbers, name: str, node: Node) -> Text:
    """`exact McNemar p = 0.00027`."""
    if node.estimate is None:
        return ()
    shown = numbers.shown(f"{name}.p")
    lead = p_phrase(shown).removesuffix(shown)
    return (f"{TESTS[node.estimate.method]} {lead}", numbers(f"{name}.p"))


def level(node: Node) -> str:
    """`95 % interval`, or that there is none."""
    if node.estimate is None or node.estimate.ci is None:
        return "no interval"
    return f"{decimal(100 * float(node.estimate.ci.level), 0)}\u00a0% interval"


def endpoint_sentence(material: Material, name: str, node: Node) -> Text:
    """One sentence: problems, both sides, gain, interval, test, rule and word."""
    numbers = material.numbers
    if node.estimate is None:
        return (Strong((f"{name}.",)), f" {capitalised(word(node))}: {node.reason or ''}.")
    parts: list[Inline] = [
        Strong((f"{name}.",)),
        " On ",
        numbers(f"{name}.n_problems"),
        f" problems, {node.estimate.name} of ",
        *side(numbers, name, node, "candidate"),
        ", ",
        *side(numbers, name, node, "baseline"),
        ": gain ",
        *gain(numbers, name),
    ]
    if node.estimate.paired is not None:
        parts += ["; ", numbers(f"{name}.gained"), " gained, ", numbers(f"{name}.lost"), " lost"]
    if node.estimate.method in P_TESTS and numbers.has(f"{name}.p"):
        parts += [", ", *p_clause(numbers, name, node)]
    parts.append(f"; rule “{rule(node)}”: {word(node)}")
    parts += _what_it_would_miss(material, name, node)
    parts.append(f" ({node.reason})." if node.reason else ".")
    return tuple(parts)


def _what_it_would_miss(material: Material, name: str, node: Node) -> Text:
    """With no detectable difference: which gains would often have been missed; on the floor or ceiling: no reading."""
    estimate = node.estimate
    if estimate is None:
        return ()
    if all(side.value < 0.05 for side in (estimate.baseline, estimate.candidate)):
        return ("; both arms lie on the floor, so no reading",)
    if all(side.value > 0.95 for side in (estimate.baseline, estimate.candidate)):
        return ("; both arms lie at the ceiling, so no reading",)
    if node.conclusion == "no_detectable_difference" and material.numbers.has(f"{name}.detectable"):
        return (
            "; gains below ",
            material.numbers(f"{name}.detectable"),
            "\u00a0pp would often have been missed",
        )
    return ()


def capitalised(text: str) -> str:
    """The first letter upper case, the rest as it is."""
    return text[:1].upper() + text[1:]


def agree(number: int, singular: str, plural: str) -> str:
    """The words that agree with the number; the number itself stands before them."""
    return singular if number == 1 else plural
