"""A Hub on the loopback interface, for tests: history, conflicts, tokens, large files on another origin, faults.

It speaks what the real client asks for (`docs/hub.md` lists the calls). Not there: xet, multipart uploads, the git
protocol, jobs. State lives in one object, so that a test looks at it and changes it from outside.
"""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

from minihub_repo import Refusal, Repos, file_entry, tree_page

PAGE = 1000
LFS_BYTES = 10_000_000
LARGE = (".parquet", ".bin", ".gz", ".safetensors", ".npy")
"""Names that the Hub takes as large files, whatever their size."""


@dataclass(kw_only=True)
class Fault:
    """What happens to requests whose `METHOD path` matches. kind:

    status (answer it instead) · after (do the work, then answer it) · truncate (close in the middle of the body) · short (a consistent,
    shorter body) · corrupt (one byte flipped) · etag (a wrong one) · drop (close without an answer) · call (run `call` first).
    """

    match: str
    kind: str
    status: int = 503
    message: str = "injected fault"
    headers: dict[str, str] = field(default_factory=dict)
    times: int = 1
    call: Callable[[], object] = lambda: None


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request as it came in."""

    method: str
    path: str
    status: int
    token: str
    elsewhere: bool
    """True on the origin of the large files."""


class MiniHub:
    """Two servers on 127.0.0.1: the Hub and, as on the real one, another origin for large files."""

    def __init__(self) -> None:
        self.repos = Repos()
        self.faults: list[Fault] = []
        self.requests: list[Request] = []
        self.tokens: dict[str, str] = {}
        """Token -> `read` or `write`; empty: any token will do."""
        self.lock = threading.RLock()
        self._servers = [self._serve(), self._serve()]
        # Another host name too: the client follows a redirect only to another origin for large files.
        self.url, self.large_url = (
            f"http://{host}:{server.server_port}"
            for host, server in zip(("127.0.0.1", "localhost"), self._servers, strict=True)
        )

    def _serve(self) -> ThreadingHTTPServer:
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (_Handler,), {"hub": self}))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def stop(self) -> None:
        """Nobody answers any more."""
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def reset(self) -> None:
        """An empty Hub without faults."""
        with self.lock:
            self.repos = Repos()
            self.faults.clear()
            self.requests.clear()
            self.tokens = {}

    def fault(self, match: str, kind: str, **options: object) -> None:
        """See Fault."""
        self.faults.append(Fault(match=match, kind=kind, **options))

    def asked(self, pattern: str = "") -> list[str]:
        """`METHOD path` of the requests that match."""
        lines = [f"{request.method} {request.path}" for request in self.requests]
        return [line for line in lines if re.search(pattern, line)]

    def take_fault(self, line: str) -> Fault | None:
        """The first fault that is due for this request."""
        with self.lock:
            for fault in self.faults:
                if fault.times and re.search(fault.match, line):
                    fault.times -= 1
                    return fault
        return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    hub: ClassVar[MiniHub]

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""

    def handle_any(self) -> None:
        body = self.read_body()
        self.token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        self.answered = False
        self.fault = self.hub.take_fault(f"{self.command} {self.path}")
        kind = self.fault.kind if self.fault else ""
        if kind == "call":
            self.fault.call()
        if kind == "drop":
            self.note(0)
            self.close_connection = True
            return
        try:
            if kind == "status":
                raise Refusal(self.fault.status, self.fault.message)
            answer = self.route(body)
            if kind == "after":
                raise Refusal(self.fault.status, "injected: the answer was lost")
            self.send(*answer)
        except Refusal as refusal:
            extra = self.fault.headers if self.fault else {}
            headers = {"X-Error-Message": refusal.message, "X-Error-Code": refusal.code, **extra}
            self.send(refusal.status, {"error": refusal.message}, {k: v for k, v in headers.items() if v})
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815 - names of the standard library

    def read_body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def note(self, status: int) -> None:
        elsewhere = self.server.server_port == int(self.hub.large_url.rpartition(":")[2])
        self.hub.requests.append(
            Request(method=self.command, path=self.path, status=status, token=self.token, elsewhere=elsewhere)
        )

    def send(self, status: int, body: object = b"", headers: dict[str, str] | None = None) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        shown = {"Content-Type": "application/json", **(headers or {})}
        kind = self.fault.kind if self.fault and status < 400 else ""
        if kind == "etag":
            shown |= {name: f'"{"0" * 40}"' for name in ("ETag", "X-Linked-Etag") if name in shown}
        if kind == "corrupt" and data:
            data = bytes([data[0] ^ 1]) + data[1:]
        if kind == "short" and self.command != "HEAD":
            data = data[: len(data) // 2]
        self.note(status)
        self.send_response(status)
        for name, value in {**shown, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if kind == "truncate":
            data = data[: len(data) // 2]
            self.close_connection = True
        self.wfile.write(data)

    def authorize(self, *, write: bool) -> None:
        rights = self.hub.tokens
        if not rights:
            return
        if self.token and self.token not in rights:
            raise Refusal(401, "Invalid credentials in Authorization header")
        if write and rights.get(self.token) != "write":
            raise Refusal(
                403 if self.token else 401, "Forbidden: you must use a write token to upload to a repository."
            )

    def route(self, body: bytes) -> tuple[object, ...]:
        """(status, body, headers) for the request."""
        parts = urlsplit(self.path)
        path, query = parts.path, parse_qs(parts.query)
        if match := re.fullmatch(r"/large/([0-9a-f]{64})", path):
            return self.large(match[1], body)
        self.authorize(write=self.command not in {"GET", "HEAD"} and "paths-info" not in path)
        if path == "/api/whoami-v2":
            return 200, {"type": "user", "name": "tester", "orgs": []}
        if path == "/api/validate-yaml":
            return 200, {"errors": [], "warnings": []}
        if path == "/api/repos/create":
            asked = json.loads(body)
            return self.hub.repos.create(asked, self.hub.url)
        if match := re.fullmatch(r"/(datasets/)?([^/]+/[^/]+)\.git/info/lfs/objects/batch", path):
            return self.batch(json.loads(body))
        if match := re.fullmatch(r"/(datasets/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            return self.resolve(
                "dataset" if match[1] else "model", match[2], unquote(match[3]), unquote(match[4])
            )
        if match := re.fullmatch(r"/api/(model|dataset)s/([^/]+/[^/]+)(?:/(.*))?", path):
            return self.api(match[1], unquote(match[2]), match[3] or "revision/main", query, body)
        raise Refusal(404, f"no route {self.command} {path}")

    def api(
        self, kind: str, name: str, rest: str, query: dict[str, list[str]], body: bytes
    ) -> tuple[object, ...]:
        if new := self.hub.repos.renamed.get((kind, name)):
            return 307, b"", {"Location": f"{self.hub.url}{self.path.replace(name, new, 1)}"}
        repo = self.hub.repos.get(kind, name, self.token)
        call, _, rest = rest.partition("/")
        revision, _, path = rest.partition("/")
        revision = unquote(revision) or "main"
        if call == "auth-check":
            repo.refuse_outsiders(self.token)
            return 200, {}
        if call == "revision":
            commit = repo.find(revision)
            siblings = [{"rfilename": name} for name in sorted(commit.tree)]
            return 200, {
                "id": repo.name,
                "sha": commit.sha,
                "gated": repo.gated,
                "private": repo.private,
                "siblings": siblings,
            }
        if call == "tree":
            start = int(query.get("cursor", ["0"])[0])
            entries = tree_page(repo.find(revision), unquote(path))
            more = f"{self.hub.url}{re.sub(r'&?cursor=[0-9]+', '', self.path)}"
            link = f'<{more}{"&" if "?" in more else "?"}cursor={start + PAGE}>; rel="next"'
            return 200, entries[start : start + PAGE], {"Link": link} if start + PAGE < len(entries) else {}
        if call == "paths-info":
            paths = parse_qs(body.decode()).get("paths", [])
            tree = repo.find(revision).tree
            return 200, [file_entry(path, tree[path]) for path in paths if path in tree]
        if call == "preupload":
            return 200, {
                "files": [
                    self.upload_mode(repo.find(revision).tree, file) for file in json.loads(body)["files"]
                ]
            }
        if call == "commit":
            lines = [json.loads(line) for line in body.split(b"\n") if line.strip()]
            with self.hub.lock:
                sha = repo.commit(revision, lines, self.hub.repos.blobs)
            return 200, {
                "success": True,
                "commitOid": sha,
                "commitUrl": f"{self.hub.url}/{repo.name}/commit/{sha}",
            }
        raise Refusal(404, f"not in this Hub: {call}")

    def upload_mode(self, tree: dict[str, object], file: dict[str, object]) -> dict[str, object]:
        binary = b"\0" in base64.b64decode(file.get("sample", ""))
        large = file["path"].endswith(LARGE) or file["size"] > LFS_BYTES or binary
        known = {"oid": tree[file["path"]].key} if file["path"] in tree else {}
        return {
            "path": file["path"],
            "uploadMode": "lfs" if large else "regular",
            "shouldIgnore": False,
            **known,
        }

    def batch(self, asked: dict[str, object]) -> tuple[object, ...]:
        objects = []
        for one in asked["objects"]:
            upload = {"upload": {"href": f"{self.hub.large_url}/large/{one['oid']}"}}
            known = one["oid"] in self.hub.repos.blobs
            objects.append({"oid": one["oid"], "size": one["size"], **({} if known else {"actions": upload})})
        return 200, {"transfer": "basic", "objects": objects}

    def resolve(self, kind: str, name: str, revision: str, path: str) -> tuple[object, ...]:
        repo = self.hub.repos.get(kind, name, self.token)
        repo.refuse_outsiders(self.token)
        commit = repo.find(revision)
        file = commit.tree.get(path)
        if file is None:
            raise Refusal(404, "Entry not found", "EntryNotFound")
        headers = {"X-Repo-Commit": commit.sha, "Accept-Ranges": "bytes", "ETag": f'"{file.oid}"'}
        if not file.large:
            return self.content(self.hub.repos.blobs[file.key], headers)
        linked = {"X-Linked-Size": str(file.size), "X-Linked-Etag": f'"{file.key}"'}
        return 302, b"", {**headers, **linked, "Location": f"{self.hub.large_url}/large/{file.key}"}

    def large(self, sha256: str, body: bytes) -> tuple[object, ...]:
        if self.command == "PUT":
            self.hub.repos.blobs[sha256] = body
            return 200, b"", {"ETag": f'"{sha256}"'}
        return self.content(self.hub.repos.blobs[sha256], {"ETag": f'"{sha256}"'})

    def content(self, data: bytes, headers: dict[str, str]) -> tuple[object, ...]:
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not match:
            return 200, data, headers
        first, last = int(match[1]), int(match[2]) if match[2] else len(data) - 1
        return 206, data[first : last + 1], {**headers, "Content-Range": f"bytes {first}-{last}/{len(data)}"}
