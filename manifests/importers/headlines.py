"""Numbers that a log prints about its own rows, held against the rows."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from manifests.importers.reading import Headline

DIFFERS = "headline differs: "
"""How such a sentence begins among a record's deviations; `units check` lists every one."""
TOLERANCE = 5e-4
"""Logs round: 0.8 for 0.7996 is no disagreement, 0.8 for 0.79 is."""


def differing_headlines(headlines: Sequence[Headline], rows: pa.Table) -> tuple[str, ...]:
    """One sentence for each headline that is over another number of samples, or has another value, than the rows give.

    A mean over samples and a mean over problems are both taken as agreement: logs do not say which they print.
    """
    sentences = []
    for headline in headlines:
        part = (
            rows if headline.sampling is None else rows.filter(pc.equal(rows["sampling"], headline.sampling))
        )
        sentence = _difference(headline, part)
        if sentence is not None:
            over = "" if headline.n is None else f" over {headline.n} samples"
            sentences.append(
                f"{DIFFERS}the source says {headline.name} = {headline.value:.4g}{over}, {sentence}"
            )
    return tuple(sentences)


def _difference(headline: Headline, rows: pa.Table) -> str | None:
    verdicts = rows["correct"]
    judged = len(verdicts) - verdicts.null_count
    correct = int(pc.sum(verdicts).as_py() or 0)
    if headline.n is not None and headline.n != rows.num_rows:
        return f"it holds {rows.num_rows} rows"
    if not judged:
        return "no row has a verdict"
    means = (correct / judged, _mean_over_problems(rows))
    if not any(abs(mean - headline.value) <= TOLERANCE for mean in means):  # so that NaN agrees with nothing
        return f"{correct} of {judged} judged rows are correct ({correct / judged:.4f})"
    if judged < rows.num_rows:
        return f"which leaves out {rows.num_rows - judged} of {rows.num_rows} rows: they have no verdict"
    return None


def _mean_over_problems(rows: pa.Table) -> float:
    numbers = rows.select(["problem_id"]).append_column("correct", rows["correct"].cast(pa.float64()))
    means = numbers.group_by("problem_id").aggregate([("correct", "mean")])["correct_mean"]
    return float(pc.mean(means).as_py())
