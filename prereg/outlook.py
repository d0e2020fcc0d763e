"""Outlook: what each primary endpoint can see, said before anything is frozen or spent."""

from __future__ import annotations

from dataclasses import dataclass

from manifests.console import table
from prereg.design import Design
from prereg.methods import ClusteredT, McnemarExact, McnemarMidp, PairedBootstrap, PairedT, StatisticalTest
from report.statistics.planning import TextTable, detectable_table, power_table, split_table
from report.statistics.power import mcnemar_mde, paired_mean_mde

POWER = 0.8
DISCORDANT = 0.15
"""Share of discordant problems that the sentence about a null result assumes; the tables show others."""

SPREADS = (0.1, 0.2, 0.3, 0.4)
"""Standard deviations of per-problem differences, from a pilot with many samples to one with a single sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """The planning tables of one endpoint and what a null result of it would mean."""

    endpoint: str
    n_problems: int
    tables: tuple[TextTable, ...]
    null_means: str


def outlooks(design: Design) -> tuple[Outlook, ...]:
    """One a primary endpoint, in the order of the design."""
    planned = {one.unit: one.n_problems for one in design.planned_units()}
    found = []
    for name, endpoint in design.endpoints.items():
        if endpoint.role != "primary":
            continue
        n_problems = min(planned[side.unit] for side in design.sides(name))
        if isinstance(endpoint.test, McnemarExact | McnemarMidp):
            found.append(_mcnemar(name, n_problems, float(endpoint.test.alpha)))
        else:
            found.append(_paired_mean(name, n_problems, _alpha(endpoint.test)))
    return tuple(found)


def _mcnemar(name: str, n_problems: int, alpha: float) -> Outlook:
    smallest = mcnemar_mde(n_problems=n_problems, discordant=DISCORDANT, target_power=POWER, alpha=alpha)
    if smallest.effect is None:
        null = f"a null would mean little: with {n_problems} problems, of which {DISCORDANT:.0%} differ, {smallest.reason}"
    else:
        null = (
            f"a null would mean that no gain of about {100 * smallest.effect:.1f} pp or more was seen "
            f"(power {POWER:g} if {DISCORDANT:.0%} of the problems differ), not that there is none"
        )
    return Outlook(
        endpoint=name,
        n_problems=n_problems,
        tables=(
            split_table(alpha=alpha),
            power_table(n_problems=n_problems, alpha=alpha),
            detectable_table(n_problems=n_problems, target_power=POWER, alpha=alpha),
        ),
        null_means=null,
    )


def _paired_mean(name: str, n_problems: int, alpha: float) -> Outlook:
    effects = [
        paired_mean_mde(n_problems=n_problems, sd=spread, target_power=POWER, alpha=alpha).effect
        for spread in SPREADS
    ]
    cells = ["none" if effect is None else f"{100 * effect:.2f} pp" for effect in effects]
    sizes = TextTable(
        title=f"Smallest mean gain with a power of {POWER:g}, {n_problems} problems, alpha = {alpha:g} (paired t)",
        header=("standard deviation of per-problem differences", "smallest detectable gain"),
        rows=tuple((f"{spread:.2f}", cell) for spread, cell in zip(SPREADS, cells, strict=True)),
    )
    null = (
        f"a null would mean that no gain of about {cells[2]} or more was seen (power {POWER:g} at a standard deviation "
        f"of {SPREADS[2]:g}), not that there is none"
    )
    return Outlook(endpoint=name, n_problems=n_problems, tables=(sizes,), null_means=null)


def _alpha(test: StatisticalTest) -> float:
    """The test's alpha; a test by interval is read as the two-sided test that its interval stands for."""
    if isinstance(test, PairedBootstrap | PairedT | ClusteredT):
        return float(1 - test.level)
    return float(test.alpha)


def printed(outlook: Outlook) -> str:
    """The tables and the sentence, for a terminal."""
    parts = [f"{outlook.endpoint}, {outlook.n_problems} problems: {outlook.null_means}."]
    parts += [f"{one.title}\n{table(one.header, one.rows, numeric=one.header[1:])}" for one in outlook.tables]
    return "\n\n".join(parts)


def document(outlook: Outlook) -> dict[str, object]:
    """The same for `--json`."""
    return {
        "endpoint": outlook.endpoint,
        "n_problems": outlook.n_problems,
        "null_means": outlook.null_means,
        "tables": [
            {"title": one.title, "header": list(one.header), "rows": [list(row) for row in one.rows]}
            for one in outlook.tables
        ],
    }
