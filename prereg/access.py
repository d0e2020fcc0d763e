"""Access: how much of the results anyone could have seen, told by the data and never below what was said before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prereg.decisions import Decision
from prereg.design import Design
from prereg.seals import Seal
from prereg.witness import Found, Witness

LEVELS = ("nothing", "generations", "verdicts", "results")
"""In rising order. nothing: no data of the comparison; generations: not judged; verdicts: judged; results: computed or reported."""

KINDS = {
    "generations": "generations",
    "ledger": "generations",
    "verdicts": "verdicts",
    "rows": "verdicts",
    "unit record": "verdicts",
    "bundle": "results",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """A level and the reason why it is not lower."""

    level: str
    reason: str


def highest(levels: Iterable[Access]) -> Access:
    """The highest of them; `nothing` when there is none."""
    return max(levels, key=lambda one: LEVELS.index(one.level), default=Access(level="nothing", reason=""))


def is_before_results(level: str) -> bool:
    """True while no sample of the comparison had been judged: the label `amended-before-results` needs it."""
    return LEVELS.index(level) < LEVELS.index("verdicts")


def concerning(design: Design, witness: Witness, endpoint_ids: Iterable[str]) -> tuple[Found, ...]:
    """What exists of either side of the endpoints."""
    found = {
        (one.place, one.path, one.touches): one
        for name in endpoint_ids
        for side in design.sides(name)
        for one in witness.touching_side(side.system.name, side.unit.benchmark)
    }
    return tuple(found[key] for key in sorted(found))


def access(
    design: Design,
    endpoint_ids: Iterable[str],
    *,
    witnesses: Iterable[Witness],
    decisions: Iterable[Decision] = (),
    seals: Iterable[Seal] = (),
) -> Access:
    """What had been seen of the endpoints: by the data found, by the log's RESULT entries, by what earlier seals said."""
    names = tuple(endpoint_ids)
    shown = [
        Access(level=KINDS[one.kind], reason=f"{one.kind} in {one.place}: {one.path}")
        for witness in witnesses
        for one in concerning(design, witness, names)
        if one.kind in KINDS
    ]
    logged = [
        Access(level="results", reason=f"DECISIONS.md {one.id} is a RESULT")
        for one in decisions
        if one.kind == "RESULT"
    ]
    sealed = [
        Access(level=one.evidence.stated, reason=f"the amendment {one.id} said so")
        for one in seals
        if not one.touches or set(one.touches) & set(names)
    ]
    return highest([*shown, *logged, *sealed])
