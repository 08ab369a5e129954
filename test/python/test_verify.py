"""relay verify and relay bisect on the command line. What they name is tested in src/relay/driver/verify_test.cpp."""

from programs import cli, cli_json

DENSE = """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 64), float32]) { nn.softmax(tanh(%x)) }
"""


def test_a_result_is_compared_with_double_precision(tmp_path):
    (tmp_path / "dense.relay").write_text(DENSE)
    report = cli_json("verify", tmp_path / "dense.relay", "--json")
    (result,) = report["results"]
    assert result["right"] and 0 < result["absolute"] < 1e-6 and result["ulps"] < 100 and result["elements"] == 0
    assert "right" in cli("verify", tmp_path / "dense.relay").stdout


def test_a_tolerance_below_rounding_is_not_met_and_nothing_is_blamed(tmp_path):
    (tmp_path / "dense.relay").write_text(DENSE)
    verify = cli("verify", tmp_path / "dense.relay", "--tolerance", "1e-12")
    assert verify.returncode != 0 and "R0605" in verify.stderr and "relay bisect" in verify.stderr
    assert "different" in verify.stdout
    bisect = cli("bisect", tmp_path / "dense.relay", "--tolerance", "1e-12")
    assert bisect.returncode != 0 and "as written: different" in bisect.stderr
    assert "to blame: no pass and no schedule rule alone" in bisect.stdout


def test_bad_arguments(tmp_path):
    (tmp_path / "dense.relay").write_text(DENSE)
    assert "is not above 0" in cli("verify", tmp_path / "dense.relay", "--tolerance", "0").stderr
    assert "R0405" not in cli("bisect", tmp_path / "none.relay").stderr
