"""Calls of a program that can run together are batched: with the same values, reported, in bounded memory."""

import numpy as np
import pytest
from programs import EXAMPLES, cli, close, weights

relay = pytest.importorskip("relay", exc_type=ImportError)
Data = relay.Data


BINARY = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil }
type Tree[A] { Leaf, Node(A, Tree[A], Tree[A]) }
def @state(%t: Tree[Tensor[(1, 64), float32]], %w: Tensor[(96, 64), float32], %u: Tensor[(96, 96), float32])
    -> Tensor[(1, 96), float32] {
  match (%t) {
    Leaf => zeros(shape=[1, 96], dtype="float32"),
    Node(%x, %l, %r) => {
      let %below = add(@state(%l, %w, %u), multiply(@state(%r, %w, %u), 0.5f));
      tanh(add(nn.dense(%x, %w), nn.dense(%below, %u)))
    },
  }
}
def @states(%l: List[Tree[Tensor[(1, 64), float32]]], %w: Tensor[(96, 64), float32], %u: Tensor[(96, 96), float32])
    -> List[Tensor[(1, 96), float32]] {
  match (%l) { Nil => Nil, Cons(%t, %rest) => Cons(@state(%t, %w, %u), @states(%rest, %w, %u)) }
}
def @main(%l: List[Tree[Tensor[(1, 64), float32]]], %w: Tensor[(96, 64), float32], %u: Tensor[(96, 96), float32]) {
  @states(%l, %w, %u)
}
"""


class Binary:
    """BINARY with random weights, and what it computes, in NumPy."""

    def __init__(self, text=BINARY):
        self.rng = np.random.default_rng(5)
        self.w, self.u = weights(self.rng, (96, 64), (96, 96))
        self.module = relay.parse(text)
        main = self.module["main"]
        bound = {main.params[-2]: relay.const(self.w), main.params[-1]: relay.const(self.u)}
        self.module["main"] = relay.bind(main, bound)

    def node(self, left=None, right=None):
        return self.rng.standard_normal((1, 64)).astype(np.float32), left, right

    def random(self, nodes):
        if nodes == 0:
            return None
        left = int(self.rng.integers(nodes))
        return self.node(self.random(left), self.random(nodes - 1 - left))

    def chain(self, nodes):
        tree = None
        for i in range(nodes):
            tree = self.node(tree, None) if i % 2 else self.node(None, tree)
        return tree

    def data(self, tree):
        return self._fold(tree, Data("Leaf"), lambda x, left, right: Data("Node", x, left, right))

    def state(self, tree):
        zero = np.zeros((1, 96), np.float32)
        return self._fold(
            tree, zero, lambda x, left, right: np.tanh(x @ self.w.T + (left + np.float32(0.5) * right) @ self.u.T)
        )

    @staticmethod
    def _fold(tree, leaf, node):
        made, work = [], [(tree, False)]
        while work:
            item, done = work.pop()
            if item is None:
                made.append(leaf)
            elif done:
                right, left = made.pop(), made.pop()
                made.append(node(item[0], left, right))
            else:
                work += [(item, True), (item[2], False), (item[1], False)]
        return made[0]


def batching(compiled):
    return [segment["calls"] for segment in compiled.report["batching"]]


@pytest.mark.parametrize("executor", ["vm", "aot"])
def test_batched_calls_give_what_single_calls_give(executor):
    binary = Binary()
    batched = relay.compile(binary.module, executor=executor)
    single = relay.compile(binary.module, executor=executor, batch_calls=False)
    assert "begins" in batching(batched)
    assert set(batching(single)) == {"none"}
    trees = [binary.random(int(n)) for n in binary.rng.integers(0, 60, 30)] + [binary.chain(200), None]
    together = relay.values.as_list(batched([binary.data(t) for t in trees]))
    for tree, got in zip(trees, together, strict=True):
        close(got, binary.state(tree))
        (alone,) = relay.values.as_list(batched([binary.data(tree)]))
        np.testing.assert_array_equal(alone, got)  # however calls come together
        (as_before,) = relay.values.as_list(single([binary.data(tree)]))
        close(got, as_before)
        if tree:
            got += 1  # the memory of a result is its own
    again = relay.values.as_list(batched([binary.data(t) for t in trees]))
    for tree, a, b in zip(trees, again, together, strict=True):
        np.testing.assert_array_equal(a + 1 if tree else a, b)


def test_batched_calls_are_the_same_on_all_executors_and_threads():
    binary = Binary()
    trees = [binary.data(binary.random(int(n))) for n in binary.rng.integers(1, 100, 8)]
    runs = [
        relay.values.as_list(relay.compile(binary.module, executor=executor, threads=threads)(trees))
        for executor in ("vm", "aot")
        for threads in (1, 2)
    ]
    for run in runs[1:]:
        for a, b in zip(run, runs[0], strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("executor", ["vm", "aot"])
@pytest.mark.slow
def test_a_chain_of_100000_nodes_is_batched_in_bounded_memory(executor):
    binary = Binary()
    compiled = relay.compile(binary.module, executor=executor)
    chain = binary.chain(100_000)
    (got,) = relay.values.as_list(compiled([binary.data(chain)]))
    close(got, binary.state(chain))


def test_which_calls_are_batched():
    loop = """#[version = "0.0.5"]
def @loop(%i: int32, %h: Tensor[(1, 96), float32], %u: Tensor[(96, 96), float32]) -> Tensor[(1, 96), float32] {
  if (equal(%i, 0)) { %h } else { @loop(subtract(%i, 1), tanh(nn.dense(%h, %u)), %u) }
}
def @main(%i: int32, %h: Tensor[(1, 96), float32], %w: Tensor[(96, 64), float32], %u: Tensor[(96, 96), float32]) {
  @loop(%i, %h, %u)
}
"""
    compiled = relay.compile(Binary(loop).module)
    assert set(batching(compiled)) == {"none"}
    assert "its calls follow each other" in [s["why"] for s in compiled.report["batching"]]
    for name, arrays in (("char_rnn", 3), ("rnn_cells", 9), ("interpreter", 0)):
        module = relay.load(EXAMPLES / f"{name}.relay")
        main, rng = module["main"], np.random.default_rng(0)
        bound = {p: relay.const(rng.standard_normal(p.type_annotation.concrete_shape).astype(np.float32)) for p in
                 (main.params[-arrays:] if arrays else [])}  # fmt: skip
        module["main"] = relay.bind(main, bound)
        assert set(batching(relay.compile(module))) == {"none"}, name
    # A tree by way of a closure that is given to map; what adds up the children follows.
    rose = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil }
type Rose { Rose(Tensor[(1, 64), float32], List[Rose]) }
def @map(%f: fn (Rose) -> Tensor[(1, 96), float32], %l: List[Rose]) -> List[Tensor[(1, 96), float32]] {
  match (%l) { Nil => Nil, Cons(%head, %tail) => Cons(%f(%head), @map(%f, %tail)) }
}
def @sum(%l: List[Tensor[(1, 96), float32]], %s: Tensor[(1, 96), float32]) -> Tensor[(1, 96), float32] {
  match (%l) { Nil => %s, Cons(%head, %tail) => @sum(%tail, add(%s, %head)) }
}
def @state(%t: Rose, %w: Tensor[(96, 64), float32], %u: Tensor[(96, 96), float32]) -> Tensor[(1, 96), float32] {
  match (%t) {
    Rose(%x, %children) => {
      let %states = @map(fn (%c: Rose) -> Tensor[(1, 96), float32] { @state(%c, %w, %u) }, %children);
      tanh(add(nn.dense(%x, %w), nn.dense(@sum(%states, zeros(shape=[1, 96], dtype="float32")), %u)))
    },
  }
}
def @main(%t: Rose, %w: Tensor[(96, 64), float32], %u: Tensor[(96, 96), float32]) { @state(%t, %w, %u) }
"""
    binary = Binary(rose)
    compiled = relay.compile(binary.module)
    assert {"begins", "joins"} <= set(batching(compiled))

    def tree(depth):
        children = [tree(depth - 1) for _ in range(int(binary.rng.integers(0, 4)))] if depth else []
        return binary.node()[0], children

    def data(t):
        return Data("Rose", t[0], [data(c) for c in t[1]])

    def state(t):
        below = sum((state(c) for c in t[1]), np.zeros((1, 96), np.float32))
        return np.tanh(t[0] @ binary.w.T + below @ binary.u.T)

    for t in [tree(5) for _ in range(5)]:
        close(compiled(data(t)), state(t))


@pytest.mark.parametrize("executor", ["vm", "aot"])
def test_work_that_needs_some_arguments_only_is_a_segment_of_its_own(executor):
    # %x and the state of the left child meet in one segment: each product needs one of them. So do two results of a
    # first one.
    text = """#[version = "0.0.5"]
type Tree { Leaf, Node(Tensor[(1, 160), float32], Tree, Tree) }
def @state(%t: Tree, %w: Tensor[(480, 160), float32], %u: Tensor[(480, 160), float32])
    -> (Tensor[(1, 160), float32], Tensor[(1, 160), float32]) {
  match (%t) {
    Leaf => (zeros(shape=[1, 160], dtype="float32"), ones(shape=[1, 160], dtype="float32")),
    Node(%x, %l, %r) => {
      let %left = @state(%l, %w, %u);
      let %right = @state(%r, %w, %u);
      let %i = split(nn.dense(%x, %w), indices_or_sections=3, axis=1);
      let %h = split(nn.dense(%left.0, %u), indices_or_sections=3, axis=1);
      let %first = tanh(add(%i.0, %h.1));
      let %g = split(nn.dense(%first, %w), indices_or_sections=3, axis=1);
      (add(multiply(tanh(add(%i.2, %g.0)), %right.1), %h.0), add(sigmoid(add(%i.1, %h.2)), multiply(%right.0, %g.1)))
    },
  }
}
def @main(%t: Tree, %w: Tensor[(480, 160), float32], %u: Tensor[(480, 160), float32]) { @state(%t, %w, %u) }
"""
    module, rng = relay.parse(text), np.random.default_rng(7)
    w, u = weights(rng, (480, 160), (480, 160))
    main = module["main"]
    module["main"] = relay.bind(main, {main.params[1]: relay.const(w), main.params[2]: relay.const(u)})
    compiled = relay.compile(module, executor=executor)
    assert sorted(batching(compiled)) == ["begins", "begins", "begins", "joins", "none"]  # none: what a leaf gives
    single = relay.compile(module, executor=executor, batch_calls=False)
    assert batching(single) == ["none", "none"]

    def tree(nodes):
        if nodes == 0:
            return None
        left = int(rng.integers(nodes))
        return rng.standard_normal((1, 160)).astype(np.float32), tree(left), tree(nodes - 1 - left)

    def data(t):
        return Data("Node", t[0], data(t[1]), data(t[2])) if t else Data("Leaf")

    def state(t):
        if t is None:
            return np.zeros((1, 160), np.float32), np.ones((1, 160), np.float32)
        (h, _), (k, c) = state(t[1]), state(t[2])
        i, s = np.split(t[0] @ w.T, 3, axis=1), np.split(h @ u.T, 3, axis=1)
        g = np.split(np.tanh(i[0] + s[1]) @ w.T, 3, axis=1)
        return np.tanh(i[2] + g[0]) * c + s[0], 1 / (1 + np.exp(-i[1] - s[2])) + k * g[1]

    for nodes in (1, 2, 3, 40):
        t = tree(nodes)
        expected = state(t)
        for _ in range(2):
            got = compiled(data(t))
            for a, b, c in zip(got, expected, single(data(t)), strict=True):
                close(a, b)
                close(a, c)
            got[0][:] = 7  # a result is its reader's own


def test_batched_calls_in_a_file(tmp_path):
    binary = Binary()
    tree = binary.random(50)
    for options in ({"executor": "vm"}, {"executor": "aot"}):
        compiled = relay.compile(binary.module, **options)
        compiled.save(tmp_path / "model.rart")
        (now,) = relay.values.as_list(compiled([binary.data(tree)]))
        (loaded,) = relay.values.as_list(relay.load(tmp_path / "model.rart")([binary.data(tree)]))
        np.testing.assert_array_equal(now, loaded)


def test_batching_is_told_and_can_be_turned_off(tmp_path):
    Binary().module.save(tmp_path / "tree.relay")
    text = cli("opt", "-q", tmp_path / "tree.relay", "--emit", "program").stdout
    assert ", whose calls wait {" in text
    assert "batched: a call reads 61.4 kB of constants" in text
    text = cli("opt", "-q", tmp_path / "tree.relay", "--emit", "program", "--no-batch-calls").stdout
    assert "wait" not in text
    assert "not batched: calls are not to be batched" in text
    assert "--no-batch-calls" in cli("compile", "--help").stdout
