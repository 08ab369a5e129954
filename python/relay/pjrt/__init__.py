"""Programs on PJRT plugins, the devices of XLA.

    model = relay.pjrt.compile("model.onnx", "/path/to/pjrt_plugin.so")
    y = model(x)

A program goes to the plugin as StableHLO (relay.to_stablehlo). `interface.py` declares the part of PJRT's C interface
that is called, `plugin.py` loads plugins and calls them, and `program.py` compiles and runs programs.
"""

from __future__ import annotations

from .plugin import Plugin, load
from .program import Program, compile

__all__ = ["Plugin", "Program", "compile", "load"]
