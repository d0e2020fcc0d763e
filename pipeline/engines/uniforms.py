"""Random numbers that belong to a sample, not to its batch: hashed from (seed, problem, sample)."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray


def uniforms(*, seed: int, problem_id: str, sample_idx: int, n: int) -> NDArray[np.float64]:
    """(n,) numbers in [0, 1): the same for the same arguments, on every machine (PCG64, numpy NEP 19 streams).

    A longer draw begins with the shorter one, so that a sample cut at its cap is the beginning of the uncut one.
    """
    named = f"{seed}|{sample_idx}|{problem_id}".encode("utf-8", "surrogatepass")
    key = int.from_bytes(hashlib.sha256(named).digest()[:16], "big")
    return np.random.Generator(np.random.PCG64(key)).random(n)
