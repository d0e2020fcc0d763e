"""How far a stage is, on stderr: a line that redraws itself on a terminal, else a line now and then."""

from __future__ import annotations

import sys
import time

EVERY_S = 15.0


class Progress:
    """Counts what is done; says rate and time left."""

    def __init__(self, *, total: int, done: int, unit: str) -> None:
        self._total, self._done, self._unit = total, done, unit
        self._from, self._tokens = done, 0
        self._started = self._said = time.monotonic()

    def advance(self, count: int, *, tokens: int = 0) -> None:
        """`count` more are done."""
        self._done += count
        self._tokens += tokens
        now = time.monotonic()
        terminal = sys.stderr.isatty()
        if not terminal and now - self._said < EVERY_S and self._done < self._total:
            return
        self._said = now
        print(
            f"\r{self._text(now)}\x1b[K" if terminal else self._text(now),
            end="" if terminal else "\n",
            file=sys.stderr,
            flush=True,
        )
        if terminal and self._done >= self._total:
            print(file=sys.stderr, flush=True)

    def _text(self, now: float) -> str:
        took = max(now - self._started, 1e-9)
        left = (self._total - self._done) * took / max(1, self._done - self._from)
        rate = f", {self._tokens / took:.0f} tokens/s" if self._tokens else ""
        return f"{self._done} of {self._total} {self._unit}{rate}, about {left:.0f} s left"
