"""Python functions as programs: `@relay.script` (docs/modules-and-scripts.md)."""

from .datatypes import DataType, data_type
from .function import Script, script
from .loops import unroll
from .problems import CODES, Problem, ScriptError

__all__ = ["CODES", "DataType", "Problem", "Script", "ScriptError", "data_type", "script", "unroll"]
