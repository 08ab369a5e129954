"""relay doctor: what it says of this machine, and figures that it measures."""

import json
import resource

import pytest
from programs import DENSE, cli, needs_program

pytestmark = needs_program


def test_doctor():
    done = cli("doctor", "--quick")
    assert done.returncode == 0
    for word in ["processor", "target", "features", "operators", "tiles"]:
        assert word in done.stdout


@pytest.mark.slow
def test_calibrated_figures_are_those_of_native(tmp_path, monkeypatch):
    monkeypatch.setenv("RELAY_CACHE", str(tmp_path))
    done = cli("doctor", "--calibrate")
    assert done.returncode == 0, done.stderr
    file = tmp_path / "machine.json"
    assert f"{file}: the target native uses these figures" in done.stderr
    figures = json.loads(file.read_text())
    assert {"processor", "cpu", "date", "ghz", "l2_gbps", "l3_gbps", "dram_gbps"} < set(figures)
    # A vector of quotients, of roots, of exp: more than the addition of one, less than one element after the other.
    for name in ["division_cycles", "root_cycles", "exp_cycles"]:
        assert 0.5 < figures[f"float32_{name}"] < 400 and 0.5 < figures[f"float64_{name}"] < 400
    figures["l3_gbps"], figures["float32_exp_cycles"] = 12.5, 77.5
    file.write_text(json.dumps(figures))
    assert f"({file})" in cli("doctor", "--quick").stdout
    (tmp_path / "m.relay").write_text(DENSE)

    def target(*more):
        done = cli("compile", tmp_path / "m.relay", "-o", tmp_path / "m.rart", "--json", *more)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)["target"]
        assert json.loads(cli("inspect", tmp_path / "m.rart", "--json").stdout)["target"] == found
        assert (", calibrated" in done.stderr) == found["calibrated"]
        assert (", calibrated" in cli("inspect", tmp_path / "m.rart").stdout) == found["calibrated"]
        return found

    assert target()["calibrated"] and target()["l3_gbps"] == 12.5 and target()["float32_exp_cycles"] == 77.5
    # An artifact for another processor is described: this machine need not run it.
    assert not target("--target", "zen4")["calibrated"] and target("--target", "zen4")["l3_gbps"] != 12.5
    for text, why in unusable_calibrations(figures):
        file.write_text(text)
        assert not target()["calibrated"]
        assert f"no: {file} {why}" in cli("doctor", "--quick").stdout
        assert "calibrated" not in cli("doctor", "--quick", "--target", "haswell").stdout
        for verb in (["compile", "-o", tmp_path / "m.rart"], ["run"], ["run"]):  # the second run is of the cache
            noted = cli(verb[0], tmp_path / "m.relay", *verb[1:])
            assert noted.returncode == 0
            assert f"the calibration {file} is not used: it {why}" in noted.stderr
        for command in (["run", tmp_path / "m.rart"], ["run", tmp_path / "m.relay", "--target", "native"]):
            assert ("is not used" in cli(*command).stderr) == (len(command) > 2)


def unusable_calibrations(figures):
    """Texts of machine.json, and what is said of each."""
    yield "{", "is not a JSON object"
    # The form from before operations on float64 were measured.
    less = {name: value for name, value in figures.items() if name != "float64_exp_cycles"}
    yield json.dumps(less), "has no float64_exp_cycles"
    yield json.dumps(figures | {"date": 7}), "has no date"
    wrong = {"ghz": 900000, "l2_gbps": 0, "dram_gbps": -3, "float32_root_cycles": 0.01, "float64_exp_cycles": 1e5}
    for name, value in wrong.items():
        yield json.dumps(figures | {name: value}), f"has {name} = {value:g}, which is not from "
    yield json.dumps(figures | {"processor": "AMD K6"}), "is of the processor 'AMD K6', and this is '"
    yield json.dumps(figures | {"cpu": "k6"}), "is of 'k6', and this is '"


def test_a_calibration_without_a_folder_is_refused_before_it_is_measured(monkeypatch):
    monkeypatch.setenv("RELAY_CACHE", "off")
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    assert "R0504" in cli("doctor", "--calibrate").stderr
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - used < 1  # measuring takes more
