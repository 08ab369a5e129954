"""Every option of a compilation is declared once (src/relay/driver/options.h). The flags of the command line, the
keywords of relay.compile() and the documentation of both are those of the declaration."""

import inspect
import re

import pytest
from programs import DENSE, cli, needs_program

import relay
from relay import _core

ROWS = {row["name"]: row for row in _core.option_list()}
FLAGS = {row["flag"]: row for row in ROWS.values() if row["flag"]}
KEYWORDS = {name: row for name, row in ROWS.items() if not row["no_keyword"]}

# Flags of `relay compile` and parameters of relay.compile() other than the options of a compilation.
OWN_FLAGS = {
    "--help": "of every verb",
    "--output": "the file to write",
    "--emit": "the form of the file",
    "--aot": "the option executor, in the form that suits a file",
    "--json": "the form of the report",
    "--candidates": "a second result",
    **dict.fromkeys(
        ["--name", "--weights-file", "--library-math", "--kernels", "--memory-limit", "--input"], "C projects"
    ),
    **dict.fromkeys(["--max", "--memory", "--arena"], "C projects"),
}
OWN_PARAMETERS = {
    "model": "the model itself",
    "example_inputs": "the inputs that a torch.nn.Module is traced with",
    "cache": "chooses where the result comes from, not what it is",
}


def flags_of(verb) -> set[str]:
    return set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", cli(verb, "--help").stdout, re.MULTILINE))


@needs_program
def test_flags_are_those_of_the_declaration():
    expected = {flag for flag, row in FLAGS.items() if row["only_verb"] in ("", "compile")}
    assert flags_of("compile") == expected | set(OWN_FLAGS)


@needs_program
@pytest.mark.parametrize("verb", ["run", "opt", "check", "bench", "verify", "bisect", "profile", "quantize", "inspect"])
def test_every_verb_that_compiles_has_the_flags(verb):
    assert {flag for flag, row in FLAGS.items() if row["only_verb"] in ("", verb)} <= flags_of(verb)


@needs_program
def test_helps_are_those_of_the_declaration():
    text = " ".join(cli("run", "--help").stdout.split())
    for row in FLAGS.values():
        assert row["flag_help"] in text, row["flag"]


def test_keywords_are_those_of_the_declaration():
    parameters = inspect.signature(relay.compile).parameters
    assert set(parameters) == set(KEYWORDS) | set(OWN_PARAMETERS)
    for name, row in KEYWORDS.items():
        assert parameters[name].default == row["default"] and parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert f"{name}: {row['help']}" in " ".join(relay.compile.__doc__.split())


def test_an_exception_has_a_reason():
    for row in ROWS.values():
        assert bool(row["flag"]) != bool(row["no_flag"]), row
        assert row["help"]


# --- values -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "given, says",
    [
        ({"opt_levl": 3}, r"there is no option 'opt_levl'\n.*did you mean opt_level\?"),
        ({"xyz": 3}, r"there is no option 'xyz'\n.*the options are: shapes, import_limits, layout, opt_level, mode"),
        ({"opt_level": "high"}, r"opt_level takes int, not 'high'\n.*0: as written, 1: fused"),
        ({"opt_level": 9}, "opt_level is 9, not 0 to 3"),
        ({"threads": True}, "threads takes int, not True"),
        ({"threads": -1}, "threads is -1, not 0 to 1024"),
        ({"threads": 2**70}, "threads takes int, not 1180591620717411303424"),
        ({"strict": 1}, "strict takes bool, not 1"),
        ({"batch_calls": "no"}, "batch_calls takes bool, not 'no'"),
        ({"mode": "inferense"}, "there is no mode 'inferense'"),
        ({"numerics": "exact"}, "there is no arithmetic class 'exact'"),
        ({"executor": "debug"}, "there is no executor 'debug'"),
        ({"target": 4}, "target takes str, not 4"),
        ({"schedules": {"group": 4}}, r"schedules takes Mapping\[str, str\]"),
    ],
)
def test_values_that_do_not_fit(given, says):
    module = relay.parse(DENSE)
    with pytest.raises(relay.InputError, match=says) as error:
        relay.compile(module, **given)
    assert "R0504" in str(error.value) and isinstance(error.value, TypeError) and isinstance(error.value, ValueError)


def test_none_is_the_default():
    report = relay.compile(relay.parse(DENSE), **dict.fromkeys(KEYWORDS)).report
    assert report["opt_level"] == KEYWORDS["opt_level"]["default"] == 2


def test_options_of_an_artifact(tmp_path):
    model = relay.compile(relay.parse(DENSE))
    model.save(tmp_path / "dense.rart")
    for name, value in {"strict": True, "opt_level": 0, "batch_calls": False, "verify": True, "donate": ["x"]}.items():
        with pytest.raises(relay.InputError, match=f"compiled already: {name} would have no effect"):
            relay.compile(tmp_path / "dense.rart", **{name: value})
    assert relay.compile(tmp_path / "dense.rart", opt_level=2, executor="vm").executor == "vm"
