"""Displays in notebooks: HTML of programs, compiled models and errors, which a hostile name cannot break out of."""

from html.parser import HTMLParser

import numpy as np
import pytest
from relay.run.html import program_html

import relay

HOSTILE = [
    "</pre><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "&lt;b&gt;",
    "a\u202eb\u2066c",
    "\x1b[31m\x07",
]


class Elements(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.text = [], ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        assert tag in {"pre", "span", "table", "tr", "td", "code", "p"}, tag
        assert all(name == "style" for name, _ in attrs), attrs
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def module(name, features=4):
    x = relay.var(name, shape=(2, 4))
    return relay.module(relay.nn.dense(x, relay.const(np.ones((8, features), "float32"))))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names(name):
    mod = module(name)
    compiled = relay.compile(mod)
    for one in (mod, mod["main"], mod["main"].params[0], compiled, compiled.report):
        text = Elements(one._repr_html_()).text
        assert not any(c in text for c in "\u202e\u2066\x1b\x07")
    assert "script" not in name or name in Elements(compiled._repr_html_()).text


def test_a_program_is_its_text():
    mod = module("x")
    assert Elements(mod._repr_html_()).text == mod.astext(version=False, weights=False).rstrip()
    assert '<span style="color:#2f7fd0">%x</span>' in mod._repr_html_()


def test_a_long_program_is_cut():
    html = program_html("  add(%x, %<b>)\n" * 100_000)
    assert len(html) < 1_000_000 and "more characters" in Elements(html).text


def test_a_compiled_model_shows_its_summary():
    text = Elements(relay.compile(module("x"))._repr_html_()).text
    assert "x: float32[2, 4]" in text and "1 group, 1 kernel" in text and "entries:" not in text


def test_an_error_shows_the_diagnostic_and_the_line():
    with pytest.raises(relay.CompileError) as caught:
        relay.transform.InferType()(module("x", 5))
    lines = caught.value._render_traceback_()
    assert lines[0].startswith("error[R0302]") and lines[-1].startswith("at line ") and "InferType" in lines[-1]
