import json
import shutil

import pytest
from minihub_client import REPO, files_below

from report.push import CARD_MARK, dataset_card

pytest_plugins = ("minihub_fixtures",)


@pytest.fixture
def built(pushed, toy_built):
    shutil.copytree(toy_built / "report", pushed / "report")
    return pushed


def repo(client):
    return client.hub.repos.repos["dataset", REPO]


def content(client, path):
    return client.hub.repos.blobs[repo(client).head().tree[path].key]


def test_the_bundle_is_one_commit_beside_the_units(client, built):
    before = repo(client).head()
    done = client.ok("report-push", built)
    head = repo(client).head()
    assert before.sha == head.parent
    assert head.sha in done.out
    assert files_below(built / "report") == {
        path.removeprefix("reports/toy/"): content(client, path)
        for path in head.tree
        if path.startswith("reports/toy/")
    }
    assert set(before.tree) < set(head.tree)


def test_the_same_bundle_twice_is_no_second_commit(client, built):
    client.ok("report-push", built)
    head = repo(client).head().sha
    assert "was there already" in client.ok("report-push", built).out
    assert head == repo(client).head().sha


def test_files_of_an_older_bundle_leave_its_folder_and_no_other(client, built):
    client.hub.repos.put(repo(client), {"reports/toy/old.md": b"x", "reports/other/README.md": b"y"}, "older")
    client.ok("report-push", built)
    assert "reports/toy/old.md" not in repo(client).head().tree
    assert "reports/other/README.md" in repo(client).head().tree


def test_a_bundle_that_a_hand_has_changed_is_not_pushed(client, built):
    (built / "report/summary.md").write_text("all is well")
    head = repo(client).head().sha
    done = client.run("report-push", built)
    assert 1 == done.code
    assert "summary.md: is not what CHECKSUMS.sha256 says" in done.err
    assert head == repo(client).head().sha


def test_a_study_without_a_bundle_is_told_to_build_one(client, pushed):
    done = client.run("report-push", pushed)
    assert 2 == done.code
    assert "beforehand report build" in done.err


def test_a_commit_in_between_and_a_lost_answer_are_survived(client, built):
    client.hub.fault(
        "POST .*/commit/",
        "call",
        call=lambda: client.hub.repos.put(repo(client), {"x.txt": b"x"}, "somebody else"),
    )
    client.hub.fault("POST .*/commit/", "after", status=500)
    client.ok("report-push", built)
    titles = [commit.title for commit in repo(client).history()]
    assert ["Report of toy", "somebody else"] == titles[:2]


def test_the_card_is_valid_metadata_that_shows_the_rows_and_leads_to_every_report(client, built):
    client.hub.repos.put(
        repo(client), {"reports/other/README.md": b"y", "reports/<b>/README.md": b"z"}, "others"
    )
    client.ok("report-push", built)
    card = content(client, "README.md").decode()
    assert client.hub.asked("POST /api/validate-yaml")
    assert "(reports/toy/README.md)" in card
    assert "(reports/other/README.md)" in card
    assert "<b>" not in card


def test_a_card_of_the_owner_is_left_alone(client, built):
    client.hub.repos.put(repo(client), {"README.md": b"# Mine"}, "mine")
    client.ok("report-push", built)
    assert b"# Mine" == content(client, "README.md")


@pytest.mark.parametrize(
    "title", ["plain", 'a "quote"', "colon: and # hash", "--- \n tags: [x]", "naïve 数 \u202e"]
)
def test_any_title_makes_a_card_whose_metadata_is_that_title(title):
    yaml = pytest.importorskip("yaml")
    text = dataset_card(title, ["toy"]).decode()
    metadata = yaml.safe_load(text.split("---\n")[1])
    assert title == metadata["pretty_name"]
    assert ["beforehand", "evaluation", "pre-registration"] == metadata["tags"]
    assert CARD_MARK in text


def test_the_real_client_reads_the_card(client):
    from huggingface_hub import DatasetCard

    card = DatasetCard(dataset_card("Title", ["toy"]).decode())
    assert "Title" == card.data.pretty_name
    assert [{"config_name": "rows", "data_files": "evals/*/*/*/rows.parquet"}] == card.data.configs


def test_json_output_names_the_commit(client, built):
    done = client.ok("report-push", built, "--json")
    assert {"repo": REPO, "commit": repo(client).head().sha, "new": True, "findings": []} == json.loads(
        done.out
    )
