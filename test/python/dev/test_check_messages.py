"""dev/check_messages accepts the tree, and reports planted faults."""

import subprocess
import sys

import pytest
from programs import ROOT


def check(*roots):
    command = [sys.executable, ROOT / "dev/check_messages", *roots]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_tree_is_in_order():
    done = check()
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ('return Diagnostic{DiagnosticKind::syntax, "a, b"};', "a diagnostic without a help"),
        ('return Diagnostic{DiagnosticKind::syntax, "a", {}, {}, {}, ""};', "a diagnostic without a help"),
        ('return {DiagnosticKind::syntax, format("{}", a), span};', "a diagnostic without a help"),
        ('return Diagnostic{.kind = DiagnosticKind::syntax, .message = "a"};', "a diagnostic without a help"),
        ('Diagnostic d{kind, "a"};\n  return d;', "a diagnostic without a help"),
        ('Diagnostic d{kind, "a"};\n  if (near) d.help = "b";\n  return d;', "a diagnostic without a help"),
        ('void report(std::string message, std::string help = "");', "a diagnostic without a help"),
        ('throw Problem("x is no number");', "'is no number' in a message"),
        ('return Diagnostic{DiagnosticKind::syntax, "a", {}, {}, {}, "write b"};', ""),
        ('return Diagnostic{.kind = DiagnosticKind::syntax, .message = "a", .help = "write b"};', ""),
        ('Diagnostic d{kind, "a"};\n  d.help = "write b";\n  return d;', ""),
        ('if (d.kind == DiagnosticKind::syntax) return; // Diagnostic{DiagnosticKind::syntax, "a"}', ""),
        ("struct Diagnostic {\n  DiagnosticKind kind;\n};", ""),
    ],
)
def test_what_is_planted_is_named(tmp_path, code, complaint):
    (tmp_path / "planted.cpp").write_text(f"Diagnostic f() {{\n  {code}\n}}\n")
    done = check(tmp_path)
    assert done.returncode == (1 if complaint else 0), done.stderr
    assert complaint in done.stderr
