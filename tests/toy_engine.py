"""A toy engine: it answers sums, right or wrong by a hash of the sample, one character a token. Nothing heavy is imported.

`TOY_ENGINE` in the environment holds settings as JSON: `slow_s` a batch, `hang_after` rows, `text` for every completion, `repeat` times.
"""

from __future__ import annotations

import json
import os
import time

from manifests.digests import sha256_bytes
from pipeline.engines.contract import Completion, EngineIdentity, Rendered
from pipeline.engines.uniforms import uniforms

END = 0x10FFFF


class ToyEngine:
    def __init__(self, settings):
        self.settings = settings
        self.options = json.loads(os.environ.get("TOY_ENGINE", "{}"))
        self.window_tokens = self.options.get("window", 4096)
        self.identity = EngineIdentity(
            name="toy", versions=(("toy", self.options.get("version", "1")),),
            tokenizer_sha256=sha256_bytes(b"characters"), template_sha256=sha256_bytes(b"lines"),
        )  # fmt: skip
        self.drawn = 0
        self.closed = False

    def render(self, turns):
        text = "".join(f"{turn.role}: {turn.content}\n" for turn in turns)
        return Rendered(text=text, token_ids=tuple(map(ord, text)))

    def complete(self, requests, draw):
        for start in range(0, len(requests), self.settings.batch_rows):
            time.sleep(self.options.get("slow_s", 0))
            batch = requests[start : start + self.settings.batch_rows]
            self.drawn += len(batch)
            if self.drawn > self.options.get("hang_after", 10**9):
                time.sleep(3600)
            yield tuple(self._completion(request, draw) for request in batch)

    def close(self):
        self.closed = True

    def _completion(self, request, draw):
        text = self.options.get("text", "") * self.options.get("repeat", 1) or answer(request, draw)
        ids = (*map(ord, text), END)[: request.max_tokens]
        return Completion(
            problem_id=request.problem_id, sample_idx=request.sample_idx, token_ids=ids,
            text="".join(chr(one) for one in ids if one != END),
            finish_reason="stop" if ids[-1] == END else "length",
            seed=request.seed if draw.temperature else None,
        )  # fmt: skip


def answer(request, draw):
    """`Answer: N`: what the prompt's last line asks for, or one more."""
    numbers = [int(word) for word in "".join(map(chr, request.prompt_ids)).split() if word.isdecimal()]
    share = 0.5 + 0.2 * (draw.temperature == 0)
    right = (
        uniforms(seed=request.seed or 0, problem_id=request.problem_id, sample_idx=request.sample_idx, n=1)[0]
        < share
    )
    return f"Answer: {sum(numbers[-2:]) + (not right)}"


def open_engine(settings):
    return ToyEngine(settings)
