"""Results that are sequences or maps in the model: lists and dictionaries of Python."""

from __future__ import annotations

import numpy as np

from ..data.values import as_list


class Maps(list):
    """A list of dictionaries; numpy.asarray() of it has their values as rows."""

    def __init__(self, rows, keys: list):
        super().__init__(dict(zip(keys, row, strict=True)) for row in np.asarray(rows).tolist())
        self._rows = rows

    def __array__(self, dtype=None, copy=None):
        rows = np.asarray(self._rows)
        return rows if dtype is None else rows.astype(dtype)


_DYNAMIC, _NO_SEQUENCE = -1, -2


class Containers:
    """The outputs of a model that are sequences or lists of maps."""

    def __init__(self, names, counts, maps, keys, with_words, words):
        self._counts = list(zip(names, counts, strict=True))
        self._keys = {
            name: [words[key] for key in of_this] if name in with_words else list(of_this)
            for name, of_this in zip(maps, keys, strict=True)
        }

    def __bool__(self) -> bool:
        return bool(self._counts or self._keys)

    def restored(self, results, names: list[str]):
        """The results, one or a tuple, with sequences as lists and maps as dictionaries. `names`: of the results."""
        if len(self._counts) == 1:
            ((_, count),) = self._counts
            return as_list(results) if count == _DYNAMIC else list(results)
        given = results if isinstance(results, tuple) else (results,)
        made = []
        for value, (name, count) in zip(given, self._counts or ((name, _NO_SEQUENCE) for name in names), strict=True):
            if count != _NO_SEQUENCE:
                value = as_list(value) if count == _DYNAMIC else list(value)
            made.append(Maps(value, self._keys[name]) if name in self._keys else value)
        return made[0] if len(made) == 1 else tuple(made)
