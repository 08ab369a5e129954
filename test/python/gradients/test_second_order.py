"""Second derivatives of networks and of programs with control flow, and gradients through recursive networks."""

import numpy as np
import pytest
from differentiated import LSTM, module, random, var
from programs import ROOT

import relay

torch = pytest.importorskip("torch")
F = torch.nn.functional


def near(got, want, tolerance=1e-3):
    want = np.asarray(want)
    np.testing.assert_allclose(np.asarray(got), want, rtol=tolerance, atol=tolerance * float(np.abs(want).max()))


def check_hvp(mod, loss, arrays, wrt):
    """The Hessian with respect to parameter `wrt` times a vector, compiled and evaluated, against PyTorch's."""
    made = relay.hvp(mod, wrt)
    at = [p.name_hint for p in mod["main"].params].index(wrt)
    seed = random(*arrays[at].shape)
    tensors = [torch.tensor(a, dtype=torch.float64) for a in arrays]

    def of_one(t):
        return loss(*tensors[:at], t, *tensors[at + 1 :])

    _, want = torch.func.jvp(torch.func.grad(of_one), (tensors[at],), (torch.tensor(seed, dtype=torch.float64),))
    assert want.any()
    near(relay.compile(made)(*arrays, seed), want)
    near(relay.evaluate(made, [*arrays, seed]), want)


@pytest.mark.parametrize("wrt", ["x", "w1", "w2"])
def test_mlp(wrt):
    x, w1, b1, w2 = var("x", 4, 6), var("w1", 8, 6), var("b1", 8), var("w2", 3, 8)
    hidden = relay.tanh(relay.nn.bias_add(relay.nn.dense(x, w1), b1))
    scores = relay.nn.log_softmax(relay.nn.dense(hidden, w2))
    mod = module([x, w1, b1, w2], relay.sum(scores * scores))

    def loss(x, w1, b1, w2):
        return F.log_softmax(F.linear(torch.tanh(F.linear(x, w1, b1)), w2), -1).square().sum()

    check_hvp(mod, loss, [random(4, 6), random(8, 6), random(8), random(3, 8)], wrt)


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("ends", ["cubes", "softmax"])
def test_cnn_at_levels(ends, level):
    """A strided convolution and a mean of images, with two ends; at level 0 too, where nothing is rewritten."""
    x, k, w = var("x", 2, 3, 7, 7), var("k", 4, 3, 3, 3), var("w", 5, 4)
    y = relay.nn.conv2d(x, k, strides=[2, 2], padding=[1, 1])
    y = relay.nn.dense(relay.nn.batch_flatten(relay.nn.global_avg_pool2d(y)), w)
    mod = module([x, k, w], relay.sum(y * y * y) if ends == "cubes" else relay.sum(relay.nn.softmax(y) * y))
    arrays = [random(2, 3, 7, 7), random(4, 3, 3, 3), random(5, 4)]
    tensors = [torch.tensor(a, dtype=torch.float64) for a in arrays]

    def loss(x):
        y = F.linear(F.conv2d(x, tensors[1], stride=2, padding=1).mean((2, 3)), tensors[2])
        return (y**3).sum() if ends == "cubes" else (torch.softmax(y, -1) * y).sum()

    seed = random(2, 3, 7, 7)
    _, want = torch.func.jvp(torch.func.grad(loss), (tensors[0],), (torch.tensor(seed, dtype=torch.float64),))
    near(relay.compile(relay.hvp(mod, "x"), opt_level=level)(*arrays, seed), want)


@pytest.mark.parametrize("wrt", ["x", "k", "w"])
def test_cnn(wrt):
    x, k, b, w = var("x", 2, 3, 7, 7), var("k", 4, 3, 3, 3), var("b", 4), var("w", 5, 4)
    y = relay.sigmoid(relay.nn.bias_add(relay.nn.conv2d(x, k, strides=[2, 2], padding=[1, 1]), b))
    y = relay.nn.max_pool2d(y, pool_size=[2, 2], strides=[1, 1])
    y = relay.nn.dense(relay.nn.batch_flatten(relay.nn.global_avg_pool2d(y)), w)
    mod = module([x, k, b, w], relay.sum(y * y * y))

    def loss(x, k, b, w):
        y = F.max_pool2d(torch.sigmoid(F.conv2d(x, k, b, stride=2, padding=1)), 2, 1)
        return (F.linear(y.mean((2, 3)), w) ** 3).sum()

    check_hvp(mod, loss, [random(2, 3, 7, 7), random(4, 3, 3, 3), random(4), random(5, 4)], wrt)


@pytest.mark.parametrize("wrt", ["x", "qkv", "up"])
def test_transformer_layer(wrt):
    d, tokens = 8, 5
    x, g, b, qkv, up = var("x", tokens, d), var("g", d), var("b", d), var("qkv", 3 * d, d), var("up", 2 * d, d)
    parts = relay.split(relay.nn.dense(relay.nn.layer_norm(x, g, b), qkv), indices_or_sections=3, axis=1)
    q, k, v = (relay.reshape(part, newshape=[1, tokens, d]) for part in parts)
    scores = relay.nn.batch_matmul(q, k, transpose_b=True) * relay.const(np.float32(d**-0.5))
    mixed = relay.nn.batch_matmul(relay.nn.softmax(scores), v, transpose_b=False)
    y = x + relay.reshape(mixed, newshape=[tokens, d])
    y = relay.nn.dense(relay.nn.layer_norm(y, g, b), up)
    mod = module([x, g, b, qkv, up], relay.sum(relay.tanh(y) * y))

    def loss(x, g, b, qkv, up):
        q, k, v = F.linear(F.layer_norm(x, (d,), g, b), qkv).chunk(3, 1)
        y = x + F.softmax(q @ k.T * d**-0.5, -1) @ v
        y = F.linear(F.layer_norm(y, (d,), g, b), up)
        return (torch.tanh(y) * y).sum()

    check_hvp(mod, loss, [random(tokens, d), random(d), random(d), random(3 * d, d), random(2 * d, d)], wrt)


@pytest.mark.parametrize("wrt", ["w", "u", "b"])
def test_lstm_over_a_list(wrt):
    xs, w, u, b = [random(1, 3) for _ in range(4)], random(16, 3), random(16, 4), random(16)
    arrays = {"w": w, "u": u, "b": b}
    seed = random(*arrays[wrt].shape)
    steps, fixed = ([torch.tensor(a, dtype=torch.float64) for a in part] for part in (xs, arrays.values()))
    fixed = dict(zip(arrays, fixed, strict=True))

    def loss(one):
        p = {**fixed, wrt: one}
        h = c = torch.zeros(1, 4, dtype=torch.float64)
        for x in steps:
            i, f, g, o = (F.linear(x, p["w"], p["b"]) + F.linear(h, p["u"])).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return h.sum()

    _, want = torch.func.jvp(torch.func.grad(loss), (fixed[wrt],), (torch.tensor(seed, dtype=torch.float64),))
    made = relay.hvp(relay.parse(LSTM), wrt)
    for run in (relay.compile(made), lambda *a: relay.evaluate(made, list(a))):
        near(run(xs, w, u, b, seed), want)


# Programs of two vectors: the Hessian with respect to %x is derived from the formula next to each.
CONTROL = {
    "if": (
        "",
        "let %y = if (less(sum(%x), 0f)) { multiply(multiply(%x, %x), %x) } else { exp(multiply(%x, %w)) }; sum(%y)",
        lambda x, w: (x**3 if x.sum() < 0 else torch.exp(x * w)).sum(),
    ),
    "a closure": (
        "",
        "let %f = fn (%z: Tensor[(3), float32]) { multiply(tanh(multiply(%z, %x)), %w) }; sum(%f(%f(%x)))",
        lambda x, w: (torch.tanh(torch.tanh(x * x) * w * x) * w).sum(),
    ),
    "a reference": (
        "",
        "let %r = ref(multiply(%x, %w)); let %_ = ref_write(%r, multiply(ref_read(%r), exp(%x))); "
        "let %_ = ref_write(%r, multiply(ref_read(%r), ref_read(%r))); sum(ref_read(%r))",
        lambda x, w: (x * w * torch.exp(x)).square().sum(),
    ),
    "a fold over a list": (
        'import "list"\n',
        "let %l: List[Tensor[(3), float32]] = Cons(%w, Cons(exp(%x), Cons(%x, Nil))); "
        "sum(@foldl(fn (%a: Tensor[(3), float32], %b: Tensor[(3), float32]) { multiply(%a, add(%b, %x)) }, %x, %l))",
        lambda x, w: (x * (w + x) * (torch.exp(x) + x) * (x + x)).sum(),
    ),
}


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("name", CONTROL)
def test_through_control_flow(name, sign):
    imports, body, loss = CONTROL[name]
    vector = "Tensor[(3), float32]"
    mod = relay.parse(f'#[version = "0.0.5"]\n{imports}def @main(%x: {vector}, %w: {vector}) {{ {body} }}')
    check_hvp(mod, loss, [sign * (np.abs(random(3)) + 0.2).astype("float32"), random(3)], "x")


TREE_LSTM = (ROOT / "examples" / "tree_lstm.relay").read_text()


def node_of(rose):
    """The array of a node, and its children."""
    return rose.fields[0], relay.values.as_list(rose.fields[1])


def test_gradient_of_a_tree_lstm():
    """Gates, a cell and any number of children: gradients of each weight and of the tree, whose gradient is a tree."""
    result = "  @tree_lstm(%t, %w, %u, %uf, %b)\n}"
    assert TREE_LSTM.endswith(result + "\n")
    loss = result.replace("@tree", "let %s = @tree").replace("\n}", "; sum(multiply(%s.0, %s.1))\n}")
    mod = relay.parse(TREE_LSTM.replace(result, loss))
    leaves = [random(1, 300) for _ in range(5)]
    weights = [random(*shape) * np.float32(0.2) for shape in ((600, 300), (450, 150), (150, 150), (600,))]
    values = [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in (*leaves, *weights)]
    w, u, uf, b = values[5:]

    def states(tree):
        x, children = tree
        below = [states(child) for child in children]
        i, o, g, f = F.linear(x, w, b).chunk(4, 1)
        h = sum((h for h, _ in below), torch.zeros(1, 150, dtype=torch.float64))
        di, do, dg = F.linear(h, u).chunk(3, 1)
        forgotten = sum(torch.sigmoid(f + F.linear(h, uf)) * c for h, c in below)
        c = torch.sigmoid(i + di) * torch.tanh(g + dg) + forgotten
        return torch.sigmoid(o + do) * torch.tanh(c), c

    def tree(x):  # 0 has the children 1, 2 and 3, of which 2 has the child 4
        return (x[0], [(x[1], []), (x[2], [(x[4], [])]), (x[3], [])])

    def data(node):
        return relay.Data("Rose", node[0], [data(child) for child in node[1]])

    h, c = states(tree(values))
    want = torch.autograd.grad((h * c).sum(), values)
    made = relay.value_and_grad(mod)
    for run in (relay.compile(made), lambda *a: relay.evaluate(made, list(a))):
        value, (d_tree, *d_weights) = run(data(tree(leaves)), *weights)
        near(value, (h * c).sum().detach(), 1e-4)
        for got, expected in zip(d_weights, want[5:], strict=True):
            near(got, expected, 1e-4)
        root, below = node_of(d_tree)
        (first, _), (second, deep), (third, _) = map(node_of, below)
        for got, expected in zip((root, first, second, third, node_of(deep[0])[0]), want[:5], strict=True):
            near(got, expected, 1e-4)
