"""The read-eval-print loop, by -c, through a pipe and on a terminal."""

import os
import pty
import re
import select
import subprocess
import sys
import time

import pytest
from programs import ROOT
from relay.repl.inputs import bracket_depth, is_complete, read, split
from relay.repl.program import answer, run_lines
from relay.repl.session import Session

REPL = [sys.executable, "-m", "relay", "repl"]
# Stdin becomes the controlling terminal, so that its Ctrl-C is a signal. Done in the new process, since a fork of one
# with threads may hang.
ON_TERMINAL = [
    sys.executable, "-c",
    "import fcntl, runpy, signal, sys, termios\n"
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
    "sys.argv = ['relay', 'repl']\n"
    "runpy.run_module('relay', run_name='__main__')",
]  # fmt: skip


def piped(text, *args):
    return subprocess.run([*REPL, *args], input=text, capture_output=True, text=True, timeout=120, cwd=ROOT)


def answers(*texts, session=None):
    session = session or Session("haswell")
    return [answer(session, text) for text in texts][-1]


@pytest.fixture
def responded(capfd):
    """Runs a text as a pipe does: exit status, stdout, stderr."""

    def run(text):
        status = run_lines(Session("haswell"), text.splitlines())
        return status, *capfd.readouterr()

    return run


# --- the form of inputs -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "depth"),
    [("add(1f,", 1), ('f("(", [{', 3), ("f(x) // (((", 0), ("/* ( */ f(", 1), ("/* (", 1), ("/*/", 1), ('"a\\"("', 0),
     (")", -1)],
)  # fmt: skip
def test_depth(text, depth):
    assert bracket_depth(text) == depth


def test_inputs_of_a_text():
    text = 'def @f() {\n  1f\n}\n\n@f()\nlet %x = 1f;\n%x\n#[version = "0.0.5"]\ndef @g() { 2f }\nadd(1f,\n'
    assert list(split(text.splitlines())) == [
        "def @f() {\n  1f\n}",
        "@f()",
        "let %x = 1f;\n%x",
        '#[version = "0.0.5"]\ndef @g() { 2f }',
        "add(1f,",
    ]


@pytest.mark.parametrize(
    ("text", "kind"),
    [("  // nothing", "empty"), (":help", "command"), ("type T { A }", "definition"), ("define(1)", "expression"),
     ("let %x = 1f", "binding"), ("%x = 1f", "binding"), ("%x == 1f", "expression"), ("let %x = 1f; %x", "expression"),
     ("let %x = f({let %y = 1f; %y})", "binding"), ("/* a */ let %x: int32 = 1", "binding")],
)  # fmt: skip
def test_kinds(text, kind):
    assert read(text).kind == kind


def test_an_empty_line_ends_an_input():
    assert not is_complete("let %x = 1f;")
    assert is_complete("let %x = 1f;\n\n")


# --- sessions ---------------------------------------------------------------------------------------------------------
def test_values_accumulate():
    session = Session()
    assert answers("add(1f, 2f)", session=session) == ["3. : float32"]
    assert answers("let %x = multiply(%_, 2f)", session=session) == ["%x = 6. : float32"]
    assert answers("%x = add(%x, %x)", session=session) == ["%x = 12. : float32"]
    assert answers(":type nn.relu(%x)", session=session) == ["float32"]


def test_sizes_of_values_are_known():
    session = Session()
    answers(
        "%x = nonzero(full(1, shape=[2, 3]))" if False else '%x = ones(shape=[2, 3], dtype="int8")', session=session
    )
    assert answers(":type reshape(%x, newshape=[-1])", session=session) == ["Tensor[(6), int8]"]


def test_definitions_replace_each_other():
    session = Session()
    answers("def @f(%x: float32) -> float32 { add(%x, 1f) }", "def @g(%x: float32) { @f(%x) }", session=session)
    assert answers("@g(1f)", session=session) == ["2. : float32"]
    answers("def @f(%x: float32) -> float32 { add(%x, 10f) }", session=session)
    assert answers("@g(1f)", session=session) == ["11. : float32"]


def test_a_definition_that_breaks_others_changes_nothing(responded):
    status, out, err = responded(
        "def @f(%x: float32) -> float32 { add(%x, 1f) }\ndef @g(%x: float32) -> float32 { @f(%x) }\n"
        "def @f(%x: int32) -> int32 { %x }\n@g(1f)\n"
    )
    assert status == 1 and out.splitlines()[-1] == "2. : float32"
    assert "--> <input 2>:1:34" in err and "--> <input 3>:1:8" in err


def test_a_type_takes_its_values_along(tmp_path):
    path = tmp_path / "types.relay"
    path.write_text('#[version = "0.0.5"]\ntype T { A, B(int32) }\ndef @f(%t: T) -> T { %t }\n')
    session = Session()
    answers(f":load {path}", "let %t = @f(B(3))", "let %x = 1f", session=session)
    answers(f":load {path}", session=session)
    assert set(session.values) == {"x", "_"}
    assert answers("@f(B(4))", session=session) == ["B(4) : T"]


def test_a_session_with_main():
    session = Session()
    answers("def @main(%x: int32) -> int32 { if (%x < 1) { 0 } else { @main(%x - 1) + 2 } }", session=session)
    answers("def @main_1(%x: int32) { @main(%x) }", session=session)
    assert answers("@main_1(5) + @main(1)", session=session) == ["12 : int32"]


def test_data_types_and_the_prelude():
    assert answers('import "list"', "@map(fn (%i: int32) { %i * 2 }, Cons(1, Nil))") == ["Cons(2, Nil) : List[int32]"]


def test_gradients():
    session = Session()
    answers("%x = 3f", "%y = 4f", session=session)
    lines = answers(":grad multiply(%x, %x) + %y", session=session)
    assert lines == ["value: 13.", "%x: 6.", "%y: 1."]
    assert any("ones_like" in line for line in answers(":grad fn (%x: float32) { multiply(%x, 2f) }"))


@pytest.mark.parametrize(
    ("stage", "words"),
    [("te", "max("), ("schedule", "rule nn_relu"), ("loop", "kernel fused_nn_relu"), ("asm", "vmaxps")],
)
def test_stages(stage, words):
    text = "\n".join(answers('%x = ones(shape=[64, 8], dtype="float32")', f":emit {stage} nn.relu(%x)"))
    assert words in text


def test_times():
    assert re.match(r"\d+\.\d us \(median of \d+ runs?; graph executor", answers("%x = 1f", ":time exp(%x)")[0])


def test_files(tmp_path):
    path = tmp_path / "some where.relay"
    session = Session()
    answers("def @f(%x: float32) { add(%x, 1f) }", "%x = 1f", session=session)
    assert answers(f":save {path}", session=session)[0].endswith("without the variables %x")
    assert answers(f":load {path}", "@f(1f)") == ["2. : float32"]
    done = piped("@f(2f)\n", str(path))
    assert done.stdout.splitlines()[-1] == "3. : float32"


def test_explain_and_help():
    assert answers(":explain r0302")[0] == "R0302 (constraint)"
    text = "\n".join(answers(":help"))
    assert all(f":{name} " in text for name in "type emit grad time load save list explain help quit".split())


# --- errors -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "place", "help"),
    [
        ("add(1f,\n  nn.rel(2f))", "<input 1>:2:3", "did you mean nn.relu?"),
        (":type   nn.rel(2f)", "<input 1>:1:9", "did you mean nn.relu?"),
        (":emit te nn.rel(2f)", "<input 1>:1:10", "did you mean nn.relu?"),
        ("%x = nn.rel(2f)", "<input 1>:1:6", "did you mean nn.relu?"),
        ("let %x = nn.rel(2f)", "<input 1>:1:10", "did you mean nn.relu?"),
        ("def @f() {\n  nn.rel(2f) }", "<input 1>:2:3", "did you mean nn.relu?"),
        ("%nothing", "<input 1>:1:1", ""),
        ("add(1f ]", "<input 1>:1:8", ""),
        (")", "<input 1>:1:1", ""),
        (":emit tee 1f", "", "did you mean :emit te?"),
        (":hlp", "", "did you mean :help?"),
        (":load /nowhere.relay", "", "check the path"),
        (":load", "", ":load model.relay"),
        (":save /nowhere/at/all.relay", "", ""),
        (":explain R9999", "", ""),
        (":grad 1f", "", "let %x = 3f"),
        (":time fn (%x: float32) { %x }", "", ":time @f(%x)"),
        ("%f = fn (%x: float32) { %x }", "", "def @f"),
    ],
)
def test_errors_have_places(text, place, help, responded):
    status, out, err = responded(text + "\n\nadd(1f, 1f)\n")
    assert status == 1 and err.startswith("error"), err
    assert place in err and help in err, err
    if place:  # the quoted line is the one that was typed
        row = int(place.split(":")[1])
        assert f"{row} | {text.splitlines()[row - 1]}" in err
    assert out.endswith("2. : float32\n"), "the session went on"


@pytest.mark.parametrize(
    "text", ["\0", "\x1b[2J", "(" * 5000 + "]" * 5000, "%" * 100, '"', "def", "let", "λ", "1" * 5000]
)
def test_odd_texts(text, responded):
    status, _, err = responded(text + "\n\n:list\n")
    assert status == 1 and err.startswith("error")


@pytest.mark.slow
def test_a_computation_that_fails_alone(responded):
    _, out, err = responded("def @f(%x: int32) -> int32 { add(1, @f(%x)) }\n@f(1)\nadd(1, 1)\n")
    assert "error[R0405]" in err and out.endswith("2 : int32\n")


@pytest.mark.slow
def test_c_and_exit_status():
    assert piped("", "-c", "add(1f, 2f)\n:type %_").stdout == "3. : float32\nfloat32\n"
    assert piped("", "-c", "nothing").returncode == 1
    assert piped("1\n:quit\n2\n").stdout == "1 : int32\n"


# --- a terminal -------------------------------------------------------------------------------------------------------
class Terminal:
    def __init__(self, tmp_path, plain=False):
        self.main, other = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "XDG_STATE_HOME": str(tmp_path)}
        if plain:  # a package that cannot be found
            (tmp_path / "prompt_toolkit.py").write_text("raise ModuleNotFoundError('no', name='prompt_toolkit')\n")
            environment["PYTHONPATH"] = str(tmp_path)
        self.process = subprocess.Popen(
            ON_TERMINAL, stdin=other, stdout=other, stderr=other, env=environment, cwd=ROOT, start_new_session=True
        )
        os.close(other)
        self.text = ""

    def until(self, words, seconds=30):
        end = time.time() + seconds
        while words not in self.text and time.time() < end:
            if select.select([self.main], [], [], 0.2)[0]:
                try:
                    self.text += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", os.read(self.main, 65536).decode())
                except OSError:
                    break
        assert words in self.text, self.text
        before, _, self.text = self.text.partition(words)
        return before

    def type(self, keys):
        os.write(self.main, keys.encode())

    def interrupt(self, words):
        """Presses Ctrl-C until `words` appear: `input` loses a signal that arrives between its handler and its wait."""
        for _ in range(6):
            self.type(CTRL_C)
            try:
                return self.until(words, seconds=5)
            except AssertionError:
                pass
        return self.until(words)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.main)


@pytest.fixture(params=["prompt_toolkit", "input"])
def terminal(request, tmp_path):
    one = Terminal(tmp_path, plain=request.param == "input")
    one.full = request.param == "prompt_toolkit"
    yield one
    one.close()


ENTER, CTRL_C, CTRL_D = "\r", "\x03", "\x04"


def test_a_conversation(terminal):
    terminal.until("relay>")
    terminal.type("add(1f," + ENTER)
    terminal.until("...>")
    terminal.type("2f)" + ENTER)
    terminal.until("3. : float32")
    terminal.until("relay>")
    terminal.type("nn.rel(1f)" + ENTER)
    terminal.until("did you mean nn.relu?")
    terminal.until("relay>")
    terminal.type("add(%_,")
    terminal.until("add(%_,")
    terminal.interrupt("relay>")  # leaves the line
    terminal.type("def @forever(%x: int32) -> int32 { @forever(%x) }" + ENTER)
    terminal.until("@forever : fn")
    terminal.until("relay>")
    terminal.type("@forever(1)" + ENTER)
    terminal.until("@forever(1)")
    time.sleep(0.5)
    terminal.interrupt("interrupted")  # ends the computation
    terminal.until("relay>")
    terminal.type("multiply(%_, 2f)" + ENTER)
    terminal.until("6. : float32")
    terminal.until("relay>")
    terminal.type(CTRL_D)
    assert terminal.process.wait(timeout=30) == 0


def test_completion_and_history(tmp_path):
    terminal = Terminal(tmp_path)
    try:
        terminal.until("relay>")
        terminal.type("nn.log_softm\t")
        terminal.until("log_softmax")  # in the menu, or written
        terminal.type('(zeros(shape=[1], dtype="float32"), ax\t')
        terminal.until("is=")
        terminal.type("0)" + ENTER)
        terminal.until("[0.] : Tensor[(1), float32]")
        terminal.until("relay>")
        terminal.type("\x1b[A")
        terminal.until("is=0)")
        terminal.type(ENTER)
        terminal.until("[0.] : Tensor[(1), float32]")
        terminal.type(":quit" + ENTER)
        assert terminal.process.wait(timeout=30) == 0
    finally:
        terminal.close()
    assert "axis=0)" in (tmp_path / "relay" / "repl_history").read_text()
