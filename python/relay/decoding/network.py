"""The Relay program of a decoder: one program for prompts, steps, batches and speculative steps.

    x         (b, n, width)    the vectors of n new tokens of each of b sequences
    at        (2, b, n)        the sequence and the position of each new token
    seen      (m)              0, 1, .., m - 1: the positions that attention reads, more than any of `at`
    wanted    (k)              the places, in the b * n new tokens, of those whose logits are computed
    tables    (c, ..)          rows by position: cosines and sines of the rotations, or learned positions
    keys.i, values.i (b, c, key_heads, head_width)   the state: what earlier tokens left, for c positions
    keys_scales.i, values_scales.i (b, c, key_heads) if these are int8: element = integer * scale

    -> logits (k, vocabulary), and the states with the rows of the new tokens stored in place

Every size is a variable, so a model is compiled once. A token sees its own and earlier positions only. Rows that were
stored beyond them, by proposals that were refused or by tokens that fill a batch, are overwritten before they are seen.
"""

from __future__ import annotations

import math

import numpy as np

from .. import _core, op
from ..errors import wrong_input
from ..ir.expr import const, var
from .blocks import Matrix
from .config import Config, Experts, Weights


def tables(config: Config, weights: Weights, capacity: int, positions: int) -> dict[str, np.ndarray]:
    """Returns the inputs that have a row for each of `capacity` positions, of which sequences may use `positions`.
    Learned positions beyond the model's context are zeros."""
    made = {}
    for place, rotation in enumerate(config.rotations):
        angles = np.arange(capacity)[:, None] * (rotation.long if rotation.is_long(positions) else rotation.frequencies)
        made[f"cosines.{place}"] = (rotation.scale * np.cos(angles)).astype(np.float32)
        made[f"sines.{place}"] = (rotation.scale * np.sin(angles)).astype(np.float32)
    if "position_embd.weight" in weights:
        learned = weights.rows("position_embd.weight", np.arange(min(capacity, config.context)))
        made["places"] = np.pad(learned, ((0, capacity - len(learned)), (0, 0)))
    return made


def states(config: Config) -> list[str]:
    """Returns the names of the states in the order of the program's results."""
    kinds = ["keys", "values"] + (["keys_scales", "values_scales"] if config.cache == "int8" else [])
    return [f"{kind}.{i}" for i in range(len(config.layers)) for kind in kinds]


def _product(x: _core.Expr, matrix: Matrix, inputs: int, leading: int) -> _core.Expr:
    """Returns the product of the rows of x with the rows of a matrix, whose weights stay in their type. `leading` is
    the number of axes of x in front of the rows."""
    weight = const(matrix.numbers)
    if not matrix.integers:
        return op.nn.dense(x, weight if matrix.numbers.dtype == np.float32 else op.cast(weight, dtype="float32"))
    if matrix.integers != "int8":
        weight = op.storage.unpack(weight, dtype=matrix.integers, axis=1)
    block = inputs // matrix.scales.shape[1]
    weight = op.qnn.dequantize(weight, const(matrix.scales), const(0, "int32"), axis=1, block=block)
    made = op.nn.dense(x, weight)
    if matrix.minima is None:
        return made
    # The minimum of a block multiplies the sum of the inputs that meet the block.
    sums = op.sum(op.reshape(x, (*(0,) * leading, -1, block)), axis=[-1])
    return op.add(made, op.nn.dense(sums, op.cast(const(matrix.minima), dtype="float32")))


class _Builder:
    def __init__(self, path: str, config: Config, weights: Weights):
        self.path, self.config, self.weights = path, config, weights
        self.used = {"token_embd.weight", "position_embd.weight"} & set(weights)  # rows of both are taken
        self.group = config.heads // config.key_heads
        self.at = var("at", shape=(2, "b", "n"), dtype="int64")
        self.seen = var("seen", shape=("m",), dtype="int64")
        self.places = op.take(self.at, const(1, "int64"), axis=0)
        self.tables = {
            name: var(name, shape=("c", row.shape[1])) for name, row in tables(config, weights, 1, 1).items()
        }
        self.states = {name: self._state(name) for name in states(config)}
        self.new_states: dict[str, _core.Expr] = {}
        self.functions: dict[str, _core.Function] = {}  # by name, one for each expert of each layer
        self.turns = [
            tuple(self._row(f"{kind}.{place}") for kind in ("cosines", "sines"))
            for place in range(len(config.rotations))
        ]
        self.masks = {window: self._mask(window) for window in {layer.window for layer in config.layers}}

    def _state(self, name: str) -> _core.Var:
        heads = ("b", "c", self.config.key_heads)
        if "_scales" in name:
            return var(name, shape=heads)
        return var(name, shape=(*heads, self.config.head_width), dtype=self.config.cache)

    def _row(self, table: str) -> _core.Expr:
        """Returns the rows of the new tokens: (b, n, ..)."""
        return op.take(self.tables[table], self.places, axis=0)

    def _mask(self, window: int) -> _core.Expr:
        """Returns 0 where a token sees a position, minus infinity elsewhere: (b, 1, group * n, m)."""
        mine, all = op.expand_dims(self.places, -1), op.reshape(self.seen, (1, 1, -1))
        sees = op.less_equal(all, mine)
        if window:
            sees = op.logical_and(sees, op.greater(all, op.subtract(mine, const(window, "int64"))))
        mask = op.where(sees, const(0.0, "float32"), const(-math.inf, "float32"))
        return op.expand_dims(op.tile(mask, (1, self.group, 1)), 1)

    def check(self, name: str, *shape: int) -> None:
        """Raises an error if a weight is missing, or its sizes are not those of the configuration."""
        if name not in self.weights:
            raise wrong_input(f"{self.path}: the weight `{name}` is missing", "give a model with all its weights")
        if self.weights.shape(name) != shape:
            raise wrong_input(
                f"{self.path}: the weight `{name}` is {list(self.weights.shape(name))}, but the configuration asks for "
                f"{list(shape)}",
                "the configuration and the weights belong to different models: copy or download both again",
            )
        self.used.add(name)

    def weight(self, name: str, *shape: int) -> _core.Expr:
        """Returns a weight as a constant of type float32."""
        self.check(name, *shape)
        return const(self.weights.array(name))

    def linear(self, x: _core.Expr, name: str, results: int, inputs: int, leading: int = 2) -> _core.Expr:
        self.check(f"{name}.weight", results, inputs)
        made = _product(x, self.weights.matrix(f"{name}.weight"), inputs, leading)
        return op.add(made, self.weight(f"{name}.bias", results)) if f"{name}.bias" in self.weights else made

    def norm(self, x: _core.Expr, name: str, width: int) -> _core.Expr:
        weight = self.weight(f"{name}.weight", width)
        if self.config.norm == "rms":
            return op.nn.rms_norm(x, weight, epsilon=self.config.epsilon)
        return op.nn.layer_norm(x, weight, self.weight(f"{name}.bias", width), epsilon=self.config.epsilon)

    def optional_norm(self, x: _core.Expr, name: str, width: int) -> _core.Expr:
        return self.norm(x, name, width) if f"{name}.weight" in self.weights else x

    def activation(self, x: _core.Expr) -> _core.Expr:
        if self.config.activation == "gelu":
            return op.nn.gelu(x)
        if self.config.activation == "silu":
            return op.multiply(x, op.sigmoid(x))
        # x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) = x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3))
        inner = op.add(x, op.multiply(const(0.044715, "float32"), op.multiply(x, op.multiply(x, x))))
        return op.multiply(x, op.sigmoid(op.multiply(const(2 * math.sqrt(2 / math.pi), "float32"), inner)))

    # --- attention ----------------------------------------------------------------------------------------------------

    def attention(self, x: _core.Expr, i: int) -> _core.Expr:
        config, layer, name, head = self.config, self.config.layers[i], f"blk.{i}.attn", self.config.head_width
        asked, kept = config.heads * head, config.key_heads * head
        if f"{name}_qkv.weight" in self.weights:
            joint = self.linear(x, f"{name}_qkv", asked + 2 * kept, config.width)
            query, key, value = op.split(joint, (asked, asked + kept), axis=-1)
        else:
            query = self.linear(x, f"{name}_q", asked, config.width)
            key, value = (self.linear(x, f"{name}_{part}", kept, config.width) for part in "kv")
        query = op.reshape(query, (0, 0, config.key_heads, self.group, head))
        key, value = (op.reshape(part, (0, 0, config.key_heads, head)) for part in (key, value))
        query = self.optional_norm(query, f"{name}_q_norm", head)
        key = self.optional_norm(key, f"{name}_k_norm", head)
        if layer.rotation >= 0:
            query, key = self._rotated(query, layer.rotation, 2), self._rotated(key, layer.rotation, 1)
        keys, values = self._kept("keys", i, key), self._kept("values", i, value)
        # Queries that share a head of keys are rows of one product: (b, key_heads, group * n, head_width).
        query = op.reshape(op.transpose(query, (0, 2, 3, 1, 4)), (0, 0, -3, 0))
        made = self._weighted(query, keys, values, self.masks[layer.window])
        made = op.reshape(made, (0, 0, -4, self.group, -1, 0))
        made = op.reshape(op.transpose(made, (0, 3, 1, 2, 4)), (0, 0, -1))
        return self.linear(made, f"{name}_output", config.width, asked)

    def _rotated(self, x: _core.Expr, rotation: int, axes_of_heads: int) -> _core.Expr:
        turns = (op.expand_dims(turn, 2, axes_of_heads) for turn in self.turns[rotation])
        return op.nn.rotary_embedding(x, *turns, interleaved=self.config.interleaved)

    def _stored(self, state: str, rows: _core.Expr) -> _core.Expr:
        """Stores the rows of the new tokens. Returns those that attention reads: (b, m, ..)."""
        self.new_states[state] = stored = op.scatter_nd(self.states[state], self.at, rows)
        return op.slice_like(stored, op.reshape(self.seen, (1, -1)), axes=[1])

    def _kept(self, kind: str, i: int, rows: _core.Expr) -> _core.Expr:
        """Stores keys or values of the new tokens. Returns those that attention reads: (b, key_heads, m, head_width).
        As int8 they share a scale in each head of a position, so that the largest becomes 127 or -127."""
        if self.config.cache == "float32":
            return op.transpose(self._stored(f"{kind}.{i}", rows), (0, 2, 1, 3))
        most = op.max(op.abs(rows), axis=[-1])
        largest, zero = const(127.0, "float32"), const(0.0, "float32")
        factor = op.where(op.equal(most, zero), zero, op.divide(largest, most))
        numbers = op.cast(op.round(op.multiply(rows, op.expand_dims(factor, -1))), dtype="int8")
        numbers = self._stored(f"{kind}.{i}", numbers)
        scales = self._stored(f"{kind}_scales.{i}", op.divide(most, largest))
        read = op.multiply(op.cast(numbers, dtype="float32"), op.expand_dims(scales, -1))
        return op.transpose(read, (0, 2, 1, 3))

    def _weighted(self, query, keys, values, mask) -> _core.Expr:
        scale, cap = self.config.score_scale or 1 / math.sqrt(self.config.head_width), self.config.score_cap
        if not cap:
            inputs = _core.Tuple([query, keys, values, mask])
            return op.nn.scaled_dot_product_attention(inputs, masked=True, scale=scale)
        scores = op.einsum(_core.Tuple([op.multiply(query, const(scale / cap, "float32")), keys]), "bhle,bhse->bhls")
        scores = op.add(op.multiply(const(cap, "float32"), op.tanh(scores)), mask)
        return op.einsum(_core.Tuple([op.nn.softmax(scores, axis=-1), values]), "bhls,bhsf->bhlf")

    # --- the whole ----------------------------------------------------------------------------------------------------

    def feed_forward(self, x: _core.Expr, i: int, of: str = "", leading: int = 2) -> _core.Expr:
        """Returns the results of the network of a layer. `of`: the end of its weights' names, if it is an expert."""
        up_name, gate_name, down_name = (f"blk.{i}.ffn_{part}{of}" for part in ("up", "gate", "down"))
        width = self.config.width
        if f"{up_name}.weight" not in self.weights:
            self.check(f"{up_name}.weight")
        rows = self.weights.shape(f"{up_name}.weight")[0]
        inner = rows // 2 if self.config.joint_gate else rows
        up = self.linear(x, up_name, rows, width, leading)
        if self.config.joint_gate:
            gate, up = op.split(up, 2, axis=-1)
            made = op.multiply(self.activation(gate), up)
        elif f"{gate_name}.weight" in self.weights:
            made = op.multiply(self.activation(self.linear(x, gate_name, inner, width, leading)), up)
        else:
            made = self.activation(up)
        return self.linear(made, down_name, width, inner, leading)

    def shares(self, x: _core.Expr, i: int, experts: Experts) -> _core.Expr:
        """Returns the share of each expert in the results of each row of x, 0 where it is not used: (experts, rows)."""
        rated = op.nn.softmax(self.linear(x, f"blk.{i}.ffn_gate_inp", experts.count, self.config.width, 1), axis=-1)
        best, places = op.topk(rated, k=experts.used, axis=-1, dtype="int64")
        if experts.normalised:
            best = op.divide(best, op.sum(best, axis=[-1], keepdims=True))
        chosen = op.equal(op.expand_dims(places, 0), const(np.arange(experts.count).reshape(-1, 1, 1)))
        return op.sum(op.where(chosen, op.expand_dims(best, 0), const(0.0, "float32")), axis=[-1])

    def expert(self, i: int, e: int) -> _core.Function:
        """Returns a function that adds the results of an expert to those of others, in the rows that have a share in
        it. Without such rows, its products have no rows, and read no weights."""
        x, made = (var(name, shape=("t", self.config.width)) for name in ("x", "made"))
        share = var("share", shape=("t",))
        rows = op.reshape(op.argwhere(op.not_equal(share, const(0.0, "float32"))), (-1,))
        own = self.feed_forward(op.take(x, rows, axis=0), i, f".{e}", 1)
        own = op.multiply(own, op.expand_dims(op.take(share, rows, axis=0), -1))
        return _core.Function([x, share, made], op.scatter_nd(made, op.expand_dims(rows, 0), own, mode="add"))

    def mixture(self, x: _core.Expr, i: int) -> _core.Expr:
        """Returns the sum of the results of the experts that each token uses."""
        experts = self.config.experts
        if experts is None:
            raise wrong_input(
                f"{self.path}: layer {i} has a router, but the configuration has no experts",
                "the configuration and the weights belong to different models: copy or download both again",
            )
        rows = op.reshape(x, (-3, 0))
        shares, made = self.shares(rows, i, experts), op.zeros_like(rows)
        for e in range(experts.count):
            name = f"layer_{i}_expert_{e}"
            self.functions[name] = self.expert(i, e)
            made = _core.Call(_core.GlobalVar(name), [rows, op.take(shares, const(e, "int64"), axis=0), made])
        made = op.reshape_like(made, x)
        if f"blk.{i}.ffn_up_shexp.weight" not in self.weights:
            return made
        gate = self.weight(f"blk.{i}.ffn_gate_inp_shexp.weight", self.config.width)
        gate = op.sigmoid(op.nn.dense(x, op.expand_dims(gate, 0)))
        return op.add(made, op.multiply(gate, self.feed_forward(x, i, "_shexp")))

    def logits(self, x: _core.Expr, wanted: _core.Expr) -> _core.Expr:
        width, vocabulary = self.config.width, self.config.vocabulary
        x = self.norm(op.take(op.reshape(x, (-3, 0)), wanted, axis=0), "output_norm", width)
        name = "output" if "output.weight" in self.weights else "token_embd"
        made = self.linear(x, name, vocabulary, width, leading=1)
        if cap := self.config.logit_cap:
            made = op.multiply(const(cap, "float32"), op.tanh(op.multiply(made, const(1 / cap, "float32"))))
        return made

    def function(self) -> _core.Function:
        width = self.config.width
        x = first = var("x", shape=("b", "n", width))
        wanted = var("wanted", shape=("k",), dtype="int64")
        if "places" in self.tables:
            x = op.add(x, self._row("places"))
        for i in range(len(self.config.layers)):
            attended = self.attention(self.norm(x, f"blk.{i}.attn_norm", width), i)
            x = op.add(x, self.optional_norm(attended, f"blk.{i}.post_attention_norm", width))
            normed, routed = self.norm(x, f"blk.{i}.ffn_norm", width), f"blk.{i}.ffn_gate_inp.weight" in self.weights
            fed = self.mixture(normed, i) if routed else self.feed_forward(normed, i)
            x = op.add(x, self.optional_norm(fed, f"blk.{i}.post_ffw_norm", width))
        results = [self.logits(x, wanted), *(self.new_states[name] for name in self.states)]
        inputs = [first, self.at, self.seen, wanted, *self.tables.values(), *self.states.values()]
        return _core.Function(inputs, _core.Tuple(results))


def program(path: str, config: Config, weights: Weights) -> tuple[_core.IRModule, set[str]]:
    """Returns the program with the weights as constants, and the names of those that it uses. `path` is for
    messages."""
    builder = _Builder(path, config, weights)
    main = builder.function()
    return _core.IRModule({"main": main, **builder.functions}), builder.used
