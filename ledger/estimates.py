"""Time and money before a launch: three columns that are brackets, not confidence intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from fractions import Fraction
from types import MappingProxyType

from ledger.formulas import FormulaError, compute, names, parse
from ledger.plans import Plan, Stage
from manifests.errors import BeforehandError, Finding, FindingsError

ENDS = ("low", "central", "high")
_NOTHING: Mapping[str, Decimal] = MappingProxyType({})
PriceOf = Callable[[str], Decimal]
"""USD an hour of a flavor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """A quantity with every input at its optimistic end, its central value, its pessimistic end."""

    low: Fraction
    central: Fraction
    high: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A stage or a total. usd is None where a part of it has no price, which is not a price of 0.

    bracketed: the inputs it rests on that were not measured for this quantity.
    """

    name: str
    hours: Bracket
    usd: Bracket | None
    bracketed: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Influence:
    """How far a total moves when one input goes from its low to its high end, the others central."""

    name: str
    spread_h: Fraction
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Stages, totals, and which input moves each total most."""

    stages: tuple[Line, ...]
    totals: tuple[Line, ...]
    influences: tuple[tuple[str, tuple[Influence, ...]], ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sum:
    """Hours and money of a stage or total with one value for each input."""

    hours: Fraction
    usd: Fraction | None


def estimate(plan: Plan, *, price_of: PriceOf) -> Estimate:
    """Compute the plan. Series add hours, parallel take the longest; money adds in both."""
    model = _Model(plan, price_of)
    low, central, high = (model.sums(end) for end in ENDS)
    lines = {
        name: Line(
            name=name,
            hours=Bracket(low=low[name].hours, central=central[name].hours, high=high[name].hours),
            usd=_money(low[name].usd, central[name].usd, high[name].usd),
            bracketed=model.bracketed(name),
        )
        for name in (*plan.stages, *plan.totals)
    }
    stages = tuple(lines[name] for name in plan.stages)
    return Estimate(
        stages=stages,
        totals=tuple(lines[name] for name in plan.totals),
        influences=tuple((name, model.influences(name)) for name in plan.totals),
        findings=tuple(
            Finding(
                where=f"stages.{line.name}",
                what="its low end is not the smallest or its high end not the largest",
                mend="low is the optimistic end of an input: a high speed, a small count",
            )
            for line in stages
            if not line.hours.low <= line.hours.central <= line.hours.high
        ),
    )


def rounded(value: Fraction, decimals: int) -> str:
    """A decimal for people, rounded half up from the exact value."""
    exponent = Decimal(1).scaleb(-decimals)
    try:
        return str((Decimal(value.numerator) / Decimal(value.denominator)).quantize(exponent, ROUND_HALF_UP))
    except InvalidOperation as err:
        raise BeforehandError(
            f"comes to about 1e{len(str(abs(value.numerator // value.denominator))) - 1}, which is no estimate",
            where="plan",
            mend="look for an input or a factor of another size than was meant",
        ) from err


class _Model:
    """The plan with its formulas parsed and its prices looked up."""

    def __init__(self, plan: Plan, price_of: PriceOf) -> None:
        self._plan = plan
        self._terms = {name: parse(stage.hours) for name, stage in plan.stages.items()}
        self._prices = {name: _price(stage, price_of) for name, stage in plan.stages.items()}

    def sums(self, end: str, changed: Mapping[str, Decimal] = _NOTHING) -> dict[str, _Sum]:
        """Every stage and total with all inputs at one end, but for those in `changed`."""
        inputs = {
            name: Fraction(changed.get(name, getattr(entry, end)))
            for name, entry in self._plan.inputs.items()
        }
        sums = self._stage_sums(inputs)
        for name in self._plan.totals:
            self._add_total(name, sums)
        return sums

    def bracketed(self, name: str) -> tuple[str, ...]:
        """The inputs of a stage or total that were not measured for it."""
        return tuple(
            sorted(used for used in self._inputs_of(name) if self._plan.inputs[used].basis == "bracketed")
        )

    def influences(self, total: str) -> tuple[Influence, ...]:
        """How far each input alone moves the total, the widest first."""
        found = []
        for name, entry in self._plan.inputs.items():
            low, high = (self.sums("central", {name: end})[total].hours for end in (entry.low, entry.high))
            found.append(Influence(name=name, spread_h=abs(high - low), basis=entry.basis))
        return tuple(sorted(found, key=lambda each: (-each.spread_h, each.name)))

    def _stage_sums(self, inputs: Mapping[str, Fraction]) -> dict[str, _Sum]:
        sums: dict[str, _Sum] = {}
        findings: list[Finding] = []
        for name, term in self._terms.items():
            where = f"stages.{name}.hours"
            try:
                hours = compute(term, inputs)
            except FormulaError as err:
                findings.append(Finding(where=where, what=str(err)))
                continue
            if hours < 0:
                findings.append(Finding(where=where, what=f"comes out negative, {rounded(hours, 2)} h"))
            price = self._prices[name]
            sums[name] = _Sum(hours=hours, usd=None if price is None else hours * price)
        if findings:
            raise FindingsError("the plan cannot be computed", tuple(findings))
        return sums

    def _add_total(self, name: str, sums: dict[str, _Sum]) -> _Sum:
        if name not in sums:
            total = self._plan.totals[name]
            parts = [self._add_total(part, sums) for part in total.parts]
            hours = [part.hours for part in parts]
            priced = [part.usd for part in parts if part.usd is not None]
            sums[name] = _Sum(
                hours=max(hours) if total.parallel else sum(hours, Fraction(0)),
                usd=sum(priced, Fraction(0)) if len(priced) == len(parts) else None,
            )
        return sums[name]

    def _inputs_of(self, name: str) -> frozenset[str]:
        if name in self._terms:
            return names(self._terms[name])
        return frozenset().union(*(self._inputs_of(part) for part in self._plan.totals[name].parts))


def _price(stage: Stage, price_of: PriceOf) -> Fraction | None:
    if stage.usd_per_h is not None:
        return Fraction(stage.usd_per_h)
    return Fraction(price_of(stage.flavor)) if stage.flavor else None


def _money(low: Fraction | None, central: Fraction | None, high: Fraction | None) -> Bracket | None:
    return (
        None
        if low is None or central is None or high is None
        else Bracket(low=low, central=central, high=high)
    )
