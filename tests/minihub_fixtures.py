"""Fixtures of the tests that meet the Hub: one loopback Hub and one worker a session, everything else fresh a test."""

import shutil

import pytest
from minihub import MiniHub
from minihub_client import CANARY, REPO, Client, files_below, hub_worker, on_hub
from study_factory import whole_study


@pytest.fixture(scope="session")
def one_hub():
    hub = MiniHub()
    yield hub
    hub.stop()


@pytest.fixture(scope="session")
def one_worker(one_hub):
    with hub_worker(one_hub) as worker:
        yield worker


@pytest.fixture(scope="session")
def toy_study(tmp_path_factory):
    return on_hub(whole_study(tmp_path_factory.mktemp("toy") / "study"))


@pytest.fixture(scope="session")
def toy_built(toy_study, tmp_path_factory):
    """The toy study with its bundle, built from the folder."""
    from report.build import build_and_write

    study = shutil.copytree(toy_study, tmp_path_factory.mktemp("built") / "study")
    build_and_write(study)
    return study


@pytest.fixture
def client(one_hub, one_worker, tmp_path):
    """Commands against an empty Hub. Whatever a test does, no token may stand in anything that was printed or written."""
    one_hub.reset()
    (tmp_path / "here").mkdir()
    client = Client(hub=one_hub, worker=one_worker, folder=tmp_path / "here", cache=tmp_path / "cache")
    yield client
    assert CANARY not in "".join(client.heard)
    assert [] == [name for name, data in files_below(tmp_path).items() if CANARY.encode() in data]
    assert {""} >= {request.token for request in one_hub.requests if request.elsewhere}


@pytest.fixture
def study(toy_study, tmp_path):
    """A registered study with two units in its folder, and a Hub store that holds none."""
    return shutil.copytree(toy_study, tmp_path / "study")


@pytest.fixture
def pushed(client, study):
    """The study after its first push."""
    client.hub.repos.new(REPO)
    client.ok("push", study)
    client.hub.requests.clear()
    return study


@pytest.fixture
def clone(pushed, tmp_path):
    """The study as its repository holds it, on another path: pins and records, but no rows."""
    copy = shutil.copytree(pushed, tmp_path / "elsewhere" / "study")
    shutil.rmtree(copy / "units")
    return copy
