"""`beforehand compare A B`: two logs in, a paired table out."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from manifests.console import Outcome, note, reporting
from manifests.console import table as plain_table
from manifests.documents import read_toml_document
from manifests.errors import BeforehandError
from manifests.importers.mapping import RowMap
from prereg.methods import MeanCorrect, Metric, PassAtK, SolvedAtK
from report.compare import LEVEL, SEED, Comparison, SideNumbers, compare
from report.compare_sides import LogSide, read_side
from report.markdown import escape
from report.markdown import table as markdown_table
from report.numbers import DASH, count, interval, p_phrase, p_value, percent, points, significant

LABEL = (
    "Exploratory: no plan was frozen before these numbers, and the verdicts are the logs' own, not regraded."
)
FILE = click.Path(path_type=Path)
Rows = list[list[str]]


@click.command("compare", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("a", type=FILE)
@click.argument("b", type=FILE)
@click.option(
    "--with-a", multiple=True, type=FILE, help="A file that belongs to A, such as its results or verdicts."
)
@click.option("--with-b", multiple=True, type=FILE, help="The same for B.")
@click.option("--map", "map_path", type=FILE, help="A map/1 file for both logs.")
@click.option("--map-a", type=FILE, help="A map/1 file for A alone.")
@click.option("--map-b", type=FILE, help="A map/1 file for B alone.")
@click.option("--sampling", help="Which sampling, where a log holds several.")
@click.option("--by", type=click.Choice(["mean_correct", "solved_at_k", "pass_at_k"]), default="mean_correct")
@click.option("--k", type=click.IntRange(min=1), help="For solved_at_k and pass_at_k.")
@click.option("--markdown", is_flag=True, help="Print Markdown.")
@reporting
def compare_command(  # noqa: PLR0917 - click passes them by name
    a: Path,
    b: Path,
    with_a: tuple[Path, ...],
    with_b: tuple[Path, ...],
    map_path: Path | None,
    map_a: Path | None,
    map_b: Path | None,
    sampling: str | None,
    by: str,
    k: int | None,
    *,
    markdown: bool,
) -> Outcome:
    """Pair two logs of any supported format and say what differs between them. Needs no study."""
    metric = _metric(by, k)
    sides = [
        read_side(name, (path, *others), row_map=_map(own or map_path), sampling=sampling)
        for name, path, others, own in (("A", a, with_a, map_a), ("B", b, with_b, map_b))
    ]
    for side in sides:
        note(
            f"{side.name}: {side.file} read by {side.importer}"
            + (f", guessed: {side.guess}" if side.guess else "")
        )
        for sentence in side.facts.notes:
            note(f"{side.name}: {sentence}")
    found = compare(sides[0], sides[1], metric)
    text = _markdown(sides, found) if markdown else _text(sides, found)
    return Outcome(text=text, document=_document(sides, found))


def _metric(by: str, k: int | None) -> Metric:
    if by == "mean_correct":
        if k is not None:
            raise BeforehandError(
                "mean_correct takes no k", where="--k", mend="add --by solved_at_k or --by pass_at_k"
            )
        return MeanCorrect(name="mean_correct")
    if k is None:
        raise BeforehandError(f"{by} needs a k", where="--by", mend="add --k 8, say")
    return SolvedAtK(name="solved_at_k", k=k) if by == "solved_at_k" else PassAtK(name="pass_at_k", k=k)


def _map(path: Path | None) -> RowMap | None:
    return None if path is None else read_toml_document(RowMap, path)


def _text(sides: list[LogSide], found: Comparison) -> str:
    said = [f"- {sentence}" for sentence in found.said] or [
        "- nothing: ids, samples and settings agree as far as the logs tell"
    ]
    return "\n".join(
        [
            LABEL,
            "",
            "Before any number:",
            *said,
            "",
            plain_table(["", "A", "B"], _side_rows(sides, found), numeric=["A", "B"]),
            "",
            plain_table(["Paired", "B − A"], _paired_rows(found), numeric=["B − A"]),
            "",
            plain_table(["pass@k", "A", "B", "B − A"], _pass_rows(found), numeric=["A", "B", "B − A"]),
        ]
    )


def _markdown(sides: list[LogSide], found: Comparison) -> str:
    said = [f"- {escape(sentence)}" for sentence in found.said] or [
        "- nothing: ids, samples and settings agree as far as the logs tell"
    ]

    def table(columns: list[str], rows: Rows) -> str:
        return markdown_table(columns, rows, numeric=columns[1:])

    names, *numbers = _side_rows(sides, found)
    return "\n".join(
        [
            f"**{LABEL}**",
            "",
            "Before any number:",
            "",
            *said,
            "",
            table(["", "A", "B"], [[escape(cell) for cell in names], *numbers]),
            "",
            table(["Paired", "B − A"], _paired_rows(found)),
            "",
            table(["pass@k", "A", "B", "B − A"], _pass_rows(found)),
        ]
    )


def _side_rows(sides: list[LogSide], found: Comparison) -> Rows:
    numbers = (found.a, found.b)
    return [
        ["log", *(f"{side.file}, {side.facts.system}" if side.facts.system else side.file for side in sides)],
        ["problems", *(count(side.n_problems) for side in numbers)],
        ["of them on this side only", *(count(side.n_only_here) for side in numbers)],
        ["samples, judged", *(f"{count(side.n_rows)}, {count(side.n_judged)}" for side in numbers)],
        ["correct", *(count(side.n_correct) for side in numbers)],
        ["mean correct over problems, %", *(percent(side.value, 2) for side in numbers)],
        [f"95 % interval ({found.a.interval})", *(_bounds(side) for side in numbers)],
        [f"{found.metric}, paired samples, %", *(percent(side.paired_value, 2) for side in numbers)],
    ]


def _bounds(side: SideNumbers) -> str:
    return interval(side.low, side.high, signed=False, decimals=2)


def _paired_rows(found: Comparison) -> Rows:
    test, boot = found.mcnemar, found.bootstrap
    each = DASH if found.samples_per_problem is None else count(found.samples_per_problem)
    return [
        ["problems shared × samples each", f"{count(found.n_shared)} × {each}"],
        [f"{found.metric}, pp", DASH if boot.gain is None else points(boot.gain, 2)],
        [f"95 % interval (paired bootstrap, {count(boot.n_resamples)} resamples, seed {SEED})", interval(boot.low, boot.high, signed=True, decimals=2)],
        ["bootstrap p", p_value(boot.p_value, at_floor=boot.p_at_floor)],
        *([["no interval", boot.reason]] if boot.reason else []),
        *([["sign-flip p, for fewer than 100 problems", p_value(boot.sign_flip_p)]] if boot.sign_flip_p is not None else []),
        [f"outcome of a problem: {found.outcome}", ""],
        ["both, neither", f"{count(test.n_both)}, {count(test.n_neither)}"],
        ["only A, only B", f"{count(test.n_lost)}, {count(test.n_gained)}"],
        ["exact McNemar", p_phrase(p_value(test.p_value, at_floor=test.p_is_bound, log10_p=test.log10_p))],
    ]  # fmt: skip


def _pass_rows(found: Comparison) -> Rows:
    return [
        [str(one.k), percent(one.a, 2), percent(one.b, 2), points(one.b - one.a, 2)]
        if one.a is not None and one.b is not None
        else [str(one.k), DASH, DASH, one.reason or DASH]
        for one in found.pass_at_k
    ]


def _document(sides: list[LogSide], found: Comparison) -> dict[str, object]:
    return {
        "format": "comparison/1",
        "label": "exploratory",
        "regraded": False,
        "said": list(found.said),
        "sides": [
            {"name": side.name, "log": side.file, "importer": side.importer, "system": side.facts.system, **_numbers(numbers)}
            for side, numbers in zip(sides, (found.a, found.b), strict=True)
        ],
        "metric": found.metric,
        "n_shared": found.n_shared,
        "n_paired_samples": found.n_paired_samples,
        "samples_per_problem": found.samples_per_problem,
        "outcome": found.outcome,
        "mcnemar": _numbers(found.mcnemar),
        "bootstrap": {**_numbers(found.bootstrap), "level": LEVEL},
        "pass_at_k": [_numbers(one) for one in found.pass_at_k],
    }  # fmt: skip


def _numbers(result: object) -> dict[str, object]:
    """A result's fields, floats with 12 significant digits; what depends on the installed numpy is left out."""
    fields = asdict(result)  # type: ignore[call-overload]  # every result is a dataclass
    return {
        name: significant(value) if isinstance(value, float) else value
        for name, value in fields.items()
        if name != "numpy_version"
    }
