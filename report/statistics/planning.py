"""The planning tables of a registration as text cells, ready to print or to write into Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass

from report.statistics.power import mcnemar_mde, mcnemar_power, minimum_split


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    """A title, one header and rows of the same width; every cell is printed as it stands."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def split_table(n_discordant: Sequence[int] = (10, 20, 30, 40, 60), *, alpha: float = 0.05) -> TextTable:
    """Each number of discordant problems has the split at which exact McNemar starts to reject (9:21).

    "none" where no split of that many problems can. Errors: as `minimum_split`.
    """
    rows = []
    for total in n_discordant:
        smaller = minimum_split(total, alpha=alpha)
        rows.append((str(total), "none" if smaller is None else f"{smaller}:{total - smaller}"))
    return TextTable(
        title=f"Exact McNemar, alpha = {alpha:g}: the minimum split that rejects",
        header=("discordant problems", "minimum split"),
        rows=tuple(rows),
    )


def power_table(
    *,
    n_problems: int,
    discordant: Sequence[float] = (0.10, 0.15, 0.20),
    gains: Sequence[float] = (0.02, 0.04, 0.06, 0.08),
    alpha: float = 0.05,
) -> TextTable:
    """Unconditional power (candidate higher), one row a discordant share, one column a net gain, two decimals.

    A gain above the discordant share is impossible and printed as "-". Errors: as `mcnemar_power`.
    """
    rows = []
    for share in discordant:
        cells = [
            f"{mcnemar_power(n_problems=n_problems, discordant=share, gain=gain, alpha=alpha):.2f}"
            if abs(gain) <= share
            else "-"
            for gain in gains
        ]
        rows.append((f"{share:.2f}", *cells))
    first, *others = (f"{100 * gain:+g} pp" for gain in gains)
    return TextTable(
        title=f"Unconditional power of exact McNemar, {n_problems} problems, alpha = {alpha:g}",
        header=("discordant fraction d", f"delta = {first}", *others),
        rows=tuple(rows),
    )


def detectable_table(
    *,
    n_problems: int,
    discordant: Sequence[float] = (0.10, 0.15, 0.20),
    target_power: float = 0.8,
    alpha: float = 0.05,
) -> TextTable:
    """The smallest gain with the target power, one row a discordant share, in percentage points.

    "none" where no gain reaches it. Errors: as `mcnemar_mde`.
    """
    rows = []
    for share in discordant:
        found = mcnemar_mde(n_problems=n_problems, discordant=share, target_power=target_power, alpha=alpha)
        rows.append((f"{share:.2f}", "none" if found.effect is None else f"{100 * found.effect:.2f} pp"))
    return TextTable(
        title=f"Smallest gain with a power of {target_power:g}, {n_problems} problems, alpha = {alpha:g}",
        header=("discordant fraction d", "smallest detectable gain"),
        rows=tuple(rows),
    )
