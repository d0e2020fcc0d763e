import contextlib
import http.server
import json
import shutil
import subprocess
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prereg_studies import NOON, frozen_study

from manifests.errors import BeforehandError, CapabilityMissingError
from prereg.der import DerError, read_all, write, write_integer
from prereg.timestamp import read_response, request, stamp
from prereg.verify import main, verify

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")

CONFIG = """
[tsa]
default_tsa = one
[one]
serial = serial
crypto_device = builtin
signer_cert = tsa.pem
certs = tsa.pem
signer_key = tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
accuracy = secs:1
ess_cert_id_chain = no
ess_cert_id_alg = sha256
"""


def openssl(folder, *arguments):
    return subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True).stdout


def make_authority(folder):
    """A self-signed authority: its key, its certificate, its configuration."""
    folder.mkdir()
    (folder / "tsa.cnf").write_text(CONFIG)
    (folder / "serial").write_text("01\n")
    openssl(
        folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "tsa.key", "-out", "tsa.pem", "-days", "3650",
        "-subj", "/CN=toy authority", "-addext", "extendedKeyUsage=critical,timeStamping", "-addext", "keyUsage=critical,digitalSignature",
    )  # fmt: skip
    return folder


class Server:
    """A real `openssl ts` authority on the loopback; `spoil` changes what it answers."""

    def __init__(self, folder):
        self.folder = folder
        self.spoil = lambda answer: answer
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                query = self.rfile.read(int(self.headers["Content-Length"]))
                (server.folder / "query").write_bytes(query)
                openssl(
                    server.folder,
                    "ts",
                    "-reply",
                    "-queryfile",
                    "query",
                    "-config",
                    "tsa.cnf",
                    "-out",
                    "answer",
                )
                answer = server.spoil((server.folder / "answer").read_bytes())
                self.send_response(200)
                self.send_header("Content-Type", "application/timestamp-reply")
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.http.server_address[1]}/"

    def stop(self):
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


@pytest.fixture(scope="module")
def authorities(tmp_path_factory):
    root = tmp_path_factory.mktemp("authorities")
    return make_authority(root / "one"), make_authority(root / "other")


@pytest.fixture
def authority(authorities):
    server = Server(authorities[0])
    yield server
    server.stop()


@pytest.fixture
def study(tmp_path):
    return frozen_study(tmp_path)


def test_without_a_token_the_timestamp_is_owed_and_verify_says_so(study):
    assert ("owed", 0) == (verify(study).timestamp, verify(study).exit_code)
    assert "timestamp: owed" in verify(study).text


def test_a_token_of_a_real_authority_is_stored_and_verified_offline(study, authority, authorities):
    token = stamp(study, authority.url)
    unchecked = verify(study)
    assert (0, f"{token.at_utc}, signature not checked (give --authority CERTIFICATE)") == (
        unchecked.exit_code,
        unchecked.timestamp,
    )
    checked = verify(study, authority=authorities[0] / "tsa.pem")
    assert (0, f"{token.at_utc}, signed by the given authority") == (checked.exit_code, checked.timestamp)


def test_the_certificate_of_another_authority_does_not_pass(study, authority, authorities):
    stamp(study, authority.url)
    result = verify(study, authority=authorities[1] / "tsa.pem")
    assert 1 == result.exit_code
    assert "the signature does not hold" in result.findings[0].what


def test_a_record_that_was_rewritten_after_its_stamp_is_found(study, authority):
    from prereg_studies import registration

    from prereg.freeze import freeze

    stamp(study, authority.url)
    (study / "registration.json").unlink()
    (study / "PREREGISTRATION.md").write_bytes(registration(prose="Another question\n"))
    freeze(study, now=lambda: NOON)
    assert ["stamps another record than the one that is here"] == [one.what for one in verify(study).findings]


def test_a_stated_time_after_the_stamp_is_found(tmp_path, authority):
    from datetime import UTC, datetime, timedelta

    from prereg_studies import make_study

    from prereg.freeze import freeze

    study = make_study(tmp_path)
    freeze(study, now=lambda: datetime.now(UTC) + timedelta(days=2))
    stamp(study, authority.url)
    assert any("was stamped before that" in one.what for one in verify(study).findings)


def test_a_record_is_stamped_once(study, authority):
    stamp(study, authority.url)
    with pytest.raises(BeforehandError, match="exists already"):
        stamp(study, authority.url)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda _: b"",
        lambda _: b"<html>",
        lambda answer: answer[:-40],
        lambda _: write(0x30, write(0x30, write_integer(2))),
    ],
)
def test_an_answer_that_is_no_token_is_refused_and_nothing_is_stored(study, authority, spoil):
    authority.spoil = spoil
    with pytest.raises(BeforehandError, match="the answer"):
        stamp(study, authority.url)
    assert not (study / "registration.tsr").exists()


def test_an_answer_to_another_request_is_refused(study, authority, tmp_path):
    stamp(study, authority.url)
    old = (study / "registration.tsr").read_bytes()
    other = frozen_study(tmp_path, name="other")
    authority.spoil = lambda _: old
    with pytest.raises(BeforehandError, match="for another request"):
        stamp(other, authority.url)


def test_an_authority_that_does_not_answer_leaves_the_freeze_as_it_is(study):
    with pytest.raises(CapabilityMissingError, match="did not answer"):
        stamp(study, "http://127.0.0.1:9/")
    with pytest.raises(BeforehandError, match="no web address"):
        stamp(study, "file:///etc/passwd")
    assert 0 == verify(study).exit_code


def test_the_request_is_what_openssl_makes_of_it(tmp_path):
    (tmp_path / "q").write_bytes(request("ab" * 32, 0x0123456789ABCDEF))
    shown = openssl(tmp_path, "ts", "-query", "-in", "q", "-text").decode()
    assert "Hash Algorithm: sha256" in shown
    assert "Nonce: 0x0123456789ABCDEF" in shown
    assert "Certificate required: yes" in shown


def test_the_command_line_takes_the_certificate(study, authority, authorities, capsys):
    stamp(study, authority.url)
    assert 0 == main([str(study), f"--authority={authorities[0] / 'tsa.pem'}", "--json"])
    assert "signed by the given authority" in json.loads(capsys.readouterr().out)["timestamp"]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_token_is_never_a_crash(authorities, data):
    folder = authorities[0]
    if not (folder / "sample").exists():
        (folder / "q").write_bytes(request("ab" * 32, 7))
        openssl(folder, "ts", "-reply", "-queryfile", "q", "-config", "tsa.cnf", "-out", "sample")
    good = (folder / "sample").read_bytes()
    assert ("ab" * 32, 7) == (read_response(good).sha256, read_response(good).nonce)
    at = data.draw(st.integers(0, len(good) - 1))
    bad = (
        good[:at]
        + bytes([data.draw(st.integers(0, 255))])
        + good[at + 1 : data.draw(st.integers(at, len(good)))]
    )
    with contextlib.suppress(DerError):
        read_response(bad)


@given(st.binary(max_size=400), st.integers(0, 2**64))
def test_what_is_written_is_read_again(content, number):
    (outer,) = read_all(write(0x30, write(0x04, content), write_integer(number)))
    assert (content, number) == (
        outer.child(0, 0x04).content,
        int.from_bytes(outer.child(1, 0x02).content, "big"),
    )
