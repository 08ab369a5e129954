"""Verbs that are written in Python: the program knows them, and goes on in Python."""

import subprocess
import sys

import pytest
from forms import each_nth
from programs import PROGRAM, cli, needs_program

import relay
from relay import _core

pytestmark = needs_program
VERBS = sorted(_core.python_verbs())


def test_the_list():
    assert VERBS == ["hub", "plan-cluster", "repl", "serve", "train"]


@pytest.mark.parametrize("verb", VERBS)
def test_help_and_completion_know_them(verb):
    assert f"  {verb} " in cli("--help").stdout
    assert f"relay {verb} --help" in cli("help", verb).stdout
    assert verb in cli("completion", "bash").stdout
    assert verb.replace("-", "\\-") in cli("help", "--man").stdout


@pytest.mark.parametrize("verb", each_nth(3, VERBS))
def test_their_own_help_is_shown(verb):
    for done in (cli(verb, "--help"), cli("-q", verb, "--help")):
        assert done.returncode == 0 and done.stdout.startswith(f"usage: relay {verb}"), done


@pytest.mark.parametrize(("word", "meant"), [("sevre", "serve"), ("rpl", "repl"), ("plan-clutser", "plan-cluster")])
def test_suggestions(word, meant):
    done = cli(word)
    assert done.returncode == 2 and meant in done.stderr


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("serve",), "[NAME=]PATH is required"),
        (("plan-cluster",), "model, --devices are required"),
        (("hub", "frob"), "verb: invalid choice: 'frob'"),
    ],
)
def test_mistakes_read_like_those_of_other_verbs(words, problem):
    done = cli(*words)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith(f"error[R0504]: {problem}")
    assert done.stderr.endswith(f"\n  help: `relay {words[0]} --help` describes its use\n")


def test_they_run_and_return_their_status():
    done = cli("repl", "-c", "multiply(3f, 3f)")
    assert done.returncode == 0 and "9" in done.stdout
    assert cli("repl", "-c", "nn.dens(1f)").returncode == 1
    assert cli("serve", "no-such-file.rart").returncode == 1


def test_a_missing_python_is_said(tmp_path):
    environment = {"PATH": str(tmp_path), "RELAY_PYTHON": str(tmp_path / "python")}
    done = subprocess.run([PROGRAM, "serve", "x"], capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    assert "`relay serve` is written in Python" in done.stderr and "RELAY_PYTHON" in done.stderr


def test_a_missing_package_is_said():
    code = "import sys; sys.modules['uvicorn'] = None; from relay_command import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code, "serve", "x"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "pip install relay[serve]" in done.stderr and "Traceback" not in done.stderr


def test_codes_of_scripted_functions_are_explained():
    text = cli("explain", "P0203").stdout
    assert text.startswith("P0203  changed_type") and "The way out:" in text
    assert "P0204" in cli("explain").stdout and "did you mean P0203?" in cli("explain", "P203").stderr
    assert relay.script is not None
    from relay.script import CODES

    assert CODES["P0203"] == "changed_type" and len(CODES) == 19
