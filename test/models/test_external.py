"""ResNet-50 and BERT (bench/networks.py) by oneDNN: what it takes, and the same results.

    .venv/bin/python -m pytest test/models/test_external.py

Errors are relative to the largest element of what Relay's own kernels give.
"""

import pathlib
import sys

import numpy as np
import pytest
import torch

import relay

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import networks  # noqa: E402


@pytest.mark.parametrize("name", ["resnet50", "bert_base"])
def test_dnnl_takes_most(name):
    (path,) = networks.export([name])
    taken = relay.byoc.partition_for_dnnl(relay.load(path))
    report = relay.byoc.report(taken)
    print(f"\n{name}: {report.share('dnnl'):.1%} of the multiply-adds\n{report}")
    assert report.share("dnnl") >= 0.9

    ours, theirs = relay.compile(relay.load(path)), relay.compile(taken)
    inputs = networks.draw_inputs(networks.NETWORKS[name][1], torch.Generator().manual_seed(0))
    inputs = [t.numpy() for t in inputs]
    for want, got in zip(*(v if isinstance(v, tuple) else (v,) for v in (ours(*inputs), theirs(*inputs))), strict=True):
        assert np.abs(got - want).max() <= 1e-4 * np.abs(want).max()
