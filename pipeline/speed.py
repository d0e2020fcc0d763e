"""How fast an engine is here, measured before the run, and what that makes of the planned rows."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from decimal import ROUND_UP, Decimal

from manifests.files import write_atomically
from pipeline.engines.contract import Draw, Engine, Request
from pipeline.unit_work import UnitWork

PROBE_TOKENS = 8
PROBE_ROWS = 64
"""Few rows, so that a resumed run starts at once. A fuller batch is faster a token: the estimate errs on the high side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """tokens_per_s: of one batch. high_s: the seconds if every row of `n_rows` ran to its cap at that speed."""

    tokens_per_s: float
    n_rows: int
    high_s: Decimal


def measure(engine: Engine, requests: list[Request], draw: Draw, *, batch_rows: int) -> Speed:
    """Draw a few tokens of one batch, for the time alone: what was drawn is thrown away unread.

    Requests are not changed but for their max_tokens, so that the probe costs seconds. An empty list takes no time.
    """
    if not requests:
        return Speed(tokens_per_s=0.0, n_rows=0, high_s=Decimal(0))
    sample = [
        replace(request, max_tokens=min(PROBE_TOKENS, request.max_tokens))
        for request in requests[: min(batch_rows, PROBE_ROWS)]
    ]
    started = time.perf_counter()
    drawn = sum(len(completion.token_ids) for batch in engine.complete(sample, draw) for completion in batch)
    tokens_per_s = max(drawn, 1) / max(time.perf_counter() - started, 1e-3)
    most = sum(request.max_tokens for request in requests)
    high_s = Decimal(most / tokens_per_s).quantize(Decimal("0.001"), ROUND_UP)
    return Speed(tokens_per_s=tokens_per_s, n_rows=len(requests), high_s=high_s)


def write_estimate(work: UnitWork, speed: Speed) -> None:
    """`runs/UNIT/estimate.toml`, a plan for `beforehand ledger estimate`: the speed measured, the length bracketed by the cap."""
    cap = work.plan.protocol.cap_tokens
    text = f"""# Written by the preflight of {work.plan.unit}: `beforehand ledger estimate` computes hours and money from it.
format = "estimate/1"

[inputs.tokens_per_s]
low = "{speed.tokens_per_s * 2:.3f}"
central = "{speed.tokens_per_s:.3f}"
high = "{speed.tokens_per_s / 2:.3f}"
basis = "measured"
source = "probe of {PROBE_TOKENS} tokens a row on this machine, just before the run; halved and doubled at the ends"

[inputs.rows]
low = "{speed.n_rows}"
central = "{speed.n_rows}"
high = "{speed.n_rows}"
basis = "measured"
source = "the design, less what is drawn already"

[inputs.tokens_per_row]
low = "{max(1, cap // 8)}"
central = "{max(1, cap // 2)}"
high = "{cap}"
basis = "bracketed"
source = "the cap, its half and its eighth: no row was read"

[stages.generate]
hours = "rows * tokens_per_row / tokens_per_s / 3600"
flavor = "{work.settings.booking.flavor}"
usd_per_h = "{work.settings.booking.rate_usd_per_h:f}"

[totals.unit]
series = ["generate"]
"""
    write_atomically(work.folder.estimate, text.encode())
