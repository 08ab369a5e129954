"""Layers of DarkNet that its library cannot run, and those of A. Bochkovskiy's fork, against NumPy; files; problems.
test/frontends/darknet_run.py compares the other layers with DarkNet's library."""

import struct

import numpy as np
import pytest

import relay

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (1, 4, 6, 5)).astype(np.float32)
D = X.astype(np.float64)
# Float32 against float64, relative to the largest value.
CLOSE = 3e-6


def write(folder, layers, weights=(), net="channels=4\nheight=6\nwidth=5", version=(0, 2, 0)):
    """The path of a configuration, with its weights beside it."""
    (folder / "net.cfg").write_text(f"[net]\n{net}\n{layers}\n")
    header = struct.pack("<iii", *version) + struct.pack("<Q" if 2 <= version[1] < 1000 else "<I", 0)
    (folder / "net.weights").write_bytes(header + b"".join(np.asarray(one, np.float32).tobytes() for one in weights))
    return folder / "net.cfg"


def run(folder, layers, weights=(), x=X, **how):
    module, params = relay.frontend.from_darknet(write(folder, layers, weights, **how))
    assert params == {}
    return relay.compile(module)(x)


def check(got, wanted):
    got = np.asarray(got)
    assert got.shape == np.shape(wanted), (got.shape, np.shape(wanted))
    assert np.abs(got - wanted).max() <= CLOSE * max(np.abs(wanted).max(), 1e-30)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_deconvolution(tmp_path):
    bias, kernel = RNG.uniform(size=3), RNG.uniform(-1, 1, (4, 3, 2, 2))
    got = run(tmp_path, "[deconvolutional]\nfilters=3\nsize=2\nstride=2\nactivation=linear", [bias, kernel])
    blocks = np.einsum("nchw,cokl->nohkwl", D, kernel.astype(np.float32).astype(np.float64))
    check(got, blocks.reshape(1, 3, 12, 10) + bias.astype(np.float32).astype(np.float64)[:, None, None])


def test_normalisation_divides_by_the_deviation_plus_a_constant(tmp_path):
    scale, mean, variance = RNG.uniform(0.5, 2, (3, 4)).astype(np.float32)
    variance[0] = 0
    got = run(tmp_path, "[batchnorm]", [scale, mean, variance])
    along = [one.astype(np.float64)[:, None, None] for one in (scale, mean, variance)]
    check(got, (D - along[1]) / (np.sqrt(along[2]) + 1e-6) * along[0])


def test_softmax_over_channels(tmp_path):
    e = np.exp(D)
    check(run(tmp_path, "[softmax]\nspatial=1"), e / e.sum(1, keepdims=True))


def test_activations_of_the_fork(tmp_path):
    check(run(tmp_path, "[activation]\nactivation=mish"), D * np.tanh(np.log1p(np.exp(D))))
    check(run(tmp_path, "[activation]\nactivation=swish"), D * sigmoid(D))


def test_groups_of_a_route(tmp_path):
    got = run(tmp_path, "[logistic]\n[logistic]\n[route]\nlayers=-2\ngroups=2\ngroup_id=1")
    check(got, sigmoid(D)[:, 2:])


def test_scaled_channels_and_attention(tmp_path):
    check(run(tmp_path, "[logistic]\n[avgpool]\n[scale_channels]\nfrom=0\nactivation=linear"),
          sigmoid(D) * sigmoid(D).mean((2, 3), keepdims=True))  # fmt: skip
    check(run(tmp_path, "[logistic]\n[activation]\nactivation=tanh\n[sam]\nfrom=0\nactivation=linear"),
          sigmoid(D) * np.tanh(sigmoid(D)))  # fmt: skip


def test_head_of_the_fork(tmp_path):
    head = "[yolo]\nmask=0,1\nclasses=1\nnum=2\nscale_x_y=1.2"
    x = RNG.uniform(-2, 2, (1, 12, 3, 2)).astype(np.float32)
    got = run(tmp_path, head, x=x, net="channels=12\nheight=3\nwidth=2")
    wanted = x.reshape(1, 2, 6, 3, 2).astype(np.float64)
    wanted[:, :, :2] = sigmoid(wanted[:, :, :2]) * 1.2 - 0.1
    wanted[:, :, 4:] = sigmoid(wanted[:, :, 4:])
    check(got, wanted.reshape(x.shape))


def test_all_heads_are_results(tmp_path):
    layers = "[logistic]\n[region]\nclasses=0\nnum=1\ncoords=3\n[logistic]\n[cost]"
    results = run(tmp_path, layers)
    assert [np.asarray(one).shape for one in results] == [X.shape, X.shape]
    check(results[1], sigmoid(np.asarray(results[0]).astype(np.float64)))


def test_short_names_comments_and_both_files(tmp_path):
    path = write(
        tmp_path,
        "# a comment\n[ conv ]\nfilters = 2 # two\nactivation= linear\n; more\n[max]\nsize=2\nstride=2",
        [np.ones(2), np.ones((2, 4))],
    )
    wanted = None
    for one in (path, path.with_suffix(".weights")):
        module, files = relay.frontend.files.import_file(str(one), {"data": [3, 4, 8, 8]})
        assert sorted(files) == [str(path), str(path.with_suffix(".weights"))]
        got = np.asarray(relay.compile(module)(np.ones((3, 4, 8, 8), np.float32)))
        assert got.shape == (3, 2, 4, 4) and np.all(got == 5)
        assert wanted is None or np.array_equal(got, wanted)
        wanted = got


def test_matrices_of_old_versions_are_transposed(tmp_path):
    matrix, bias = RNG.uniform(size=(2, 4)).astype(np.float32), np.zeros(2)
    x = np.ones((1, 4), np.float32)
    new = run(tmp_path, "[connected]\noutput=2\nactivation=linear", [bias, matrix], x, net="inputs=4")
    old = run(
        tmp_path, "[connected]\noutput=2\nactivation=linear", [bias, matrix.T], x, net="inputs=4", version=(0, 1001, 0)
    )
    assert np.array_equal(np.asarray(new), np.asarray(old))


# --- problems ---------------------------------------------------------------------------------------------------------
CONV = "[convolutional]\nfilters=2\nactivation=linear"
GOOD = [np.zeros(2), np.ones((2, 4))]


@pytest.mark.parametrize(
    ("layers", "weights", "said"),
    [
        ("[lstm2]\n[mine]\n[gru2]", [], ["operator lstm2", "operator mine", "operator gru2", "line 5",
            "custom_layers"]),
        (CONV, GOOD[:1], ["net.weights is damaged at byte 28", "the weights of convolutional 0 (line 5)", "8 float32",
            "needs 32 bytes, and 0"]),
        (CONV, [*GOOD, np.zeros(3)], ["has 72 bytes, and the network takes 60"]),
        (f"{CONV}\nsharpness=3", GOOD, ["`sharpness` is not known", "convolutional 0"]),
        (f"{CONV}\nfilters=-3", GOOD, ["`filters` is '-3'", "1 or more"]),
        (f"{CONV}\nfilters=2000000000", GOOD, ["number of its weights is 8000000000"]),
        (f"{CONV}\nactivation=sharp", GOOD, ["activation 'sharp' is unknown", "leaky"]),
        (f"{CONV}\ngroups=3", GOOD, ["not divisible by 3 groups"]),
        ("[route]\nlayers=-2", [], ["names layer -2, and 0 layers are before it"]),
        ("[logistic]\n[route]\nlayers=1", [], ["names layer 1, and 1 layers are before it"]),
        ("[route]\nlayers=one", [], ["`layers` is 'one', not a list"]),
        ("[maxpool]\nsize=99\npadding=0", [], ["maxpool 0"]),
        ("[reorg]\nstride=2", [], ["no blocks of 2x2"]),
        ("[yolo]\nclasses=80\nnum=3", [], ["3 anchors with 85 entries need 255 channels, not 4"]),
        ("[region]\ntree=9k.tree", [], ["a tree of classes"]),
        ("not a line", [], ["line 5", "not key=value"]),
        ("", [], ["no layers"]),
        ("[lstm]\noutput=3", [], ["lstm 0", "damaged at byte"]),
    ],
)  # fmt: skip
def test_problems(tmp_path, layers, weights, said):
    with pytest.raises(relay.CompileError) as raised:
        relay.frontend.from_darknet(write(tmp_path, layers, weights))
    told = str(raised.value)
    assert "help:" in told and "bug in Relay" not in told, told
    for one in said:
        assert one in told, told


@pytest.mark.parametrize(("content", "said"), [
    (b"", "does not begin"), (b"\0\1", "byte 0 is zero"), (b"[convolutional]", "does not begin with the section [net]"),
    (b"[net]\nheight=x\n[logistic]", "`height` is 'x'"), (b"[net]\n[logistic]",
        "neither height, width and channels nor inputs"),
])  # fmt: skip
def test_bad_configurations(tmp_path, content, said):
    path = write(tmp_path, "[logistic]")
    path.write_bytes(content)
    with pytest.raises(relay.CompileError) as raised:
        relay.frontend.from_darknet(path)
    assert said in str(raised.value) and "help:" in str(raised.value), str(raised.value)


def test_missing_files(tmp_path):
    path = write(tmp_path, "[logistic]")
    path.with_suffix(".weights").unlink()
    for given in (path, tmp_path / "other.cfg"):
        with pytest.raises(relay.CompileError, match="no .weights file is beside it"):
            relay.frontend.from_darknet(given)
    for name in ("a.weights", "b.weights"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(relay.CompileError, match="several files beside .* may be its weights: a.weights, b.weights"):
        relay.frontend.from_darknet(path)


@pytest.mark.parametrize("seed", range(60))
def test_changed_bytes(tmp_path, seed):
    rng = np.random.default_rng(seed)
    path = write(
        tmp_path, f"{CONV}\nbatch_normalize=1\n[route]\nlayers=-1,0\n[shortcut]\nfrom=-2", [np.ones(8), np.ones(8)]
    )
    for one in (path, path.with_suffix(".weights")):
        content = bytearray(one.read_bytes())
        for _ in range(int(rng.integers(1, 4))):
            content[rng.integers(len(content))] = rng.integers(256)
        one.write_bytes(content[: rng.integers(len(content) // 2, len(content) + 1)])
    try:
        relay.frontend.from_darknet(path)
    except relay.CompileError as error:
        assert "help:" in str(error) and "bug in Relay" not in str(error), str(error)
