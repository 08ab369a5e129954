"""`relay lsp`: what an editor shows and does. RELAY_BLESS=1 writes the golden texts of editor/golden/ anew."""

import json
import os
import pathlib
import time

import pytest
from editor import Refused, applied, editor, position_of
from programs import ROOT, cli, needs_program

pytestmark = needs_program
GOLDEN = pathlib.Path(__file__).parent / "golden"
HEAD = '#[version = "0.0.5"]\n'
PROGRAM_TEXT = (
    HEAD
    + """import "list"

// A tree of numbers.
// Its leaves have values.
type Tree[A] { Leaf(A), Node(Tree[A], Tree[A]) }

/* The sum of all leaves. */
def @total(%t: Tree[int32]) -> int32 {
  match (%t) {
    Leaf(%n) => %n,
    Node(%left, %right) => @total(%left) + @total(%right),
  }
}

def @main(%x: Tensor[(n, 3, h, 8), float32], %k: Tensor[(4, 3, 3, 3), float32]) {
  let %y = nn.conv2d(%x, %k, strides=[2, 2], padding=[1, 1]);
  %0 = nn.relu(%y);
  let %f = fn (%b: bool) { if (%b) { %0 } else { %y } };
  (%f(True), @total(Leaf(1)), @map(fn (%i: int32) { %i + 1 }, Cons(1, Nil)))
}
"""
)


@pytest.fixture
def client():
    with editor() as one:
        yield one


def names_of(text, edits):
    return sorted({edit["newText"] for edit in edits})


# --- diagnostics -----------------------------------------------------------------------------------------------------


def checked(path):
    """(code, line, column, message) of the problems that `relay check` finds."""
    found = json.loads(cli("check", "--json", path).stdout)
    return found["problems"] if found["failed_stage"] == "import" else []


@pytest.mark.parametrize("folder", ["text/testdata/errors", "typing/testdata/errors"])
def test_diagnostics_are_those_of_check(client, folder):
    for path in sorted((ROOT / "src/relay" / folder).glob("*.relay")):
        uri = client.open(path.read_bytes().decode("utf-8", "replace"), path.as_uri())
        shown = [
            (one["code"], one["message"].split("\n")[0]) for one in client.diagnostics(uri) if one["severity"] == 1
        ]
        expected = path.with_suffix(".expected").read_text()
        for code, message in shown[:1]:
            assert f"error[{code}]: {message}" in expected, path
        assert shown, path


def test_a_right_program_has_no_diagnostics(client):
    client.open(PROGRAM_TEXT)
    assert client.diagnostics() == []


def test_diagnostics_of_two_definitions_and_their_places(client):
    text = HEAD + "def @f() { add(1, }\ndef @main(%x: Tensor[(2, 2), float32]) { nn.dense(%x, %x, unit=2) }\n"
    client.open(text)
    first, second = client.diagnostics()
    assert first["code"] == "R0101" and first["range"]["start"] == position_of(text, text.index("}"))
    assert second["code"] == "R0206" and second["severity"] == 1 and "did you mean 'units'?" in second["message"]
    assert second["range"]["start"] == position_of(text, text.index("unit="))


def test_types_are_checked_beside_a_broken_definition(client):
    client.open(HEAD + "def @f() { let %x = ; %x }\ndef @g(%x: Tensor[(2), float32]) { add(%x, 1) }\n")
    assert {one["code"] for one in client.diagnostics()} >= {"R0101", "R0302"} or len(client.diagnostics()) == 2


def test_fixes(client):
    helper = "def @helper(%a: Tensor[(2), float32]) { %a }\n"
    for wrong, right in [
        ("nn.rela(%x)", "nn.relu(%x)"),
        ("nn.relu(%xs)", "nn.relu(%x)"),
        ("sum(%x, axes=[0])", "sum(%x, axis=[0])"),
        ("@helpr(%x)", "@helper(%x)"),
    ]:
        text = f"{HEAD}{helper}def @main(%x: Tensor[(2), float32]) {{ {wrong} }}\n"
        uri = client.open(text, f"file:///{len(wrong)}{wrong[0]}.relay")
        (problem,) = client.diagnostics(uri)
        (action,) = client.on(
            "textDocument/codeAction", uri, range=problem["range"], context={"diagnostics": [problem]}
        )
        assert action["kind"] == "quickfix" and action["isPreferred"]
        assert applied(text, action["edit"]["changes"][uri]) == text.replace(wrong, right)


def test_a_missing_import_is_added(client):
    text = HEAD + "def @main() { Cons(1, Nil) }\n"
    client.open(text)
    actions = client.on("textDocument/codeAction", range=client.diagnostics()[0]["range"], context={"diagnostics": []})
    (edits,) = actions[0]["edit"]["changes"].values()
    client.change(applied(text, edits))
    assert client.diagnostics() == []


# --- hover, hints, symbols -------------------------------------------------------------------------------------------


def golden(name, text):
    path = GOLDEN / name
    if os.environ.get("RELAY_BLESS"):
        path.write_text(text)
    assert text == path.read_text()


def test_golden_hovers(client):
    """The hover of every name, in order, each distinct one once."""
    client.open(PROGRAM_TEXT)
    tokens = client.on("textDocument/semanticTokens/full")["data"]
    legend = client.initialized["capabilities"]["semanticTokensProvider"]["legend"]["tokenTypes"]
    line = column = 0
    out, seen = [], set()
    for by_lines, by_columns, length, kind, _ in zip(*[iter(tokens)] * 5, strict=True):
        line, column = line + by_lines, by_columns + (0 if by_lines else column)
        word = PROGRAM_TEXT.split("\n")[line][column : column + length]
        place = {"line": line, "character": column}
        hover = client.on("textDocument/hover", position=place)
        text = hover and hover["contents"]["value"]
        if hover and (word, text) not in seen:
            out.append(f"## `{word}` at {line + 1}:{column + 1}, a {legend[kind]}\n\n{text}")
        seen.add((word, text))
    golden("hovers.md", "\n".join(out))


def test_hints(client):
    client.open(PROGRAM_TEXT)
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    hints = client.on("textDocument/inlayHint", range=whole)
    text = applied(
        PROGRAM_TEXT, [{"range": {"start": h["position"], "end": h["position"]}, "newText": h["label"]} for h in hints]
    )
    golden("hints.txt", text)


def test_symbols(client):
    client.open(PROGRAM_TEXT)
    symbols = client.on("textDocument/documentSymbol")
    assert [one["name"] for one in symbols] == ["Tree", "@total", "@main"]
    assert [one["name"] for one in symbols[0]["children"]] == ["Leaf", "Node"]
    assert symbols[1]["detail"] == "def @total(%t: Tree[int32]) -> int32"


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("use, definition", [
    ("match (|%t)", "@total(%t"), ("Node(%left, %right) => @total|(", "def @total"),
    ("(%f(True), @total(|Leaf", "{ Leaf"), ("{ |%0 }", "  %0 ="), ("else { |%y", "let %y"),
    ("@total(%t: |Tree", "type Tree"), ("Node(Tree[|A]", "Tree[A"),
])  # fmt: skip
def test_definition(client, use, definition):
    client.open(PROGRAM_TEXT)
    found = client.at("textDocument/definition", use)
    begin = PROGRAM_TEXT.index(definition)
    place = position_of(PROGRAM_TEXT, begin)
    assert found["range"]["start"]["line"] == place["line"]
    assert place["character"] <= found["range"]["start"]["character"] < place["character"] + len(definition)


def test_references(client):
    client.open(PROGRAM_TEXT)
    context = {"includeDeclaration": True}
    assert len(client.at("textDocument/references", "let |%y", context=context)) == 3
    assert len(client.at("textDocument/references", "def |@total", context=context)) == 4
    assert len(client.at("textDocument/references", "def |@total", context={"includeDeclaration": False})) == 3
    assert len(client.at("textDocument/documentHighlight", "let |%y")) == 3


@pytest.mark.parametrize("needle, new, old, now", [
    ("let |%y", "%z", "%y", "%z"), ("let |%y", "a b", "%y", '%"a b"'), ("def |@total", "leaves", "@total", "@leaves"),
    ("type |Tree", "Bush", "Tree", "Bush"), ("Leaf|(A)", "Tip", "Leaf", "Tip"), ("|%0 =", "7", "%0", "%7"),
])  # fmt: skip
def test_rename(client, needle, new, old, now):
    client.open(PROGRAM_TEXT)
    edit = client.at("textDocument/rename", needle, newName=new)
    (edits,) = edit["changes"].values()
    text = applied(PROGRAM_TEXT, edits)
    assert text == PROGRAM_TEXT.replace("// A tree", "// A @").replace(old, now).replace("// A @", "// A tree")
    client.change(text)
    assert client.diagnostics() == []


@pytest.mark.parametrize("needle, new, reason", [
    ("fn (|%b", "y", "another meaning"), ("let |%f", "y", "another meaning"),
    ("nn.|relu", "x", "not defined in this text"),
    ("type |Tree", "a b", "not an identifier"), ("|%0 =", "x", "number"), ("def |@total", "main", "another meaning"),
])  # fmt: skip
def test_renames_that_would_change_the_meaning_are_refused(client, needle, new, reason):
    client.open(PROGRAM_TEXT)
    with pytest.raises(Refused, match=reason):
        client.at("textDocument/rename", needle, newName=new)


# --- while typing ----------------------------------------------------------------------------------------------------


def typing(line, after="  %y\n}\n"):
    return HEAD + (
        'import "list"\ndef @helper(%a: int32) -> int32 { %a }\n'
        "def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(8, 4), float32]) {\n"
        f"  let %y = nn.relu(%x);\n  %0 = nn.dense(%y, %w);\n{line}\n{after}"
    )


HALF_TYPED = [
    "let %z = nn.dense(%y, ",
    "let %z = ",
    "let %z: Tensor[(2,",
    "%1 = add(%0, %",
    "if (%",
    "match (%y) { Cons(",
]


@pytest.mark.parametrize("line", HALF_TYPED)
def test_a_half_typed_line_has_types_before_it(client, line):
    client.open(typing(line))
    assert client.diagnostics()
    assert client.hover("let |%y") == "```relay\n%y: Tensor[(2, 4), float32]\n```\n"
    assert client.hover("  |%0") == "```relay\n%0: Tensor[(2, 8), float32]\n```\n"


def test_completion_of_variables(client):
    client.open(typing("  add(%"))
    assert client.labels("add(%|") == ["%w", "%x", "%y", "%0"]
    items = client.at("textDocument/completion", "add(%|")["items"]
    assert {i["label"]: i["detail"] for i in items}["%0"] == "Tensor[(2, 8), float32]"
    (edit,) = (i["textEdit"] for i in items if i["label"] == "%y")
    assert applied(client.texts["file:///test.relay"], [edit]) == typing("  add(%y")


def test_completion_of_attributes_operators_and_functions(client):
    client.open(typing("  nn.conv2d(%x, %w, groups=1, "))
    labels = client.labels("groups=1, |")
    assert labels[0].endswith("=") and "strides=" in labels and "groups=" not in labels
    assert {"nn.dense", "Cons", "let", "%y", "@helper", "@map"} <= set(labels)
    detail = {i["label"]: i for i in client.at("textDocument/completion", "groups=1, |")["items"]}
    assert "[1, 1] by default" in detail["strides="]["detail"] and detail["strides="]["documentation"]["value"]
    client.change(typing("  @hel"))
    assert "@helper" in client.labels("  @hel|") and "nn.dense" not in client.labels("  @hel|")
    client.change(typing("  let %z: Ten"))
    labels = client.labels("Ten|")
    assert {"Tensor", "float32", "List"} <= set(labels) and "nn.dense" not in labels
    client.change(typing("  nn.de"))
    items = client.at("textDocument/completion", "  nn.de|")["items"]
    edits = [item["textEdit"] for item in items if item["label"] == "nn.dense"]
    assert applied(typing("  nn.de"), edits) == typing("  nn.dense")


def test_no_completion_in_comments_and_strings(client):
    client.open(typing('  // %\n  let %s = resize(%x, method="%");  /* % */'))
    for needle in ["// %|", '"%|', "/* %|"]:
        assert client.labels(needle) == []


def test_signature_help(client):
    client.open(typing("  nn.dense(%y, "))
    shown = client.at("textDocument/signatureHelp", "nn.dense(%y, |")
    signature = shown["signatures"][0]
    assert signature["label"].startswith("nn.dense(data, weight, units=") and shown["activeParameter"] == 1
    begin, end = signature["parameters"][1]["label"]
    assert signature["label"][begin:end] == "weight"
    for place in ("nn.dense(|%y, ", "nn.dense(%|y, ", "nn.dense(%y|, "):
        assert client.at("textDocument/signatureHelp", place)["activeParameter"] == 0
    client.change(typing("  nn.dense(%y, %w, units="))
    assert client.at("textDocument/signatureHelp", "units=|")["activeParameter"] == 2
    client.change(typing("  @helper("))
    assert (
        client.at("textDocument/signatureHelp", "  @helper(|")["signatures"][0]["label"]
        == "@helper(%a: int32) -> int32"
    )
    assert client.at("textDocument/signatureHelp", "let |%y") is None


# --- texts -----------------------------------------------------------------------------------------------------------


def test_formatting(client):
    text = PROGRAM_TEXT.replace("  let %y = ", "let %y   =\n")
    client.open(text)
    options = {"tabSize": 2, "insertSpaces": True}
    edits = client.on("textDocument/formatting", options=options)
    assert applied(text, edits) == PROGRAM_TEXT
    assert len(edits[0]["newText"]) < 200  # the lines that differ
    client.change(PROGRAM_TEXT)
    assert client.on("textDocument/formatting", options=options) == []
    client.change(PROGRAM_TEXT[:-3])
    assert client.on("textDocument/formatting", options=options) == []


def test_positions_are_utf_16_units(client):
    text = (
        HEAD + 'def @main(%"\U0001f600\u00e9": int32) { /* \U0001f600 */ add(%"\U0001f600\u00e9", 1) }\r\n// \u00e9\r\n'
    )
    client.open(text)
    assert client.diagnostics() == []
    assert len(client.at("textDocument/references", 'add(|%"', context={"includeDeclaration": True})) == 2
    place = client.at("textDocument/definition", 'add(|%"')["range"]
    assert place == {"start": {"line": 1, "character": 10}, "end": {"line": 1, "character": 16}}


def test_changes_of_parts_in_order(client):
    client.open(PROGRAM_TEXT)
    text = PROGRAM_TEXT
    for old, new in [
        ("// A tree", "// \U0001f333"),
        ("%left, %right", "%l, %r"),
        ("@total(%left) + @total(%right)", "@total(%l) + @total(%r)"),
    ]:
        begin = text.index(old)
        place = {"start": position_of(text, begin), "end": position_of(text, begin + len(old))}
        client.edit([{"range": place, "text": new}])
        text = text.replace(old, new, 1)
    client.texts["file:///test.relay"] = text
    assert client.diagnostics() == []
    assert client.hover("Node(|%l") == "```relay\n%l: Tree[int32]\n```\n"


def test_texts_without_a_file_and_unknown_ones(client):
    client.open(PROGRAM_TEXT, "untitled:Untitled-1")
    assert client.diagnostics("untitled:Untitled-1") == []
    assert client.on("textDocument/hover", "file:///never-opened.relay", position={"line": 0, "character": 0}) is None
    with pytest.raises(Refused):
        client.request("textDocument/noSuchMethod")


def test_weights_beside_a_program(client, tmp_path):
    import numpy as np

    import relay

    weight = relay.const(np.zeros((16, 16), "float32"))
    relay.module(relay.add(relay.var("x", shape=(16, 16)), weight)).save(str(tmp_path / "net.relay"))
    text = (tmp_path / "net.relay").read_text()
    assert "safetensors" in text
    uri = client.open(text, (tmp_path / "net.relay").as_uri())
    assert client.diagnostics(uri) == []


def test_a_change_of_2000_lines_is_answered_within_50_ms(client):
    lines = "".join(f"  %{i + 1} = add(nn.relu(%{i}), %x) /* {i} */;\n" for i in range(2000))
    text = HEAD + "def @main(%x: Tensor[(n, 4), float32]) {\n  %0 = %x;\n" + lines + "  %2000\n}\n"
    client.open(text)
    client.diagnostics()
    seconds = []
    for _ in range(15):
        place = position_of(text, text.index("  %1000 ="))
        client.edit([{"range": {"start": place, "end": place}, "text": " "}])
        begin = time.perf_counter()
        client.on("textDocument/hover", position={"line": 1500, "character": 3})
        seconds.append(time.perf_counter() - begin)
    fast = min(seconds)
    print(f"a hover after a change of 2,000 lines: {1000 * fast:.1f} ms")
    assert fast < 0.05, seconds
