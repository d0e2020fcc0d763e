"""Masthead: title, what kind of result this is, the conclusion, six facts."""

from __future__ import annotations

from prereg.succession import withdrawal
from report.aggregate import Node
from report.content import PARTLY, Em, Fact, Inline, Link, Masthead, Strong, Text
from report.evidence import Evidence
from report.labels import UNCHANGED, registration_findings
from report.numbers import DASH, caps, count, p_phrase
from report.sections.material import Material, joined
from report.sections.phrases import (
    CONCLUSIONS,
    P_TESTS,
    agree,
    capitalised,
    gain,
    interval,
    level,
    n_of,
    only_would_read,
    rule,
    side,
    word,
    word_mark,
)

LABELS = ("registered", "amended-before-results", "amended-after-results", "exploratory", "retrospective")
INTEGRITY = "Hashes show integrity, not identity and not time."
BANNERS = {
    "not_frozen": "NOT FROZEN. Nothing was registered; every number below is exploratory.",
    "changed": "REGISTRATION CHANGED AFTER THE FREEZE. Numbers below follow the frozen text that the record keeps.",
    "line_endings_only": "REGISTRATION CHANGED AFTER THE FREEZE, in its line endings alone.",
    "record_altered": "THE FREEZE RECORD WAS ALTERED. What was registered cannot be shown.",
}


def make_masthead(material: Material) -> Masthead:
    """The first screen."""
    evidence, primaries = material.evidence, material.primaries
    labels = {node.label for node in primaries.values()}
    status_word, sentence = _status(material, primaries)
    return Masthead(
        banner=_banner(evidence),
        title=evidence.study.config.title,
        study=evidence.study.config.name,
        label=labels.pop() if len(labels) == 1 else "exploratory",
        status_word=status_word,
        status=(sentence,),
        conclusions=tuple(_conclusion(material, name, node) for name, node in primaries.items())
        or (("The design names no primary endpoint, so nothing here is a conclusion.",),),
        facts=_facts(material, primaries),
        inputs=_inputs(material),
    )


def _banner(evidence: Evidence) -> str:
    """What is wrong with the registration, one sentence each; empty where nothing is."""
    status, findings = evidence.verification.status, registration_findings(evidence)
    withdrawn = withdrawal(evidence.effective.seals)
    sentences = [] if status == UNCHANGED else [BANNERS[status]]
    if withdrawn is not None:
        sentences.append(f"REGISTRATION WITHDRAWN by {withdrawn.id}.")
    if findings and status == UNCHANGED:
        sentences.append("THE REGISTRATION DOES NOT VERIFY.")
    sentences.extend(f"{finding.where}: {finding.what}." for finding in findings)
    return " ".join(sentences)


def _status(material: Material, primaries: dict[str, Node]) -> tuple[str, str]:
    registration = material.aggregate.registration
    unequal = (
        " Unequal designs are compared, by --allow-design-mismatch."
        if any(node.unequal_allowed for node in material.nodes.values())
        else ""
    )
    frozen = f"Frozen {registration.frozen_at}. Witness: {registration.witness}.{unequal}"
    earned = [name for name, node in primaries.items() if node.primary]
    if primaries and len(earned) == len(primaries):
        return "PRIMARY.", frozen
    if earned:
        return PARTLY, f"{_in_part(primaries)}; section 7 says why. {frozen}"
    if any(node.label == "retrospective" for node in primaries.values()):
        return (
            "Retrospective, not a confirmatory result.",
            f"The rows are older than the registration; no number here is PRIMARY.{unequal}",
        )
    return (
        "Not a confirmatory result.",
        f"Section 7 says why; no number here is PRIMARY.{unequal}",
    )


def _in_part(primaries: dict[str, Node]) -> str:
    """Which endpoints earned the word, and which did not."""
    earned = [name for name, node in primaries.items() if node.primary]
    others = [name for name in primaries if name not in earned]
    return f"Primary: {', '.join(earned)}; not primary: {', '.join(others)}"


def _conclusion(material: Material, name: str, node: Node) -> Text:
    estimate, numbers = node.estimate, material.numbers
    if estimate is None:
        return (f"Primary endpoint {name}: {word(node)}; {node.reason or 'no reason is recorded'}.",)
    parts: list[Inline] = [
        "On ",
        numbers(f"{name}.n_problems"),
        f" problems, {estimate.name} of ",
        *side(numbers, name, node, "candidate"),
        ", of ",
        *side(numbers, name, node, "baseline"),
        ": ",
        Strong(("a paired gain of ", *gain(numbers, name))),
        f" ({level(node)}, {caps(estimate.baseline.cap_tokens, estimate.candidate.cap_tokens)} tokens). ",
    ]
    if only_would_read(node):
        return (
            *parts, "By the plan's own rule, ", Em((rule(node),)), ", it would read ", Em((CONCLUSIONS[node.conclusion],)), ".",
        )  # fmt: skip
    registered = (
        "the design's"
        if node.label == "exploratory"
        else "the amended"
        if node.amended_by
        else "the registered"
    )
    return (
        *parts,
        f"By {registered} rule, ",
        Em((rule(node),)),
        ": ",
        Strong((CONCLUSIONS[node.conclusion],)),
        ".",
    )


def _facts(material: Material, primaries: dict[str, Node]) -> tuple[Fact, ...]:
    numbers = material.numbers
    names = ", ".join(primaries)
    with_number = {name: node for name, node in primaries.items() if node.estimate is not None}
    return (
        _registered(material, primaries),
        Fact(
            question=f"Primary, {names}" if primaries else "Primary",
            answer=joined([(word_mark(node),) for node in primaries.values()], "; ") or ("none planned",),
            detail=(_standing(primaries),),
        ),
        Fact(
            question="Gain and interval",
            answer=joined([(numbers(f"{name}.gain"), "\u00a0pp") for name in with_number], "; ") or (DASH,),
            detail=joined([interval(numbers, name) for name in with_number], "; ") or ("no primary number",),
        ),
        Fact(
            question="p and n",
            answer=joined([_p(material, name, node) for name, node in with_number.items()], "; ") or (DASH,),
            detail=joined([(*n_of(numbers, name), " samples") for name in with_number], "; ")
            or ("no primary number",),
        ),
        Fact(
            question="Deviations",
            answer=(numbers("registration.deviations"),),
            detail=(
                Link("list", "#deviations"), "; ", numbers("registration.amendments"), _amendments_word(material),
            ),
        ),
        _cost(material),
    )  # fmt: skip


def _registered(material: Material, primaries: dict[str, Node]) -> Fact:
    labels = {node.label for node in primaries.values()}
    witness = "by the records and the witness" if material.evidence.witness else "no witness is recorded"
    answer, detail = {
        frozenset({"registered"}): ("yes", witness),
        frozenset({"amended-before-results"}): ("yes, amended", "before any verdict"),
        frozenset({"amended-after-results"}): ("no", "amended after results"),
        frozenset({"retrospective"}): ("no", "the rows are older"),
    }.get(
        frozenset(labels),
        ("no", "nothing is frozen" if material.evidence.registration is None else "see section 3"),
    )
    return Fact(question="Registered before data?", answer=(capitalised(answer),), detail=(detail,))


def _amendments_word(material: Material) -> str:
    return agree(len(material.aggregate.registration.amendments), " amendment", " amendments")


def _standing(primaries: dict[str, Node]) -> str:
    if not primaries:
        return "the design names no primary endpoint"
    if all(node.primary for node in primaries.values()):
        return "registered design met"
    if any(node.primary for node in primaries.values()):
        return _in_part(primaries)
    return "not confirmatory"


def _p(material: Material, name: str, node: Node) -> Text:
    if node.estimate is None or node.estimate.method not in P_TESTS:
        return ("no p in its rule",)
    shown = material.numbers.shown(f"{name}.p")
    return (p_phrase(shown).removesuffix(shown), material.numbers(f"{name}.p"))


def _cost(material: Material) -> Fact:
    money, numbers = material.aggregate.money, material.numbers
    if money.entries == 0:
        return Fact(question="Cost", answer=("not booked",), detail=("the ledger is empty",))
    of_cap: Text = (" of a cap of ", numbers("money.cap")) if money.cap_usd is not None else (", no cap set",)
    return Fact(
        question="Cost",
        answer=(numbers("money.spent"),),
        detail=(numbers("money.seconds"), " booked", *of_cap),
    )


def _inputs(material: Material) -> Text:
    numbers = material.numbers
    return (
        numbers("units.found"),
        " of ",
        numbers("units.planned"),
        " planned units, ",
        numbers("units.rows_got"),
        " rows, ",
        f"{count(len(material.evidence.inputs))} files, digests in ",
        Link("section 14", "#inventory"),
    )
