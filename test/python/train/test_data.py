"""The order of samples, positions, and sources of batches."""

import numpy as np
import pytest
import relay.train as train
from relay.train.data import permuted

import relay


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 16, 17, 255, 1000, 4097])
def test_each_epoch_is_a_permutation(count):
    for epoch in range(3):
        assert np.array_equal(np.sort(permuted(np.arange(count), count, 9, epoch)), np.arange(count))


def test_epochs_and_seeds_differ_and_repeat():
    orders = [tuple(permuted(np.arange(50), 50, seed, epoch)) for seed in (0, 1, 2**40) for epoch in range(4)]
    assert len(set(orders)) == len(orders)
    assert orders[5] == tuple(permuted(np.arange(50), 50, 1, 1))


@pytest.mark.slow
def test_every_sample_is_as_likely_at_every_place():
    """The chi-square statistic of 10 x 10 counts over 4,000 epochs: 81 degrees of freedom, below the 99.99 %
    quantile, 135."""
    counts = np.zeros((10, 10))
    for epoch in range(4000):
        counts[np.arange(10), permuted(np.arange(10), 10, 3, epoch)] += 1
    assert ((counts - 400) ** 2 / 400).sum() < 135


def arrays():
    return np.arange(60, dtype="float32").reshape(20, 3), np.arange(20)


@pytest.mark.parametrize("prefetch", [True, False])
def test_an_epoch_has_every_sample_once(prefetch):
    x, y = arrays()
    data = train.Batches({"x": x, "y": y}, 6, seed=4, prefetch=prefetch)
    assert len(data) == 4
    first = list(data)
    assert [len(batch["y"]) for batch in first] == [6, 6, 6, 2]
    assert sorted(np.concatenate([batch["y"] for batch in first])) == list(range(20))
    assert all(np.array_equal(batch["x"], x[batch["y"]]) for batch in first)
    second = list(data)
    assert data.epoch == 2 and not np.array_equal(first[0]["y"], second[0]["y"])
    whole = train.Batches((x, y), 6, seed=4, drop_last=True)
    assert len(whole) == 3 and len(list(whole)) == 3


def test_any_place_can_be_resumed_twice():
    x, y = arrays()
    undisturbed = [tuple(batch) for data in [train.Batches(y, 3, seed=1)] for _ in range(3) for batch in data]
    data, seen = train.Batches(y, 3, seed=1), []
    for limit in (2, 3, 4, 100):  # the first two within one epoch
        state, data = data.state(), train.Batches(y, 3, seed=1)
        data.restore(state)
        while data.epoch < 3 and limit:
            for batch in data:
                seen.append(tuple(batch))
                limit -= 1
                if not limit:
                    break
    assert seen == undisturbed


class Pairs:
    """Samples by index, as a torch Dataset has them."""

    def __len__(self):
        return 20

    def __getitem__(self, index):
        x, y = arrays()
        return {"x": x[index], "y": int(y[index])}


def test_sources(tmp_path):
    torch = pytest.importorskip("torch")
    x, y = arrays()
    np.save(tmp_path / "x.npy", x)
    wanted = list(train.Batches((x, y), 7, seed=3))
    sources = [(tmp_path / "x.npy", y), (np.load(tmp_path / "x.npy", mmap_mode="r"), torch.from_numpy(y))]
    for source in sources:
        for got, want in zip(train.Batches(source, 7, seed=3), wanted, strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(got, want, strict=True))
    for got, want in zip(train.Batches(Pairs(), 7, seed=3), wanted, strict=True):
        assert np.array_equal(got["x"], want[0]) and np.array_equal(got["y"], want[1])
    dataset = torch.utils.data.TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
    for got, want in zip(train.Batches(dataset, 7, seed=3), wanted, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(got, want, strict=True))
    loader = train.Stream(torch.utils.data.DataLoader(dataset, batch_size=5))
    assert [tuple(batch[1].tolist()) for batch in loader][1] == (5, 6, 7, 8, 9)
    loader.restore({"epoch": 1, "taken": 3})
    assert [tuple(batch[1].tolist()) for batch in loader] == [(15, 16, 17, 18, 19)]


def test_wrong_data():
    x, y = arrays()
    with pytest.raises(relay.InputError, match="`0` has 20 samples and `1` has 19"):
        train.Batches((x, y[1:]), 4)
    with pytest.raises(relay.InputError, match="there are 20 samples, and a batch has 30"):
        train.Batches((x, y), 30, drop_last=True)
    with pytest.raises(relay.InputError, match="a batch of 0 samples"):
        train.Batches(x, 0)
    with pytest.raises(relay.InputError, match="nowhere.npy cannot be read"):
        train.Batches("nowhere.npy", 4)
    with pytest.raises(relay.InputError, match="the checkpoint is of data with seed = 1, and these have seed = 2"):
        train.Batches(x, 4, seed=2).restore(train.Batches(x, 4, seed=1).state())
