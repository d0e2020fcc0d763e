"""Tokens a second of the engine `transformers` against stock `generate`, on the prompts of smollm2-prompting.

    python benchmarks/generate.py [--prompt fourshot] [--problems 24] [--samples 4] [--threads 1]

Both draw the same number of samples of the same prompts with the same temperature, cap and weights (bfloat16), in one batch;
stock `generate` gets the batch left-padded, its key-value cache on, and top_k = 0. Each is warmed up by a short call.
Needs requirements-heavy.txt and the study's model (`python studies/smollm2-prompting/make_model.py`).
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from pathlib import Path

import torch  # noqa: TID251 - the benchmark's peer
from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: TID251 - same

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pipeline.engines.contract import Draw, EngineSettings, Request  # noqa: E402
from pipeline.engines.opening import open_engine  # noqa: E402
from pipeline.prompts import read_prompts  # noqa: E402

STUDY = ROOT / "studies/smollm2-prompting"
TEMPERATURE = 0.7


def ours(requests: list[Request], threads: int) -> tuple[int, float]:
    """Tokens and seconds of our engine."""
    engine = open_engine(
        "transformers",
        EngineSettings(model=STUDY / "model", dtype="bfloat16", batch_rows=len(requests), threads=threads),
    )
    draw = Draw(temperature=TEMPERATURE, top_p=1.0, top_k=0)
    list(engine.complete(requests[:2], draw))
    started = time.perf_counter()
    tokens = sum(len(one.token_ids) for batch in engine.complete(requests, draw) for one in batch)
    seconds = time.perf_counter() - started
    engine.close()
    return tokens, seconds


def stock(requests: list[Request], threads: int) -> tuple[int, float]:
    """Tokens and seconds of `generate`; padding after the end is not counted."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(STUDY / "model", padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(STUDY / "model", dtype=torch.bfloat16).eval()
    batch = tokenizer.pad({"input_ids": [list(one.prompt_ids) for one in requests]}, return_tensors="pt")
    settings = {"do_sample": True, "temperature": TEMPERATURE, "top_k": 0, "top_p": 1.0}
    model.generate(**{key: value[:2] for key, value in batch.items()}, max_new_tokens=4, **settings)
    started = time.perf_counter()
    out = model.generate(**batch, max_new_tokens=requests[0].max_tokens, **settings)
    seconds = time.perf_counter() - started
    end = tokenizer.eos_token_id
    drawn = out[:, batch["input_ids"].shape[1] :].tolist()
    return sum(row.index(end) + 1 if end in row else len(row) for row in drawn), seconds


def main() -> None:
    """Print one JSON object a contender, then the ratio."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--prompt", default="fourshot")
    parser.add_argument("--problems", type=int, default=24)
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--cap", type=int, default=48)
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    engine = open_engine(
        "transformers",
        EngineSettings(model=STUDY / "model", dtype="bfloat16", batch_rows=1, threads=asked.threads),
    )
    handler = read_prompts(STUDY).prompts[asked.prompt]
    lines = (STUDY / "problems/words.jsonl").read_text(encoding="utf-8").splitlines()
    problems = [json.loads(lines[n * len(lines) // asked.problems]) for n in range(asked.problems)]
    requests = [
        Request(
            problem_id=problem["problem_id"], sample_idx=k, seed=k, max_tokens=asked.cap,
            prompt_ids=engine.render(handler.turns(problem, where="benchmark")).token_ids,
        )
        for problem in problems
        for k in range(asked.samples)
    ]  # fmt: skip
    engine.close()
    speeds = {}
    for contender in (ours, stock):
        tokens, seconds = contender(requests, asked.threads)
        speeds[contender.__name__] = tokens / seconds
        facts = {
            "contender": contender.__name__,
            "rows": len(requests),
            "tokens": tokens,
            "seconds": round(seconds, 1),
        }
        print(json.dumps({**facts, "tokens_per_s": round(tokens / seconds, 1)}), flush=True)
    peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(json.dumps({"ratio": round(speeds["ours"] / speeds["stock"], 2), "peak_gb": round(peak_gb, 2)}))


if __name__ == "__main__":
    main()
