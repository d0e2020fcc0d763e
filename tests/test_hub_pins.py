import hashlib
import json

import pytest
from minihub_client import CANARY

from manifests.errors import BeforehandError
from manifests.tokenizers import compare_tokenizers, read_tokenizer

pytest_plugins = ("minihub_fixtures",)


def tokenizer(ordinary=("a", "b", "c"), special=("<s>", "</s>"), **sections):
    """A small tokenizer.json of the kind that byte-pair models ship."""
    first = len(ordinary)
    return {
        "version": "1.0",
        "added_tokens": [
            {"id": first + i, "content": text, "special": True} for i, text in enumerate(special)
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": {token: i for i, token in enumerate(ordinary)}, "merges": ["a b"]},
        **sections,
    }


@pytest.fixture
def models(client, study):
    """The design's two models, with tokenizers; the design names their real commits."""
    text = (study / "PREREGISTRATION.md").read_text()
    base = client.hub.repos.new(
        "org/base", {"tokenizer.json": json.dumps(tokenizer()).encode()}, kind="model"
    )
    other = client.hub.repos.new(
        "org/other",
        {"tokenizer.json": json.dumps(tokenizer(special=("<s>", "<end>"))).encode()},
        kind="model",
    )
    (study / "PREREGISTRATION.md").write_text(text.replace("a" * 40, base.head().sha))
    for path in (study / "manifests").glob("*.json"):
        path.unlink()
    return base, other


def write_revision(study, repo, revision):
    path = study / "PREREGISTRATION.md"
    path.write_text(path.read_text().replace(repo.head().sha, revision))


def test_full_shas_of_repositories_that_are_there_are_clean(client, study, models):
    assert "1 pins checked, no findings" in client.ok("check-pins", study).out


@pytest.mark.parametrize(
    ("revision", "words"),
    [
        ("main", "'main' is a branch or a tag, which moves"),
        ("v1.0", "'v1.0' is a branch or a tag, which moves"),
        ("SHORT", "is a short sha, which another commit may come to share"),
        ("", "has no revision; its main branch is"),
    ],
)
def test_a_revision_that_moves_is_refused_with_the_sha_that_it_is_now(client, study, models, revision, words):
    sha = models[0].head().sha
    models[0].refs["v1.0"] = sha
    write_revision(study, models[0], sha[:8] if revision == "SHORT" else revision)
    done = client.run("check-pins", study)
    assert 1 == done.code
    assert words in done.out
    assert f'mend: revision = "{sha}"' in done.out
    assert "design systems.base.model" in done.out


def test_a_commit_that_is_not_there_is_a_finding(client, study, models):
    write_revision(study, models[0], "d" * 40)
    done = client.run("check-pins", study)
    assert 1 == done.code
    assert f"model org/base has no revision '{'d' * 40}'" in done.out


def test_a_gated_repository_is_called_gated(client, study, models):
    models[0].gated = "manual"
    done = client.run("check-pins", study)
    assert 1 == done.code
    assert "model org/base is gated, and this account was not let in" in done.out
    assert "ask for access" in done.out


def test_a_gated_repository_that_let_this_account_in_is_clean(client, study, models):
    models[0].gated, models[0].let_in = "manual", {CANARY}
    client.ok("check-pins", study)


def test_a_missing_repository_is_called_missing(client, study, models):
    del client.hub.repos.repos["model", "org/base"]
    done = client.run("check-pins", study)
    assert 1 == done.code
    assert "model org/base is not there, or it is private" in done.out


def test_a_renamed_repository_is_called_by_its_new_name(client, study, models):
    client.hub.repos.rename(models[0], "neworg/base")
    done = client.run("check-pins", study)
    assert 1 == done.code
    assert "model org/base is called neworg/base now" in done.out
    assert 'mend: repo = "neworg/base"' in done.out


def test_the_pins_of_units_and_the_models_of_records_are_checked_too(client, pushed):
    done = client.run("check-pins", pushed)
    assert "4 pins checked" in done.out
    assert "model org/base is not there" in done.out
    assert "manifests/base.toy.main.json system" in done.out
    assert "pins.json" not in done.out


def test_a_pin_of_a_unit_that_says_main_is_refused(client, pushed):
    head = client.hub.repos.repos["dataset", "tester/units"].head().sha
    (pushed / "pins.json").write_text((pushed / "pins.json").read_text().replace(head, "main"))
    done = client.run("check-pins", pushed)
    assert "pins.json units.base.toy.main: 'main' is a branch or a tag" in done.out
    assert f'mend: revision = "{head}"' in done.out


def test_with_the_hub_down_no_pin_is_called_wrong(client, study, models):
    client.hub.fault(".", "status", times=-1)
    done = client.run("check-pins", study)
    assert 4 == done.code
    assert "finding" not in done.out


# Tokenizers


def test_two_tokenizers_with_other_special_ids_pass_and_the_ids_are_told(client, study, models):
    other = f"org/other@{models[1].head().sha}"
    done = client.ok("check-pins", study, "--tokenizers", "base", other)
    assert f"base and {other}: compatible, 3 ordinary ids compared" in done.out
    assert "1 special ids differ, in [4, 4]: 4 '</s>' | '<end>'" in done.out


def test_other_ordinary_ids_stop_the_study(client, study, models):
    files = {"tokenizer.json": json.dumps(tokenizer(ordinary=("a", "c", "b"))).encode()}
    sha = client.hub.repos.put(models[1], files, "swapped")
    done = client.run("check-pins", study, "--tokenizers", "base", f"org/other@{sha}")
    assert 1 == done.code
    assert "2 ordinary ids stand for other tokens: 1 'b' | 'c', 2 'c' | 'b'" in done.out
    assert "the base model section differs: sha256 " in done.out


@pytest.mark.parametrize("name", ["nobody", "org/other@main", "sft"])
def test_a_tokenizer_that_is_not_pinned_is_refused(client, study, models, name):
    done = client.run("check-pins", study, "--tokenizers", "base", name)
    assert 2 == done.code


def compare(tmp_path, first, second):
    read = []
    for name, raw in (("one", first), ("two", second)):
        (tmp_path / name).write_text(json.dumps(raw))
        read.append(read_tokenizer(tmp_path / name, name=name))
    return compare_tokenizers(*read)


def test_a_tokenizer_is_compatible_with_itself(tmp_path):
    same = compare(tmp_path, tokenizer(), tokenizer())
    assert ((), ()) == (same.findings, same.notes)


def test_the_order_of_keys_does_not_matter(tmp_path):
    turned = json.loads(json.dumps(tokenizer(), sort_keys=True))
    assert () == compare(tmp_path, tokenizer(), turned).findings


def test_other_merges_are_found_though_every_id_is_the_same(tmp_path):
    model = {**tokenizer()["model"], "merges": ["b c"]}
    other = compare(tmp_path, tokenizer(), tokenizer(model=model))
    assert ["the base model section differs"] == [
        finding.what.partition(":")[0] for finding in other.findings
    ]


def test_a_token_that_only_one_has_is_found(tmp_path):
    longer = tokenizer(ordinary=("a", "b", "c", "d"), special=())
    assert "1 ordinary ids" in compare(tmp_path, tokenizer(special=()), longer).findings[0].what


def test_another_cut_into_words_is_a_note(tmp_path):
    other = tokenizer(pre_tokenizer={"type": "Whitespace"})
    compared = compare(tmp_path, tokenizer(), other)
    assert () == compared.findings
    assert compared.notes[0].startswith("the pre_tokenizer section differs: sha256 ")


def test_an_id_that_is_special_in_one_is_not_ordinary_in_the_other(tmp_path):
    one = tokenizer(ordinary=("a", "b", "c"), special=("<s>",))
    two = tokenizer(ordinary=("a", "b", "c", "d"), special=())
    two["model"] = one["model"]
    compared = compare(tmp_path, one, two)
    assert () == compared.findings
    assert "1 special ids differ" in compared.notes[0]


def test_a_file_of_another_make_is_refused(tmp_path):
    (tmp_path / "one").write_text('{"model": {"vocab": [["a", -1.5]]}, "added_tokens": []}')
    with pytest.raises(BeforehandError, match="with a vocabulary of token"):
        read_tokenizer(tmp_path / "one", name="one")


def test_the_section_digest_can_be_redone_by_hand(tmp_path):
    (tmp_path / "one").write_text(json.dumps(tokenizer()))
    canonical = b'{"merges":["a b"],"type":"BPE","vocab":{"a":0,"b":1,"c":2}}'
    assert (
        hashlib.sha256(canonical).hexdigest()
        == read_tokenizer(tmp_path / "one", name="one").sections["model"]
    )
