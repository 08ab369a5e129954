"""The check on a machine with a GPU: make device-check.

    device_check.py prepare [--processor sm_80] [--to build/device-check] [--first]
    check.py                                       in the folder that `prepare` wrote, on the machine with the GPU

`prepare` compiles everything: the examples of all operators, products of matrices, and networks, with inputs and
expected results, and a program that runs them without a compiler. The folder is below 64 MiB, and check.py needs
nothing but Python; if there is torch, it measures torch's products of matrices too. check.py ends with a table, and
writes results.json beside it. It takes below five minutes on a GPU of a data centre.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
GEMMS = (512, 1024)
NETWORKS = ["mlp", "mobilenet_v2"]
MOST_MIB = 64


def prepare(given):
    import numpy as np
    from safetensors.numpy import save_file

    import relay

    folder = given.to
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "examples").mkdir(parents=True)
    tools = ROOT / "build/release/bin"
    subprocess.run(["strip", "-o", folder / "relay_device_check", tools / "relay_device_check"], check=True)
    target = f"cuda:{given.processor}"
    command = [tools / "relay_op_ptx", "--target", target, "--artifacts", "--to", folder / "examples"]
    subprocess.run([*command, *(["--first"] if given.first else [])], check=True)
    random = np.random.default_rng(1)
    lines = []

    def add(name, module, ulps, repeats):
        """Compares with the results of this machine's CPU."""
        model = relay.compile(module)
        inputs = [
            random.standard_normal([d if d > 0 else 1 for d in p.shape]).astype(p.dtype)
            if np.dtype(p.dtype).kind == "f"
            else random.integers(0, 100, [d if d > 0 else 1 for d in p.shape]).astype(p.dtype)
            for p in model.inputs
        ]
        got = model(*inputs)
        results = [np.asarray(x) for x in (got if isinstance(got, (tuple, list)) else [got])]
        tensors = {f"input{k:02}": x for k, x in enumerate(inputs)} | {
            f"result{k:02}": x for k, x in enumerate(results)
        }
        save_file(tensors, folder / "timed" / f"{name}.safetensors")
        saved = folder / "timed" / f"{name}.rart"
        if isinstance(module, pathlib.Path):
            source = module
        else:
            source = pathlib.Path(scratch) / f"{name}.relay"
            source.write_text(module.astext())
        subprocess.run([tools / "relay", "compile", source, "--target", target, "-o", saved], check=True)
        lines.append(f"{name} {ulps} {repeats}")

    (folder / "timed").mkdir()
    with tempfile.TemporaryDirectory() as scratch:
        for n in GEMMS if not given.first else GEMMS[:1]:
            x, w = relay.var("x", shape=(n, n)), relay.var("w", shape=(n, n))
            add(f"gemm_{n}", relay.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w))), 64, 5)
        for name in NETWORKS:
            path = ROOT / f"models/{name}.onnx"
            if path.exists():
                add(name, path, 512, 3)
    (folder / "timed/timed.txt").write_text("\n".join(lines) + "\n")
    shutil.copy(__file__, folder / "check.py")
    size = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) / 2**20
    print(f"{folder}: {size:.1f} MiB, for {given.processor}")
    if size > MOST_MIB:
        raise SystemExit(f"the folder has {size:.0f} MiB, and may have {MOST_MIB}")


def torch_products():
    """Milliseconds of torch's products by size, copies included; empty without torch and a GPU."""
    try:
        import time

        import torch
    except ImportError:
        return {}
    if not torch.cuda.is_available():
        return {}
    out = {}
    for n in GEMMS:
        x, w = torch.randn(n, n), torch.randn(n, n)
        times = []
        for _ in range(6):
            begin = time.perf_counter()
            torch.nn.functional.linear(x.cuda(), w.cuda()).cpu()
            times.append(time.perf_counter() - begin)
        out[n] = sorted(times[1:])[2] * 1e3
    return out


def check(folder):
    rows, status = [], 0
    for part in ("examples", "timed"):
        out = folder / f"{part}.json"
        command = [folder / "relay_device_check", folder / part, "--json", out]
        status |= subprocess.run(command, timeout=280).returncode != 0
        rows += json.loads(out.read_text()) if out.exists() else []
    peers = torch_products()
    (folder / "results.json").write_text(json.dumps({"results": rows, "torch_ms": peers}, indent=1))
    examples = [r for r in rows if not r["ms"]]
    print(f"\n{'':20}{'result':>10}{'ms':>10}{'GFLOP/s':>10}{'torch ms':>10}")
    passed = sum(not r["problem"] for r in examples)
    print(f"{'not timed':20}{f'{passed}/{len(examples)}':>10}")
    for r in rows:
        if not r["ms"]:
            continue
        n = int(r["name"].removeprefix("gemm_")) if r["name"].startswith("gemm_") else 0
        rate = f"{2 * n**3 / r['ms'] / 1e6:.0f}" if n else ""
        peer = f"{peers[n]:.3f}" if n in peers else ""
        print(f"{r['name']:20}{'passed':>10}{r['ms']:10.3f}{rate:>10}{peer:>10}")
    for r in rows:
        if r["problem"]:
            print(f"FAILED {r['name']}: {r['problem'][:200]}")
    return status


def main():
    here = pathlib.Path(__file__).resolve()
    if here.name == "check.py":
        return check(here.parent)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["prepare"])
    parser.add_argument("--processor", default="sm_80")
    parser.add_argument("--to", type=pathlib.Path, default=ROOT / "build/device-check")
    parser.add_argument("--first", action="store_true", help="one example of each operator, and the smallest product")
    return prepare(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
