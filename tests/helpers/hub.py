"""A Hugging Face Hub of one repository, on this machine."""

import contextlib
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "c" * 40


def git_hash(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Hub:
    """Serves `files`, paths to bytes, and notes in `served` which it has sent."""

    def __init__(self, repository, files):
        self.repository, self.files = repository, files
        self.served = []

    @contextlib.contextmanager
    def running(self):
        """Yields the address."""
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self):
                self.answer(False)

            def do_GET(self):
                self.answer(True)

            def answer(self, with_body):
                status, headers, body = hub.answer(self.path.partition("?")[0])
                if with_body and "/resolve/" in self.path and status == 200:
                    hub.served.append(self.path.rpartition("/")[2])
                self.send_response(status)
                for name, value in {**headers, "Content-Length": len(body)}.items():
                    self.send_header(name, str(value))
                self.end_headers()
                if with_body:
                    self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def answer(self, path):
        api, here = f"/api/models/{self.repository}", f"/{self.repository}/resolve/"
        if path in (api, f"{api}/revision/main", f"{api}/revision/v1"):
            value = {"id": self.repository, "sha": COMMIT, "siblings": []}
            return 200, {"Content-Type": "application/json"}, json.dumps(value).encode()
        if path == f"{api}/tree/{COMMIT}":
            entries = [self.entry(name) for name in self.files]
            return (
                200,
                {"Content-Type": "application/json"},
                json.dumps(entries).encode(),
            )
        name = path.removeprefix(f"{here}{COMMIT}/")
        if name in self.files:
            content = self.files[name]
            headers = {"ETag": f'"{self.tag(name)}"', "X-Repo-Commit": COMMIT}
            return 200, headers, content
        code = "RevisionNotFound" if path.startswith(api + "/") else "RepoNotFound"
        return 404, {"X-Error-Code": code}, b""

    def tag(self, name):
        """Large files have the SHA-256 of their content, others Git's checksum."""
        content = self.files[name]
        if name.endswith(".hdf5"):
            return hashlib.sha256(content).hexdigest()
        return git_hash(content)

    def entry(self, name):
        content = self.files[name]
        found = {"type": "file", "path": name, "size": len(content)}
        found["oid"] = git_hash(content)
        if name.endswith(".hdf5"):
            found["lfs"] = {"oid": self.tag(name), "size": len(content)}
            found["lfs"]["pointerSize"] = 130
        return found
