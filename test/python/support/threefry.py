"""Oracles of the random operators, with Python's integers."""

import math

import numpy as np
import torch

WORD = 2**64 - 1
ROTATIONS = [(14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32)]


def block(key, counter):
    """Four words: Threefry with 20 rounds, where a key is added before each four rounds."""
    key = [*key, 0x1BD11BDAA9FC1A22 ^ key[0] ^ key[1] ^ key[2] ^ key[3]]
    x = list(counter)
    for turn in range(5):
        x = [(x[k] + key[(turn + k) % 5] + (turn if k == 3 else 0)) & WORD for k in range(4)]
        for a, b in ROTATIONS[4 * (turn % 2) : 4 * (turn % 2) + 4]:
            sums = (x[0] + x[1]) & WORD, (x[2] + x[3]) & WORD
            turned = [((x[k] << r) | (x[k] >> (64 - r))) & WORD for k, r in ((1, a), (3, b))]
            x = [sums[0], turned[1] ^ sums[1], sums[1], turned[0] ^ sums[0]]
    return x


def moved(high, low):
    """The bit of a path one place to the right."""
    if high == 1:
        return 0, 1 << 63
    return (0, low >> 1) if high == 0 else (high >> 1, 0)


def words(key, n):
    """(state, n words)"""
    state = [int(word) for word in key]
    if not state[7] < WORD - n:
        if state[8] == state[9] == 0:
            state = [*block(state[:4], [WORD] * 4), 0, 0, 0, 0, 1 << 63, 0]
        else:
            step = moved(state[8], state[9])
            state = [*state[:4], state[4] | state[8], state[5] | state[9], 0, 0, *step]
    drawn = []
    for i in range(n // 4):
        drawn += block(state[:4], [(word + i) & WORD for word in state[4:8]])
    if n % 4:
        drawn += block(state[:4], [*state[4:7], (state[7] + n // 4 * 4) & WORD])[: n % 4]
    return [*state[:6], 0, (state[7] + -(-n // 4) * 4) & WORD, *state[8:]], drawn


def generate(key, shape):
    state, drawn = words(key, math.prod(shape))
    return np.array(state, "uint64"), np.array(drawn, "uint64").reshape(shape)


def split(key):
    state = [int(word) for word in key]
    if state[8] == state[9] == 0:
        fresh = block(state[:4], state[4:8])
        sides = [[*fresh, top, 0, 0, 0, 1 << 62, 0] for top in (0, 1 << 63)]
    else:
        step = moved(state[8], state[9])
        sides = [[*state[:8], *step], [*state[:4], state[4] | state[8], state[5] | state[9], *state[6:8], *step]]
    return [np.array(side, "uint64") for side in sides]


def units(key, n, dtype):
    state, drawn = words(key, n)
    if dtype == "float64":
        return np.array(state, "uint64"), np.array([(word >> 12) / 2**52 for word in drawn])
    return np.array(state, "uint64"), np.array([((word & 0xFFFFFFFF) >> 9) / 2**23 for word in drawn])


def uniform(key, low, high, shape, dtype):
    state, u = units(key, math.prod(shape), dtype)
    return state, u.reshape(shape) * float(high - low) + float(low)


def normal(key, mean, scale, shape, dtype):
    state, u = units(key, 2 * math.prod(shape), dtype)
    u, v = u.reshape(2, *shape)
    return state, np.sqrt(-2 * np.log(1 - u)) * np.sin(2 * math.pi * v) * float(scale) + float(mean)


def multinomial(key, probs, samples):
    probs = probs.clamp(min=0)
    running = (probs / probs.sum(-1, keepdim=True)).cumsum(-1)
    shape = [*probs.shape[:-1], samples]
    state, u = units(key, math.prod(shape), "float32")
    above = torch.as_tensor(u.reshape(shape)).unsqueeze(-1) < running.unsqueeze(-2)
    return state, above.int().argmax(-1)
