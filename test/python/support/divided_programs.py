"""Random programs with random shardings on random meshes."""

import random

import numpy as np
import relay.distribute as distribute

import relay

MESHES = [{"a": 2}, {"a": 4}, {"a": 3}, {"a": 2, "b": 2}, {"a": 2, "b": 3}]


def reference(module, inputs):
    results = relay.evaluate(module, inputs)
    return list(results) if isinstance(results, (tuple, list)) else [results]


class Programs:
    """Makes programs whose values are small integers in float64, so that any order of sums gives the same bits."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.sizes = [1, 4, 6, 12]
        self.values = []

    def shape(self):
        return tuple(self.random.choice(self.sizes) for _ in range(self.random.randint(1, 3)))

    def pick(self, rank=None, shape=None):
        fitting = [v for v in self.values if rank in (None, len(v[1])) and shape in (None, v[1])]
        return self.random.choice(fitting) if fitting else None

    def unary(self):
        x, shape = self.pick()
        name = self.random.choice(["nn.relu", "negative", "abs", "sign"])
        return relay.op.make.named_op(name)(x), shape

    def binary(self):
        x, shape = self.pick()
        other = self.pick(shape=shape)
        if other is None or self.random.random() < 0.3:  # broadcast
            d = self.random.randrange(len(shape))
            other = self.pick(shape=shape[d:]) or other
        if other is None:
            return None
        name = self.random.choice(["add", "subtract", "maximum", "minimum"])
        return relay.op.make.named_op(name)(x, other[0]), shape

    def product(self):
        found = self.pick()
        x, shape = found
        return relay.sign(x) * (self.pick(shape=shape) or found)[0], shape

    def reduction(self):
        x, shape = self.pick()
        d, keep = self.random.randrange(len(shape)), self.random.random() < 0.5
        name = self.random.choice(["sum", "max", "min", "mean"])
        x = relay.op.make.named_op(name)(x, axis=[d], keepdims=keep)
        if name == "mean":
            x = relay.floor(x)
        new = tuple(s for i, s in enumerate(shape) if i != d or keep) if not keep else tuple(
            1 if i == d else s for i, s in enumerate(shape)
        )  # fmt: skip
        return (x, new) if new else None

    def transpose(self):
        x, shape = self.pick()
        axes = list(range(len(shape)))
        self.random.shuffle(axes)
        return relay.transpose(x, axes=axes), tuple(shape[a] for a in axes)

    def reshape(self):
        x, shape = self.pick()
        if len(shape) > 1 and self.random.random() < 0.5:
            d = self.random.randrange(len(shape) - 1)
            new = shape[:d] + (shape[d] * shape[d + 1],) + shape[d + 2 :]
        else:
            d = self.random.randrange(len(shape))
            factor = self.random.choice([f for f in (1, 2, 3, 4) if shape[d] % f == 0])
            new = shape[:d] + (factor, shape[d] // factor) + shape[d + 1 :]
        return (relay.reshape(x, newshape=new), new) if len(new) <= 4 else None

    def dense(self):
        x, w = self.pick(rank=2), self.pick(rank=2)
        if not x or not w or x[1][1] != w[1][1]:
            return None
        return relay.nn.dense(relay.sign(x[0]), relay.sign(w[0])), (x[1][0], w[1][0])

    def concatenate(self):
        x, shape = self.pick()
        other, _ = self.pick(shape=shape)
        d = self.random.randrange(len(shape))
        return relay.concatenate(relay.Tuple([x, other]), axis=d), tuple(
            2 * s if i == d else s for i, s in enumerate(shape)
        )

    def split(self):
        x, shape = self.pick()
        d = self.random.randrange(len(shape))
        if shape[d] % 2:
            return None
        parts = relay.split(x, indices_or_sections=2, axis=d)
        return parts[self.random.randrange(2)], tuple(s // 2 if i == d else s for i, s in enumerate(shape))

    def slices(self):
        x, shape = self.pick()
        d = self.random.randrange(len(shape))
        if shape[d] < 3:
            return None
        return relay.strided_slice(x, begin=[1], end=[shape[d]], axes=[d]), tuple(
            s - 1 if i == d else s for i, s in enumerate(shape)
        )

    def cumulative(self):
        x, shape = self.pick()
        return relay.cumsum(relay.sign(x), axis=self.random.randrange(len(shape))), shape

    def take(self):
        x, shape = self.pick()
        d = self.random.randrange(len(shape))
        indices = np.array([self.random.randrange(shape[d]) for _ in range(4)], "int64")
        return relay.take(x, relay.const(indices), axis=d), shape[:d] + (4,) + shape[d + 1 :]

    def made(self):
        """Returns a module, its inputs, the mesh and the shardings."""
        makers = [self.unary, self.binary, self.binary, self.product, self.reduction, self.transpose, self.reshape,
                  self.dense, self.dense, self.concatenate, self.split, self.slices, self.cumulative,
                  self.take]  # fmt: skip
        params, inputs, shapes = [], [], []
        for i in range(self.random.randint(1, 3)):
            shape = self.shape()
            params.append(relay.var(f"x{i}", shape=shape, dtype="float64"))
            inputs.append(
                np.random.default_rng(self.random.randrange(1 << 30)).integers(-3, 4, shape).astype("float64")
            )
            shapes.append(shape)
        self.values = list(zip(params, shapes, strict=True))
        count = self.random.randint(2, 8)
        while count:
            made = self.random.choice(makers)()
            if made is not None and np.prod(made[1]) <= 4000:
                self.values.append(made)
                count -= 1
        results = [self.values[-1], self.random.choice(self.values[len(params) :])]
        module = relay.IRModule.from_expr(relay.Function(params, relay.Tuple([one for one, _ in results])))
        mesh = distribute.Mesh(**self.random.choice(MESHES))
        shardings = {f"x{i}": self.sharding(mesh, shape) for i, shape in enumerate(shapes)}
        shardings |= {f"={i}": self.sharding(mesh, shape) for i, (_, shape) in enumerate(results)}
        return module, inputs, mesh, shardings

    def sharding(self, mesh, shape):
        dims, left = [()] * len(shape), list(shape)
        for axis, size in mesh.sizes:
            fitting = [d for d, extent in enumerate(left) if extent % size == 0]
            if fitting and self.random.random() < 0.8:
                d = self.random.choice(fitting)
                dims[d] += (axis,)
                left[d] //= size
        return distribute.Sharding(tuple(dims))


def check(seed):
    """Compares a random program with its division. Returns the division."""
    module, inputs, mesh, shardings = Programs(seed).made()
    expected = reference(module, inputs)
    divided = distribute.partition(distribute.annotate(module, mesh, shardings))
    for one, other in zip(distribute.simulate(divided, inputs), expected, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=f"seed {seed}\n{divided.report()}\n{module.astext()}")
    return divided
