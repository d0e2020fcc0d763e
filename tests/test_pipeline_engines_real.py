"""Engines with real libraries: the shared-prefix decoder against stock `generate`. Skipped, saying so, where something is missing.

A tiny random Llama needs torch and transformers only; the study's own model is used where `make_model.py` has made it.
"""

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install -r requirements-heavy.txt")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

from pipeline.engines.batching import batches, shared_prefix_length  # noqa: E402
from pipeline.engines.contract import Draw, EngineSettings, Request  # noqa: E402
from pipeline.engines.opening import open_engine  # noqa: E402
from pipeline.engines.shared_prefix import Architecture, SharedPrefixDecoder  # noqa: E402
from pipeline.prompts import read_prompts  # noqa: E402

STUDY = Path(__file__).resolve().parent.parent / "studies/smollm2-prompting"
GREEDY = Draw(temperature=0.0, top_p=1.0, top_k=0)
FULL = Draw(temperature=0.7, top_p=1.0, top_k=0)
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def llama():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    config = transformers.LlamaConfig(
        vocab_size=97, hidden_size=48, intermediate_size=96, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2,
        max_position_embeddings=256, rope_parameters={"rope_type": "default", "rope_theta": 5000.0}, tie_word_embeddings=False,
        eos_token_id=None, pad_token_id=0,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).eval()


@pytest.fixture(scope="module")
def decoder(llama):
    return make_decoder(llama, stop_ids=frozenset({5}))


def make_decoder(llama, *, stop_ids):
    sizes = Architecture(
        n_layers=3, n_heads=6, n_kv_heads=2, head_size=8, rope_theta=5000.0, eps=1e-6, window=256
    )
    return SharedPrefixDecoder(sizes, llama.state_dict(), dtype="float32", threads=1, stop_ids=stop_ids)


def requests(prompts, *, samples=1, max_tokens=20):
    return [
        Request(problem_id=f"p{n}", sample_idx=k, prompt_ids=tuple(ids), max_tokens=max_tokens, seed=k)
        for n, ids in enumerate(prompts)
        for k in range(samples)
    ]


def tokens(decoder, asked, draw, *, batch_rows=64):
    return {
        (one.request.problem_id, one.request.sample_idx): one.token_ids
        for batch in decoder.decode(asked, draw, batch_rows=batch_rows)
        for one in batch
    }


def stock_greedy(llama, ids, n, stop):
    out = llama.generate(
        torch.tensor([ids]),
        max_new_tokens=n,
        do_sample=False,
        eos_token_id=stop,
        pad_token_id=0,
        attention_mask=torch.ones(1, len(ids)),
    )
    return tuple(out[0, len(ids) :].tolist())


PREFIX = [11, 12, 13, 14, 15, 16, 17]
PROMPTS = {
    "a long shared prefix": [PREFIX + tail for tail in ([20, 21, 22], [23], [24, 25, 26, 27, 28], [29, 30])],
    "no shared prefix": [[20, 21, 22], [23], [24, 25, 26, 27, 28], [29, 30]],
    "one prompt alone": [PREFIX],
    "a prompt that is another's beginning": [PREFIX, [*PREFIX, 40, 41]],
    "one token each": [[3], [4]],
}


@pytest.mark.parametrize("name", PROMPTS)
def test_greedy_tokens_equal_stock_generate(llama, decoder, name):
    got = tokens(decoder, requests(PROMPTS[name]), GREEDY)
    assert {(f"p{n}", 0): stock_greedy(llama, ids, 20, 5) for n, ids in enumerate(PROMPTS[name])} == got


def test_a_row_does_not_depend_on_its_batch(decoder):
    prompts = PROMPTS["a long shared prefix"]
    together = tokens(decoder, requests(prompts, samples=4), FULL)
    for batch_rows in (1, 3, 7):
        assert together == tokens(decoder, requests(prompts, samples=4), FULL, batch_rows=batch_rows)
    alone = {}
    for request in requests(prompts, samples=4):
        alone |= tokens(decoder, [request], FULL)
    assert together == alone


def test_sampled_tokens_follow_the_model_s_own_distribution(llama, decoder):
    asked = requests([PREFIX], samples=4000, max_tokens=1)
    drawn = torch.tensor([ids[0] for ids in tokens(decoder, asked, FULL, batch_rows=4000).values()])
    with torch.no_grad():
        expected = (llama(torch.tensor([PREFIX])).logits[0, -1] / 0.7).softmax(-1)
    counts = torch.bincount(drawn, minlength=97) / 4000
    assert float((counts - expected).abs().sum()) < 0.15


@pytest.mark.parametrize(
    ("draw", "kept"),
    [(Draw(temperature=1.0, top_p=1.0, top_k=3), 3), (Draw(temperature=1.0, top_p=1e-6, top_k=0), 1)],
)
def test_top_k_and_top_p_cut_the_vocabulary(decoder, draw, kept):
    drawn = tokens(decoder, requests([PREFIX], samples=300, max_tokens=1), draw, batch_rows=300)
    assert kept == len({ids[0] for ids in drawn.values()})


def test_a_row_stops_at_its_own_limit_and_at_the_stop_token(llama):
    first = stock_greedy(llama, PREFIX, 6, None)
    stopping = make_decoder(llama, stop_ids=frozenset({first[2]}))
    asked = [
        Request(problem_id="short", sample_idx=0, prompt_ids=tuple(PREFIX), max_tokens=2, seed=None),
        Request(problem_id="long", sample_idx=0, prompt_ids=tuple(PREFIX), max_tokens=6, seed=None),
    ]
    got = {
        one.request.problem_id: (one.token_ids, one.stopped)
        for batch in stopping.decode(asked, GREEDY, batch_rows=8)
        for one in batch
    }
    cut = first.index(first[2]) + 1
    assert {"short": (first[:2], cut <= 2), "long": (first[:cut], True)} == got


def test_batches_hold_the_samples_of_a_prompt_together_and_every_request_once():
    asked = requests(PROMPTS["a long shared prefix"], samples=5)
    cut = list(batches(asked, batch_rows=7))
    assert sorted((r.problem_id, r.sample_idx) for b in cut for group in b for r in group) == sorted(
        (r.problem_id, r.sample_idx) for r in asked
    )
    assert max(sum(map(len, batch)) for batch in cut) <= 7
    assert all(1 == len({r.prompt_ids for r in group}) for batch in cut for group in batch)


def test_the_shared_prefix_leaves_a_token_of_every_prompt():
    assert [7, 0, 6, 6] == [
        shared_prefix_length([tuple(ids) for ids in PROMPTS[name]])
        for name in (
            "a long shared prefix",
            "no shared prefix",
            "one prompt alone",
            "a prompt that is another's beginning",
        )
    ]


@pytest.mark.skipif(
    not (STUDY / "model").is_dir(), reason="the study's model is not made: python make_model.py"
)
@pytest.mark.parametrize("prompt", ["fourshot", "instruct"])
def test_the_study_s_model_gives_the_tokens_of_stock_generate_in_fp32(prompt):
    engine = open_engine(
        "transformers", EngineSettings(model=STUDY / "model", dtype="float32", batch_rows=8, threads=1)
    )
    model = transformers.AutoModelForCausalLM.from_pretrained(STUDY / "model", dtype=torch.float32)
    handler = read_prompts(STUDY).prompts[prompt]
    lines = (STUDY / "probe/problems.jsonl").read_text().splitlines()[::14]
    prompts = [engine.render(handler.turns(json.loads(line), where="probe")).token_ids for line in lines]
    got = {
        one.problem_id: one.token_ids
        for batch in engine.complete(requests(prompts, max_tokens=16), GREEDY)
        for one in batch
    }
    engine.close()
    assert {f"p{n}": stock_greedy(model, list(ids), 16, 2) for n, ids in enumerate(prompts)} == got
