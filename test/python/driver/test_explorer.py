"""Pages and JSON of `relay explore`, without a browser; test/explorer opens them in one."""

import base64
import hashlib
import html
import json
import re
import zlib

import pytest
from programs import DENSE, EXAMPLES, ROOT, cli, cli_json, needs_program

import relay


def blocks(page):
    """The data of a page by block."""
    found = re.findall(r'<script type="application/octet-stream" id="([\w-]+)">([A-Za-z0-9+/=]*)</script>', page)
    return {name: json.loads(zlib.decompress(base64.b64decode(text))) for name, text in found}


def sources(page, tag):
    """The text of each element, and its hash as a policy names it."""
    texts = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
    return [(text, f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}") for text in texts]


@needs_program
def test_a_page_is_one_file_that_allows_itself_only(tmp_path):
    done = cli("explore", EXAMPLES / "tour" / "dense.relay", "-o", tmp_path / "report.html", "--target", "haswell")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "report.html").read_text()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    for tag in ("script", "style"):
        ((text, digest),) = sources(page, tag)
        assert f"{tag}-src '{digest}'" in policy
        assert not re.search(
            r"https?://(?!www\.w3\.org/2000/svg)|innerHTML|\beval\(|insertAdjacent|document\.write", text
        )
    assert not re.search(r"<(?:link|img|iframe|script)[^>]* (?:src|href)=", page)
    data = blocks(page)
    assert list(data) == ["graph-0", "texts-0"]
    assert data["graph-0"]["format"] == "relay.compilation" and data["graph-0"]["version"] == 1
    assert len(page) < 200_000


@needs_program
def test_json_has_the_texts_of_every_kernel(tmp_path):
    done = cli("explore", EXAMPLES / "tour" / "dense.relay", "-o", tmp_path / "c.json", "--target", "haswell")
    assert done.returncode == 0, done.stderr
    c = json.loads((tmp_path / "c.json").read_text())
    texts = c["texts"]
    for stage, wanted in {"loop": "for", "c": "void kernel_", "asm": "ret"}.items():
        assert len(texts[stage]) == len(c["kernels"])
        assert all(wanted in texts["strings"][number] for number in texts[stage])
    for stage in ("te", "schedule"):
        assert len(texts[stage]) == len(c["groups"])
    without = cli("explore", EXAMPLES / "tour" / "dense.relay", "-o", tmp_path / "n.json", "--no-texts")
    assert without.returncode == 0 and json.loads((tmp_path / "n.json").read_text())["texts"] is None


HALF = """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 64), float32], %w: Tensor[(32, 64), float32], %v: Tensor[(16, 32), float32]) {
  %0 = tanh(nn.dense(%x, %w));
  %1 = cast(nn.dense(%0, %v), dtype="float16");
  let %kept = %1;
  if (less(sum(cast(%kept, dtype="float32")), 0f)) { exp(%kept) } else { %kept }
}
"""


@needs_program
def test_errors_of_groups(tmp_path):
    (tmp_path / "half.relay").write_text(HALF)
    done = cli("explore", tmp_path / "half.relay", "-o", tmp_path / "c.json", "--verify", "--no-texts")
    assert done.returncode == 0, done.stderr
    c = json.loads((tmp_path / "c.json").read_text())
    assert c["verified"]
    errors = {}
    for group in c["groups"]:
        if group["error"]:
            lines = [int(c["places"]["text"][place].rsplit(":", 2)[1]) for place in group["places"]]
            errors[min(lines)] = group["error"]["relative"]
    assert 0 < errors[3] < 1e-6, errors  # in float32
    assert 1e-5 < errors[4] < 1e-2, errors  # rounded to float16
    assert any(group["error"] is None for group in c["groups"])  # in a branch
    without = cli("explore", tmp_path / "half.relay", "-o", tmp_path / "n.json", "--no-texts")
    c = json.loads((tmp_path / "n.json").read_text())
    assert without.returncode == 0 and not c["verified"] and "error" not in c["groups"][0]


@needs_program
def test_the_error_of_the_last_group_is_that_of_the_result(tmp_path):
    dense = EXAMPLES / "tour" / "dense.relay"
    assert cli("explore", dense, "-o", tmp_path / "c.json", "--verify", "--no-texts").returncode == 0
    groups = json.loads((tmp_path / "c.json").read_text())["groups"]
    (result,) = cli_json("verify", dense, "--json")["results"]
    found = [group["error"]["absolute"] for group in groups if group["error"]]
    assert found[-1] == pytest.approx(result["absolute"], rel=1e-3, abs=1e-12)


def test_places_lead_to_kernels_and_back():
    c = relay.explore(relay.parse(DENSE), target="haswell").compilation
    places = {place for group in c["groups"] for place in group["places"]}
    assert [c["places"]["text"][place].rpartition(":")[0].rpartition(":")[2] for place in sorted(places)] == ["3", "4"]
    for number, kernel in enumerate(c["kernels"]):
        assert all(number in c["groups"][group]["kernels"] for group in kernel["groups"])


@needs_program
@pytest.mark.parametrize(
    "arguments, wanted",
    [
        (["MODEL"], "--output is required"),
        (["MODEL", "-o", "/no/folder/x.html"], "/no/folder"),
        (["MODEL", "-o", "TMP/x.json", "--compare", "MODEL"], "-o FILE.html"),
        (["MODEL", "-o", "MODEL"], "error"),
        (["TMP/model.rart", "-o", "TMP/x.html"], "give the model it was made from"),
        (["TMP/none.onnx", "-o", "TMP/x.html"], "none.onnx"),
    ],
)
def test_refusals_say_what_to_do(arguments, wanted, tmp_path):
    model = tmp_path / "model.relay"
    model.write_text(DENSE)
    assert cli("compile", model, "-o", tmp_path / "model.rart").returncode == 0
    filled = [str(a).replace("MODEL", str(model)).replace("TMP", str(tmp_path)) for a in arguments]
    done = cli("explore", *filled)
    assert done.returncode in (1, 2) and wanted in done.stderr, done.stderr
    assert model.read_text() == DENSE


def test_in_a_notebook(tmp_path):
    module = relay.parse((EXAMPLES / "tour" / "dense.relay").read_text())
    shown = relay.explore(module, target="haswell", texts=False)
    cell = shown._repr_html_()
    assert cell.startswith("<iframe srcdoc=") and html.unescape(re.search(r'srcdoc="([^"]*)"', cell)[1]) == shown.html
    assert len(cell) < 200_000 and "kB" in repr(shown)
    shown.save(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text() == shown.html
    shown.save(tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text()) == shown.compilation
    both = relay.explore(module, module, target="haswell", texts=False)
    assert list(blocks(both.html)) == ["graph-0", "texts-0", "graph-1", "texts-1"]


def test_names_stay_data():
    name = "</script><img src=x onerror=1>\u202e" + "n" * 10_000
    x = relay.var(name, shape=(2, 3))
    shown = relay.explore(relay.IRModule({"main": relay.Function([x], relay.tanh(x))}), target="haswell")
    assert "onerror=1" not in shown.html and "\u202e" not in shown.html
    labels = shown.compilation["labels"]
    assert any(label.startswith("%</script><img") for label in labels) and max(map(len, labels)) < 2000


def test_the_script_is_small_and_readable():
    files = sorted((ROOT / "src/relay/driver/explore").glob("*.js"))
    assert len(files) == 9
    assert all(len(path.read_text().splitlines()) < 600 for path in files)
