"""Repositories of the loopback Hub: content-addressed files, commits with a parent, branches, tags, who may see what."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field


class Refusal(Exception):  # noqa: N818 - what the Hub does, no mistake of ours
    """An answer that is no success, with the Hub's headers."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


def git_id(kind: bytes, data: bytes) -> str:
    """Git's name of an object."""
    return hashlib.sha1(b"%s %d\0" % (kind, len(data)) + data).hexdigest()


@dataclass(frozen=True, kw_only=True)
class File:
    """oid: git's id, of the pointer for a large file. key: what the content is stored under, and the ETag says."""

    oid: str
    key: str
    size: int
    large: bool

    @classmethod
    def of(cls, data: bytes, *, large: bool) -> File:
        oid = git_id(b"blob", data)
        if not large:
            return cls(oid=oid, key=oid, size=len(data), large=False)
        sha256 = hashlib.sha256(data).hexdigest()
        pointer = (
            f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {len(data)}\n".encode()
        )
        return cls(oid=git_id(b"blob", pointer), key=sha256, size=len(data), large=True)


@dataclass(frozen=True, kw_only=True)
class Commit:
    """One commit with its whole tree."""

    sha: str
    parent: str | None
    title: str
    tree: dict[str, File]


@dataclass(kw_only=True)
class Repo:
    """A repository. Shas depend on the history alone: no clock."""

    kind: str
    name: str
    private: bool = False
    gated: object = False
    let_in: set[str] = field(default_factory=set)
    disabled: bool = False
    commits: dict[str, Commit] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)

    def find(self, revision: str) -> Commit:
        """The commit of a branch, a tag, a full sha or a short one."""
        sha = self.refs.get(revision, revision)
        matching = [one for one in self.commits if one.startswith(sha)] if len(sha) >= 7 else []
        if len(matching) != 1:
            raise Refusal(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return self.commits[matching[0]]

    def head(self) -> Commit:
        return self.commits[self.refs["main"]]

    def history(self) -> list[Commit]:
        """Newest first."""
        found = [self.head()]
        while found[-1].parent in self.commits:
            found.append(self.commits[found[-1].parent])
        return found

    def add(self, tree: dict[str, File], title: str, *, branch: str = "main") -> str:
        parent = self.refs.get(branch)
        named = json.dumps(
            [self.name, parent, title, len(self.commits), sorted((p, f.oid) for p, f in tree.items())]
        )
        sha = git_id(b"commit", named.encode())
        self.commits[sha] = Commit(sha=sha, parent=parent, title=title, tree=tree)
        self.refs[branch] = sha
        return sha

    def commit(self, branch: str, lines: list[dict], blobs: dict[str, bytes]) -> str:
        """Carry out the lines of a commit request, or none of them."""
        head = self.find(branch)
        header = lines[0]["value"]
        if header.get("parentCommit") not in (None, head.sha):
            raise Refusal(412, "A commit has happened since. Please refresh and try again.")
        tree = dict(head.tree)
        for line in lines[1:]:
            value = line["value"]
            if line["key"] == "file":
                data = base64.b64decode(value["content"])
                file = tree[value["path"]] = File.of(data, large=False)
                blobs[file.key] = data
            elif line["key"] == "lfsFile":
                if value["oid"] not in blobs:
                    raise Refusal(400, "an LFS pointer points to a file that does not exist")
                tree[value["path"]] = File.of(blobs[value["oid"]], large=True)
            elif tree.pop(value["path"], None) is None:
                raise Refusal(404, "A file with this name doesn't exist", "EntryNotFound")
        return self.add(tree, header["summary"], branch=branch)

    def rewrite(self, *, without: str | None = None) -> None:
        """The history becomes one new commit, as after a force push; `without`: a path that is gone."""
        tree = {path: file for path, file in self.head().tree.items() if path != without}
        self.commits.clear()
        self.refs = {}
        self.add(tree, "rewritten")

    def refuse_outsiders(self, token: str) -> None:
        if self.gated and token not in self.let_in:
            raise Refusal(403 if token else 401, "Access to this repository is restricted.", "GatedRepo")


@dataclass(kw_only=True)
class Repos:
    """Everything that the Hub keeps."""

    repos: dict[tuple[str, str], Repo] = field(default_factory=dict)
    renamed: dict[tuple[str, str], str] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)

    def get(self, kind: str, name: str, token: str) -> Repo:
        repo = self.repos.get((kind, name))
        if repo is None or (repo.private and not token):
            raise Refusal(404 if token else 401, "Repository not found", "RepoNotFound")
        if repo.disabled:
            raise Refusal(403, "Access to this resource is disabled.")
        return repo

    def new(
        self, name: str, files: dict[str, bytes] | None = None, *, kind: str = "dataset", **options: object
    ) -> Repo:
        """A repository whose first commit holds the files."""
        repo = self.repos[kind, name] = Repo(kind=kind, name=name, **options)
        self.put(repo, {".gitattributes": b"", **(files or {})}, "initial commit")
        return repo

    def put(self, repo: Repo, files: dict[str, bytes], title: str) -> str:
        """A commit with these files changed, made by somebody else."""
        changed = {path: File.of(data, large=path.endswith(".parquet")) for path, data in files.items()}
        self.blobs.update({file.key: files[path] for path, file in changed.items()})
        tree = {**(repo.head().tree if repo.refs else {}), **changed}
        return repo.add(tree, title)

    def rename(self, repo: Repo, name: str) -> None:
        """The old name leads to the new one."""
        self.renamed[repo.kind, repo.name] = name
        self.repos[repo.kind, name] = self.repos.pop((repo.kind, repo.name))
        repo.name = name

    def create(self, asked: dict, url: str) -> tuple[object, ...]:
        name = f"{asked.get('organization') or 'tester'}/{asked['name']}"
        kind = asked.get("type") or "model"
        answer = {"url": f"{url}/{kind}s/{name}", "name": name}
        if (kind, name) in self.repos:
            return 409, {**answer, "error": "You already created this repo"}
        private = bool(asked.get("private")) or asked.get("visibility") == "private"
        self.new(name, kind=kind, private=private)
        return 200, answer


def file_entry(path: str, file: File) -> dict[str, object]:
    """A file as tree and paths-info show it."""
    shown: dict[str, object] = {"type": "file", "oid": file.oid, "size": file.size, "path": path}
    if file.large:
        shown["lfs"] = {"oid": file.key, "size": file.size, "pointerSize": 130}
    return shown


def tree_page(commit: Commit, folder: str) -> list[dict[str, object]]:
    """Every file below the folder."""
    prefix = f"{folder}/" if folder else ""
    return [file_entry(path, file) for path, file in sorted(commit.tree.items()) if path.startswith(prefix)]
