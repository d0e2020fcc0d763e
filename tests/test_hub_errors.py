"""The client's errors in our words, without a Hub."""

import errno

import httpx2
import pytest
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

from manifests.errors import CapabilityMissingError
from manifests.hub.errors import translated, without_token
from manifests.hub.failures import StaleParentError, UnreachableError


def answer(status, **headers):
    request = httpx2.Request("GET", "http://127.0.0.1/api/datasets/a/b")
    return HfHubHTTPError("said", response=httpx2.Response(status, headers=headers, request=request))


def hidden(cause):
    err = LocalEntryNotFoundError("not in the cache")
    err.__cause__ = cause
    return err


@pytest.mark.parametrize(
    ("err", "retry_after_s"),
    [
        (answer(503), 0),
        (answer(500), 0),
        (answer(429), 0),
        (answer(429, **{"Retry-After": "7"}), 7),
        (answer(429, **{"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}), 0),
        (httpx2.RemoteProtocolError("cut"), 0),
        (httpx2.ConnectError("refused"), 0),
        (ConnectionError("xet"), 0),
        (OSError("Consistency check failed"), 0),
        (httpx2.ReadTimeout("slow"), None),
        (hidden(answer(503)), None),
        (hidden(None), None),
    ],
)
def test_what_may_pass_is_asked_again_unless_the_client_has_tried_long_enough(err, retry_after_s):
    said = translated(err, where="a/b")
    assert isinstance(said, UnreachableError)
    assert isinstance(said, CapabilityMissingError)
    assert retry_after_s == said.retry_after_s


def test_a_stale_parent_is_no_failure_of_the_network():
    assert isinstance(translated(answer(412), where="a/b"), StaleParentError)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOSPC])
def test_a_disk_that_cannot_be_written_is_not_called_the_hub(number):
    said = translated(OSError(number, "cannot", "blobs/x"), where="a/b")
    assert ("blobs/x", False) == (said.where, isinstance(said, UnreachableError))
    assert "cache cannot be written" in said.what


def test_an_error_of_ours_is_not_hidden_among_the_clients():
    with pytest.raises(ZeroDivisionError):
        translated(ZeroDivisionError(), where="a/b")


@pytest.mark.parametrize(
    "text",
    [
        "Bearer abcdefg123",
        "authorization: bearer xyz.987",
        "see hf_AbCdEfGhIjKlMnOp",
        "?token=hf_AbCdEfGhIjKlMnOp&x",
    ],
)
def test_what_looks_like_a_token_is_blotted_out(text):
    shown = without_token(text)
    assert "<token>" in shown
    assert not any(secret in shown for secret in ("abcdefg123", "xyz.987", "AbCdEfGhIjKlMnOp"))


def test_the_token_in_use_is_blotted_out_whatever_it_looks_like(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "plain words")
    assert "said <token>!" == without_token("said plain words!")
