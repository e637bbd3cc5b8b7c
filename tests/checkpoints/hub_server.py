"""A small Hugging Face Hub on loopback: as much of it as a download needs."""

import contextlib
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(ThreadingHTTPServer):
    """Serves one repository from a directory.

    Attributes:
        status: What every request is answered with, if that is not 200.
        cut: Files of which only half arrives, and then nothing more.
        requests: Method and path of each request.
    """

    daemon_threads = True

    def __init__(self, directory: Path, repository: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.repository = repository
        self.files = {
            str(path.relative_to(directory)): path.read_bytes()
            for path in sorted(directory.rglob("*"))
            if path.is_file()
        }
        self.status = 200
        self.cut: set[str] = set()
        self.requests: list[tuple[str, str]] = []

    def handle_error(self, *_: object) -> None:
        """Clients may hang up."""

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def downloads(self) -> set[str]:
        """The files of which anything was asked for."""
        start = f"/{self.repository}/resolve/{COMMIT}/"
        paths = {path for _, path in self.requests}
        return {x.removeprefix(start) for x in paths if x.startswith(start)}


class Handler(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _answer(self) -> None:
        path, hub = urlsplit(self.path).path, self.server
        hub.requests.append((self.command, path))
        if hub.status != 200:
            self._send(hub.status, b"{}")
        elif path == f"/api/models/{hub.repository}/revision/main":
            siblings = [{"rfilename": name} for name in hub.files]
            self._send_json({"id": hub.repository, "sha": COMMIT, "siblings": siblings})
        elif path == f"/api/models/{hub.repository}/tree/{COMMIT}":
            self._send_json([_entry(*file) for file in hub.files.items()])
        elif path.startswith(f"/{hub.repository}/resolve/{COMMIT}/"):
            self._send_file(path.split("/", 5)[5])
        else:
            self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})

    def _send_file(self, name: str) -> None:
        if name not in self.server.files:
            self._send(404, b"", {"X-Error-Code": "EntryNotFound"})
            return
        content = self.server.files[name]
        headers = {"ETag": f'"{_digest(content)}"', "X-Repo-Commit": COMMIT}
        cut = self.command == "GET" and name in self.server.cut
        again = self.server.requests.count(("GET", urlsplit(self.path).path)) > 1
        self._send(500 if cut and again else 200, content, headers, cut)

    def _send_json(self, content: object) -> None:
        self._send(200, json.dumps(content).encode())

    def _send(
        self,
        status: int,
        content: bytes,
        headers: dict | None = None,
        cut: bool = False,
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content[: len(content) // 2] if cut else content)
        self.close_connection = cut


def _entry(name: str, content: bytes) -> dict:
    size = len(content)
    return {"type": "file", "path": name, "oid": _digest(content), "size": size}


def _digest(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


@contextlib.contextmanager
def served(directory: Path, repository: str = "owner/name"):
    """Serves a directory until the end of the block."""
    hub = Hub(directory, repository)
    thread = threading.Thread(target=hub.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        hub.server_close()
        thread.join()
