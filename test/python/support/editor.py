"""A client of `relay lsp`: JSON-RPC over its standard input and output."""

import contextlib
import json
import pathlib
import queue
import subprocess
import threading

from programs import PROGRAM


class Refused(Exception):
    """The server answered a request with an error."""


class Editor:
    def __init__(self):
        self.server = subprocess.Popen(
            [str(PROGRAM), "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.messages, self.published, self.number = queue.Queue(), {}, 0
        self.texts, self.versions = {}, {}
        threading.Thread(target=self._receive, daemon=True).start()

    def _receive(self):
        while header := self.server.stdout.readline():
            length = int(header.split(b":")[1])
            while self.server.stdout.readline().strip():
                pass
            self.messages.put(json.loads(self.server.stdout.read(length)))
        self.messages.put(None)

    def _send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.server.stdin.flush()

    def _next(self, seconds):
        message = self.messages.get(timeout=seconds)
        assert message is not None, f"the server ended: {self.server.stderr.read().decode()}"
        if message.get("method") == "textDocument/publishDiagnostics":
            self.published.setdefault(message["params"]["uri"], []).append(message["params"])
        return message

    def notify(self, method, **params):
        self._send({"method": method, "params": params})

    def request(self, method, seconds=60, **params):
        self.number += 1
        self._send({"id": self.number, "method": method, "params": params})
        while (message := self._next(seconds)).get("id") != self.number:
            pass
        if "error" in message:
            raise Refused(message["error"]["message"])
        return message["result"]

    # --- documents ---------------------------------------------------------------------------------------------------

    def open(self, text, uri="file:///test.relay"):
        self.texts[uri], self.versions[uri] = text, 1
        item = {"uri": uri, "languageId": "relay", "version": 1, "text": text}
        self.notify("textDocument/didOpen", textDocument=item)
        return uri

    def change(self, text, uri="file:///test.relay"):
        """Replaces the whole text."""
        self.edit([{"text": text}], uri)
        self.texts[uri] = text

    def edit(self, changes, uri="file:///test.relay"):
        self.versions[uri] += 1
        document = {"uri": uri, "version": self.versions[uri]}
        self.notify("textDocument/didChange", textDocument=document, contentChanges=changes)

    def diagnostics(self, uri="file:///test.relay", seconds=60):
        """Returns those of the newest version."""
        while not any(one.get("version") == self.versions[uri] for one in self.published.get(uri, [])):
            self._next(seconds)
        return self.published[uri][-1]["diagnostics"]

    def at(self, method, needle, uri="file:///test.relay", behind=0, **params):
        """A request at the place of `needle` in the text, or `behind` characters after it; "|" in it is the place."""
        text = self.texts[uri]
        offset = needle.index("|") if "|" in needle else behind
        found = text.index(needle.replace("|", ""))
        document = {"uri": uri}
        return self.request(method, textDocument=document, position=position_of(text, found + offset), **params)

    def hover(self, needle, **more):
        found = self.at("textDocument/hover", needle, **more)
        return found and found["contents"]["value"]

    def labels(self, needle, **more):
        """The labels of completion, in the order in which an editor shows them."""
        items = self.at("textDocument/completion", needle, **more)["items"]
        return [item["label"] for item in sorted(items, key=lambda item: item["sortText"])]

    def on(self, method, uri="file:///test.relay", **params):
        return self.request(method, textDocument={"uri": uri}, **params)


def position_of(text, offset):
    """Line and UTF-16 units of an index into a string."""
    before = text[:offset]
    line = before.count("\n")
    return {"line": line, "character": len(before[before.rfind("\n") + 1 :].encode("utf-16-le")) // 2}


def offset_of(text, position):
    lines = text.split("\n")
    units = lines[position["line"]].encode("utf-16-le")[: 2 * position["character"]]
    return sum(len(line) + 1 for line in lines[: position["line"]]) + len(units.decode("utf-16-le"))


def applied(text, edits):
    """The text after edits that do not overlap."""
    for edit in sorted(edits, key=lambda one: offset_of(text, one["range"]["start"]), reverse=True):
        begin, end = (offset_of(text, edit["range"][side]) for side in ("start", "end"))
        text = text[:begin] + edit["newText"] + text[end:]
    return text


@contextlib.contextmanager
def editor():
    """A client whose server must end as the protocol asks."""
    client = Editor()
    client.initialized = client.request("initialize", capabilities={}, processId=None, rootUri=None)
    client.notify("initialized")
    yield client
    client.request("shutdown")
    client.notify("exit")
    assert client.server.wait(20) == 0, client.server.stderr.read().decode()


def corpus(name):
    folder = pathlib.Path(__file__).resolve().parents[2] / "readers" / "corpus" / name
    return [path.read_bytes().decode("utf-8", "replace") for path in sorted(folder.iterdir())]
