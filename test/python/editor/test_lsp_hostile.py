"""`relay lsp` outlives every text: the corpus of the parser's fuzzer, programs cut anywhere, broken messages."""

import random
import subprocess

import pytest
from editor import Refused, corpus, editor
from forms import each_nth
from programs import PROGRAM, ROOT, needs_program

pytestmark = needs_program
PLACES = ["hover", "definition", "documentHighlight", "completion", "signatureHelp", "prepareRename"]


def ask_everything(client, text, place, seconds=60):
    for method in PLACES:
        client.on(f"textDocument/{method}", position=place, seconds=seconds)
    client.on("textDocument/references", position=place, context={"includeDeclaration": True})
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 10**6, "character": 0}}
    for method in ["documentSymbol", "semanticTokens/full", "formatting"]:
        client.on(f"textDocument/{method}")
    for method in ["inlayHint", "codeAction"]:
        client.on(f"textDocument/{method}", range=whole, context={"diagnostics": []})
    try:
        client.on("textDocument/rename", position=place, newName="new_name")
    except Refused as error:
        assert "internal" not in str(error).lower()


def place_in(text, rng):
    lines = text.split("\n")
    line = rng.randrange(len(lines))
    return {"line": line, "character": rng.randrange(len(lines[line]) + 2)}


def test_the_corpus_of_the_fuzzer():
    rng = random.Random(5)
    with editor() as client:
        client.open("")
        for text in corpus("relay"):
            client.change(text)
            ask_everything(client, text, place_in(text, rng))
        client.diagnostics()
        assert client.server.poll() is None


def programs():
    folders = ["examples", "src/relay/prelude", "src/relay/text/testdata", "src/relay/typing/testdata"]
    return [path.read_text() for folder in folders for path in sorted((ROOT / folder).glob("*.relay"))]


def test_programs_that_are_cut_or_miss_a_part():
    rng = random.Random(6)
    with editor() as client:
        client.open("")
        for text in programs():
            for _ in range(12):
                begin = rng.randrange(len(text))
                end = len(text) if rng.random() < 0.5 else min(len(text), begin + rng.choice([1, 3, 30]))
                changed = (
                    text[:begin] + rng.choice(["", "", "(", "}", "{", ";", "let %a = ", "\U0001f600"]) + text[end:]
                )
                client.change(changed)
                ask_everything(client, changed, place_in(changed, rng))
        assert client.server.poll() is None


@pytest.mark.parametrize("step", each_nth(2, [23, 3]))
def test_prefixes_of_a_program(step):
    text = (ROOT / "src/relay/text/testdata/data.relay").read_text()
    rng = random.Random(7)
    with editor() as client:
        client.open("")
        for end in range(0, len(text), step):
            client.change(text[:end])
            lines = text[:end].split("\n")
            ask_everything(client, text, {"line": len(lines) - 1, "character": len(lines[-1])})
            ask_everything(client, text, place_in(text[:end], rng))


@pytest.mark.slow
def test_deep_and_large_texts():
    with editor() as client:
        client.open("")
        head = '#[version = "0.0.5"]\ndef @main() { '
        for text in ["(" * 100000, "{" * 100000, "f(" * 50000, "if (" * 50000, "match (" * 50000, "fn (" * 50000,
                     "let %x = " * 50000, "let %x = 1; " * 50000, "%0 = 1; " * 50000, "[" * 100000,
                     "fn () { " * 50000, "Cons(" * 50000, "/*" * 50000, "- " * 50000, "%x + " * 50000]:  # fmt: skip
            client.change(head + text)
            for method in ["hover", "completion", "signatureHelp"]:
                client.on(f"textDocument/{method}", position={"line": 1, "character": 10**6})
            client.on("textDocument/formatting")
            client.on("textDocument/semanticTokens/full")


BROKEN_MESSAGES = [
    b"",
    b"\r\n\r\n",
    b"Content-Length: 3\r\n\r\n{}}",
    b"Content-Length: 99999999999999999999\r\n\r\n{}",
    b"Content-Length: -1\r\n\r\n",
    b"Content-Length: 2\r\n\r\n{}",
    b"Content-Length: 4\r\n\r\nnull",
    b'Content-Length: 16\r\n\r\n{"jsonrpc": "2"}',
    b'Content-Length: 54\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"textDocument/hover"}',
    b'Content-Length: 69\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"textDocument/hover","params":[1,2,3]}',
    b"\0" * 1000,
]


def test_a_text_without_a_name():
    with editor() as client:
        client.notify("textDocument/didOpen", textDocument={"text": "def @main() { 1 }"})
        client.notify("textDocument/didChange", contentChanges=[{"text": "def @main() { 2 }"}])
        client.open("def @main() { 3 }")
        assert client.on("textDocument/documentSymbol")


@pytest.mark.parametrize("message", BROKEN_MESSAGES)
def test_messages_that_are_none(message):
    done = subprocess.run([PROGRAM, "lsp"], input=message, capture_output=True, timeout=60)
    assert done.returncode == 1, done.stderr
    assert b"without a shutdown request" in done.stderr
