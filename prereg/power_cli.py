"""`beforehand prereg power`: what a test of this size can see, before anything is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from manifests.console import Outcome, reporting, table
from manifests.errors import BeforehandError

if TYPE_CHECKING:
    from report.statistics.planning import TextTable

SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.command()
@click.option(
    "--test",
    "test_name",
    type=click.Choice(["mcnemar_exact", "paired_mean"]),
    default="mcnemar_exact",
    show_default=True,
    help="paired_mean: a paired t test or bootstrap of per-problem differences.",
)
@click.option(
    "--n",
    "n_problems",
    type=click.IntRange(1, 1_000_000),
    required=True,
    metavar="PROBLEMS",
    help="Problems, not samples: the problem is the unit of every test.",
)
@click.option("--alpha", type=SHARE, default=0.05, show_default=True)
@click.option(
    "--power",
    "target_power",
    type=SHARE,
    default=0.8,
    show_default=True,
    help="For the smallest detectable gain.",
)
@click.option(
    "--discordant",
    "-d",
    "shares",
    type=SHARE,
    multiple=True,
    default=(0.10, 0.15, 0.20),
    show_default=True,
    help="Share of problems that change either way; may be given several times.",
)
@click.option(
    "--gain",
    "-g",
    "gains",
    type=click.FloatRange(-1, 1),
    multiple=True,
    default=(0.02, 0.04, 0.06, 0.08),
    show_default=True,
    help="Net gain as a fraction; may be given several times.",
)
@click.option(
    "--sd",
    type=click.FloatRange(0),
    help="paired_mean: standard deviation of per-problem differences, as a fraction.",
)
@reporting
def power(
    test_name: str,
    n_problems: int,
    alpha: float,
    target_power: float,
    shares: tuple[float, ...],
    gains: tuple[float, ...],
    sd: float | None,
) -> Outcome:
    """Print the minimum split, the power and the smallest detectable gain of a test.

    Power counts a rejection only where the candidate is higher, as the registered rule does. A null result means that no gain of about the
    smallest detectable size was seen, not that there is none.
    """
    if test_name == "paired_mean":
        return _paired_mean(n_problems=n_problems, sd=sd, alpha=alpha, target_power=target_power)
    from report.statistics.planning import detectable_table, power_table, split_table  # noqa: PLC0415 - scipy is slow to load

    tables = (
        split_table(alpha=alpha),
        power_table(n_problems=n_problems, discordant=shares, gains=gains, alpha=alpha),
        detectable_table(n_problems=n_problems, discordant=shares, target_power=target_power, alpha=alpha),
    )
    return Outcome(
        text="\n\n".join(
            f"{one.title}\n{table(one.header, one.rows, numeric=one.header[1:])}" for one in tables
        ),
        document={"test": test_name, "tables": [_document(one) for one in tables]},
    )


def _paired_mean(*, n_problems: int, sd: float | None, alpha: float, target_power: float) -> Outcome:
    if sd is None:
        raise BeforehandError(
            "--sd is needed",
            where="paired_mean",
            mend="give the standard deviation of per-problem differences, from a pilot or an assumption that you register",
        )
    from report.statistics.power import paired_mean_mde  # noqa: PLC0415 - scipy is slow to load

    found = paired_mean_mde(n_problems=n_problems, sd=sd, target_power=target_power, alpha=alpha)
    smallest = (
        f"{100 * found.effect:.2f} pp" if found.effect is not None else f"not estimable: {found.reason}"
    )
    return Outcome(
        text=f"Smallest mean gain with a power of {target_power:g}, {n_problems} problems, sd {sd:g}, alpha = {alpha:g} (paired t): {smallest}",
        document={"test": "paired_mean", "detectable": found.effect, "reason": found.reason},
    )


def _document(one: TextTable) -> dict[str, object]:
    return {"title": one.title, "header": list(one.header), "rows": [list(row) for row in one.rows]}
