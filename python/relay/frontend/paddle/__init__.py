"""The importer of PaddlePaddle: programs in the protobuf form (.pdmodel, __model__), which `program.py` reads, and in
the JSON form of Paddle 3, which `pir.py` reads; parameters, which `params.py` reads. `graph.py` calls a converter for
each operator: `table.py` is the list of them."""

from __future__ import annotations

from .load import from_paddle, import_file

__all__ = ["from_paddle", "import_file"]
