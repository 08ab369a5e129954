"""Short rows, and rows whose index is a quotient: vectors span several rows and read whole vectors, never single
elements. Values are tested on this machine as it is and with features masked off."""

import numpy as np
import pytest
from programs import cli
from targets import MASKED

import relay

HEADER = '#[version = "0.0.5"]\n'


def numbers(*shape):
    return np.random.default_rng(len(shape)).random(shape, np.float32) - np.float32(0.5)


def dilated(x):
    out = np.zeros((x.shape[0], 3 * x.shape[1] - 2), x.dtype)
    out[:, ::3] = x
    return out


def with_diagonal(x, diagonal):
    out = x.copy()
    out[:, range(4), range(4)] = diagonal
    return out


def rotated(x, cos, sin):
    first, second = x[..., :4], x[..., 4:]
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], -1)


CASES = {
    "reverse": ("reverse(%a)", [(171, 3)], lambda a: a[::-1]),
    "flip": ("reverse(%a, axis=1)", [(171, 5)], lambda a: a[:, ::-1]),
    "channels": ("nn.prelu(%a, %b)", [(5, 33, 3), (33,)], lambda a, b: np.where(a > 0, a, a * b[:, None])),
    "diagonal": ("matrix_set_diag(%a, %b)", [(41, 4, 5), (41, 4)], with_diagonal),
    "dilate": ("nn.dilate(%a, strides=[1, 3])", [(3, 61)], dilated),
    "rotary": ("nn.rotary_embedding(%a, %b, %c)", [(2, 3, 29, 8), (29, 4), (29, 4)], rotated),
    "blocks": (
        "nn.space_to_depth(%a, block_size=2)",
        [(9, 3, 4, 6)],
        lambda a: a.reshape(9, 3, 2, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4).reshape(9, 12, 2, 3),
    ),
    "columns": ("transpose(%a)", [(3, 77)], np.transpose),
}


def program(name):
    body, shapes, _ = CASES[name]
    parameters = ", ".join(f"%{x}: Tensor[{tuple(s)}, float32]" for x, s in zip("abc", shapes, strict=False))
    return f"{HEADER}def @main({parameters}) {{ {body} }}\n".replace(",)", ")")


@pytest.mark.parametrize("target", MASKED)
@pytest.mark.parametrize("name", CASES)
def test_values(name, target):
    _, shapes, expected = CASES[name]
    inputs = [numbers(*s) for s in shapes]
    got = relay.compile(relay.parse(program(name)), target=target)(*inputs)
    if name == "rotary":  # sums, which may be multiply-adds
        np.testing.assert_allclose(got, expected(*inputs), atol=1e-6)
    else:
        np.testing.assert_array_equal(got, expected(*inputs))


def test_no_rows():
    got = relay.compile(relay.parse(f"{HEADER}def @main(%a: Tensor[(0, 3), float32]) {{ reverse(%a, axis=1) }}\n"))
    assert got(numbers(0, 3)).shape == (0, 3)


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_gathered(name, tmp_path):
    (tmp_path / "p.relay").write_text(program(name))
    code = cli("opt", tmp_path / "p.relay", "--target", "zen4", "--threads", 1, "--emit", "llvm").stdout
    assert "<16 x float>" in code
    assert "gather" not in code
