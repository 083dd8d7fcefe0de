"""A Hugging Face Hub of one repository, on this machine."""

import base64
import contextlib
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "c" * 40
# With which a commit is allowed.
TOKEN = "hf_token"


def git_hash(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Hub:
    """Serves `files`, paths to bytes, and notes in `served` which it has sent.

    A commit changes them.
    """

    def __init__(self, repository, files):
        self.repository, self.files = repository, files
        self.served = []
        self._large = {}

    @contextlib.contextmanager
    def running(self):
        """Yields the address."""
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self):
                self.answer(False)

            def do_GET(self):
                self.answer(True)

            def body(self):
                if "Content-Length" in self.headers:
                    return self.rfile.read(int(self.headers["Content-Length"]))
                chunks = []
                while size := int(self.rfile.readline(), 16):
                    chunks.append(self.rfile.read(size))
                    self.rfile.readline()
                return b"".join(chunks)

            def do_POST(self):
                body = self.body()
                allowed = self.headers["Authorization"] == f"Bearer {TOKEN}"
                value = {"error": "wrong token"}
                if allowed:
                    value = hub.receive(self.path, body)
                json_type = {"Content-Type": "application/json"}
                content = json.dumps(value).encode()
                self.send(200 if allowed else 401, json_type, content, True)

            def do_PUT(self):
                hub._large[self.path.rpartition("/")[2]] = self.body()
                self.send(200, {}, b"", True)

            def answer(self, with_body):
                status, headers, body = hub.answer(self.path.partition("?")[0])
                if with_body and "/resolve/" in self.path and status == 200:
                    hub.served.append(self.path.rpartition("/")[2])
                self.send(status, headers, body, with_body)

            def send(self, status, headers, body, with_body):
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
        self._address = f"http://127.0.0.1:{server.server_port}"
        try:
            yield self._address
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

    def receive(self, path, body):
        """Answers a request that writes."""
        api = f"/api/models/{self.repository}"
        if path == "/api/validate-yaml":
            return {"errors": [], "warnings": []}
        if path == "/api/repos/create":
            return {"url": f"{self._address}/{self.repository}"}
        if path == f"{api}/preupload/main":
            names = [file["path"] for file in json.loads(body)["files"]]
            modes = {True: "lfs", False: "regular"}
            return {
                "files": [
                    {"path": name, "shouldIgnore": False, "uploadMode": modes[is_large]}
                    for name in names
                    for is_large in [name.endswith(".hdf5")]
                ]
            }
        if path == f"/{self.repository}.git/info/lfs/objects/batch":
            objects = json.loads(body)["objects"]
            for each in objects:
                href = f"{self._address}/upload/{each['oid']}"
                each["actions"] = {"upload": {"href": href}}
            return {"transfer": "basic", "objects": objects}
        assert path == f"{api}/commit/main", path
        for row in map(json.loads, body.splitlines()):
            value = row["value"]
            if row["key"] == "file":
                self.files[value["path"]] = base64.b64decode(value["content"])
            elif row["key"] == "lfsFile":
                self.files[value["path"]] = self._large[value["oid"]]
        url = f"{self._address}/{self.repository}/commit/{COMMIT}"
        return {"commitUrl": url, "commitOid": COMMIT}

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
