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
    """One sentence for each headline that is over another number of samples, or has another value, than the rows give."""
    verdicts = rows["correct"]
    judged = len(verdicts) - verdicts.null_count
    correct = int(pc.sum(verdicts).as_py() or 0)
    sentences = []
    for headline in headlines:
        over = "" if headline.n is None else f" over {headline.n} samples"
        stated = f"{DIFFERS}the source says {headline.name} = {headline.value:.4g}{over}"
        if headline.n is not None and headline.n != rows.num_rows:
            sentences.append(f"{stated}, it holds {rows.num_rows} rows")
        elif not judged:
            sentences.append(f"{stated}, no row has a verdict")
        elif abs(correct / judged - headline.value) > TOLERANCE:
            sentences.append(
                f"{stated}, {correct} of {judged} judged rows are correct ({correct / judged:.4f})"
            )
        elif judged < rows.num_rows:
            sentences.append(
                f"{stated}, which leaves out {rows.num_rows - judged} of {rows.num_rows} rows: no verdict"
            )
    return tuple(sentences)
