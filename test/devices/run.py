"""Runs every operator's examples and some networks on OpenCL devices, and compares them with the evaluator and with
this machine's CPU: make test-devices.

    run.py [--on pocl,intel] [--only REGEX] [--first] [--jobs N] [--networks mobilenet_v2,resnet18]

Counts what passed, what has the bits of the CPU, what was refused and why. Ends with 1 if anything failed.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/python/support"))

import opencl_drivers  # noqa: E402

NETWORKS = "mlp,mobilenet_v2,resnet18,minilm_l6"
# The largest difference from the CPU, as a part of the largest result. The schedules and roundings are the same on a
# device that is the same processor; other devices may round quotients and square roots in another way.
TOLERANCE = 1e-4


def run_examples(driver, options, jobs):
    """The results of relay_op_device: counts by name, failures by example, examples by the reason of their refusal."""
    counts, failed, refused = collections.Counter(), {}, collections.defaultdict(list)

    def shard(k, folder):
        path = pathlib.Path(folder) / f"{k}.json"
        command = [ROOT / "build/release/bin/relay_op_device", "--shard", f"{k}/{jobs}", "--json", path, *options]
        done = subprocess.run(command, env=driver.environment(), capture_output=True, text=True)
        if not path.exists():
            raise RuntimeError(f"{driver.name}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return json.loads(path.read_text())

    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for found in pool.map(lambda k: shard(k, folder), range(1, jobs + 1)):
            counts["passed"] += found["passed"]
            counts["same_bits"] += found["same_bits"]
            failed |= found["failed"]
            for reason, names in found["refused"].items():
                refused[reason] += names
    return counts, failed, refused


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--on", default=",".join(opencl_drivers.ALL), help="drivers")
    parser.add_argument("--only", default=".*", help="regular expression for names of operators")
    parser.add_argument("--first", action="store_true", help="one example of each operator")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--networks", default=NETWORKS, help="names in models/; none if empty")
    given = parser.parse_args()
    wrong = []
    for name in given.on.split(","):
        driver = opencl_drivers.ALL[name]
        if not driver.is_here():
            wrong.append(f"{name} is not installed: run make test-devices, which installs it")
            continue
        options = ["--only", given.only, *(["--first"] if given.first else [])]
        counts, failed, refused = run_examples(driver, options, given.jobs)
        print(
            f"{name}: {counts['passed']} examples passed, {counts['same_bits']} of them with the bits of the CPU; "
            f"{sum(map(len, refused.values()))} refused, {len(failed)} failed"
        )
        for reason, names in refused.items():
            print(f"  refused, {len(names)} times: {reason}")
        wrong += [f"{name}: {case}: {why}" for case, why in failed.items()]
        for network in filter(None, given.networks.split(",")):
            if not (ROOT / f"models/{network}.onnx").exists():
                wrong.append(f"models/{network}.onnx is not here: make models-fetch")
                continue
            compared = opencl_drivers.compare_network(driver, ROOT / f"models/{network}.onnx")
            print(f"  {network}: {compared.text()}")
            if compared.problem or not compared.difference <= TOLERANCE:
                wrong.append(f"{name}: {network}: {compared.text()}")
    for line in wrong:
        print(f"FAILED {line}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
