"""Programs of PaddlePaddle 3 in their JSON form (PIR): operators of one dialect, whose values have numbers.

Values become variables with the names %1, %2, ..; operands and attributes get the names of the protobuf form
(`pir_names.py`), so that both forms have the same converters.
"""

from __future__ import annotations

import json
import math

from ...errors import told
from .pir_names import SIGNATURES
from .program import AGAIN, MOST_DEPTH, MOST_OPERATORS, Block, Operation, Program, Variable

MOST_BYTES = 512 << 20
NEWEST = 4  # of the versions of the form that are known
_TYPES = {
    "bool": "bool", "ui8": "uint8", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "f16": "float16",
    "bf16": "bfloat16", "f32": "float32", "f64": "float64",
}  # fmt: skip
_BEYOND = {"INF": math.inf, "-INF": -math.inf, "NAN": math.nan}
# Attributes of any operator that say where it was written or how it is run.
_ASIDE = ("struct_name", "place", "op_callstack", "stop_gradient", "persistable", "op_role", "force_cpu")


def is_program(content: bytes) -> bool:
    return content.lstrip()[:1] == b"{" and b'"base_code"' in content[:4096]


def program_of(name: str, content: bytes) -> Program:
    """Returns the program of a file in the JSON form. name: the file, for messages."""
    if len(content) > MOST_BYTES:
        raise told("limit_exceeded", f"{name} has more than {MOST_BYTES} bytes", "split the model")
    try:
        held = json.loads(content)
    except (ValueError, RecursionError) as error:
        at = getattr(error, "pos", 0)
        raise told("corrupt_file", f"{name} is not JSON at byte {at}: {str(error)[:200]}", AGAIN) from error
    reader = _Reader(name)
    code = reader.entry(held, "base_code", dict)
    if code.get("magic") != "pir":
        raise told("bad_model", f"{name} is not a program of PaddlePaddle: its `magic` is not `pir`", AGAIN)
    version = code.get("version")
    if not isinstance(version, int) or version > NEWEST:
        raise told(
            "unsupported_operator",
            f"{name} has version {version!r} of the form; versions up to {NEWEST} are known",
            "export the model with PaddlePaddle 3.3 or before",
        )
    regions = reader.entry(reader.entry(held, "program", dict), "regions", list)
    main = reader.block(reader.first(reader.entry(reader.first(regions), "blocks", list)), 0)
    results = [name for _, _, name in sorted(reader.results)]
    return Program(main, reader.inputs, results or _unread(main))


def _unread(main: Block) -> list[str]:
    """Returns the first results of operators that no operator reads: those of a program from memory."""
    read = {name for one in main.operations for name in one.reads}
    found = [name for one in main.operations for name in next(iter(one.outputs.values()), [])]
    return [name for name in found if name not in read]


class _Reader:
    def __init__(self, name: str):
        self._name, self._count = name, 0
        self.inputs: list[Variable] = []
        self.results: list[tuple[int, int, str]] = []  # column, position, name
        self._vectors: dict[str, list[str]] = {}  # lists of values, by the name of the value that is a list
        self._other: dict[str, str] = {}  # other names of values

    def bad(self, what: str) -> Exception:
        return told("corrupt_file", f"{self._name} is damaged: {what}", AGAIN)

    def entry(self, held, name: str, kind: type):
        found = held.get(name) if isinstance(held, dict) else None
        if not isinstance(found, kind):
            raise self.bad(f"{self._where()}`{name}` is missing")
        return found

    def first(self, held: list):
        if not held:
            raise self.bad(f"{self._where()}a list is empty")
        return held[0]

    def _where(self) -> str:
        return f"operator {self._count}: " if self._count else ""

    # --- blocks -------------------------------------------------------------------------------------------------------
    def block(self, held, depth: int) -> Block:
        if depth > MOST_DEPTH:
            raise told("limit_exceeded", f"{self._name}: blocks are nested more than {MOST_DEPTH} deep", "flatten it")
        made = Block({}, [])
        arguments = self.entry(held, "args", list) if isinstance(held, dict) and "args" in held else []
        for one in arguments:
            number = one.get("#") if isinstance(one, dict) else None
            if not isinstance(number, int):
                raise self.bad("an argument of a block has no number")
            name = f"%{number}"
            made.arguments.append(name)
            self._declare(made, name, one.get("TT"))
        for one in self.entry(held, "ops", list):
            self._count += 1
            if self._count > MOST_OPERATORS:
                raise told("limit_exceeded", f"{self._name} has more than {MOST_OPERATORS} operators", "split it")
            self._operation(one, made, depth)
        return made

    def _operation(self, held, block: Block, depth: int) -> None:
        kind = self.entry(held, "#", str)
        if kind == "p":
            self._parameter(held, block)
            return
        kind = kind.partition(".")[2] or kind
        reads = [self._operand(one) for one in self.entry(held, "I", list)]
        results = self.entry(held, "O", list) if isinstance(held.get("O"), list) else [held.get("O")]
        if kind == "combine":
            names = [name for one in reads for name in one]
            self._vectors[f"%{self._number(self.first(results))}"] = names
        elif kind in ("split", "slice") and held.get("#", "").startswith("0."):
            self._apart(held, kind, self.first(reads), results, block)
        elif kind == "yield":
            block.results.extend(name for one in reads for name in one)
        elif kind in ("data", "feed"):
            self._input(held, block, self.first(results))
        elif kind == "fetch":
            attributes = self._attributes(held)
            column = attributes.get("col", len(self.results))
            if not reads or not reads[0]:
                raise self.bad(f"{self._where()}a result has no value")
            self.results.append((column if isinstance(column, int) else 0, len(self.results), reads[0][0]))
        else:
            self._call(held, kind, reads, results, block, depth)

    def _parameter(self, held: dict, block: Block) -> None:
        attributes = self.entry(held, "A", list)
        name = attributes[3] if len(attributes) > 3 else None
        if not isinstance(name, str):
            raise self.bad(f"{self._where()}a parameter has no name")
        result = held["O"][0] if isinstance(held.get("O"), list) and held["O"] else held.get("O")
        number = self._number(result)
        dtype, sizes, _ = self._type(result.get("TT"))
        self._other[f"%{number}"] = name
        flags = held.get("OA")  # whether it is in the file of parameters comes first
        is_stored = not (isinstance(flags, list) and flags and flags[0] == 0)
        block.variables[name] = Variable(name, dtype, sizes, is_stored)

    def _input(self, held: dict, block: Block, result) -> None:
        attributes = self._attributes(held)
        name = attributes.get("name")
        if not isinstance(name, str):
            raise self.bad(f"{self._where()}an input has no name")
        self._other[f"%{self._number(result)}"] = name
        dtype, sizes, _ = self._type(result.get("TT"))
        about = Variable(name, dtype, sizes)
        block.variables[name] = about
        self.inputs.append(about)

    def _apart(self, held: dict, kind: str, parts: list[str], results: list, block: Block) -> None:
        """A list of values becomes its values, or one of them."""
        if kind == "slice":
            index = self._attributes(held).get("index", 0)
            if not isinstance(index, int) or not 0 <= index < len(parts):
                raise self.bad(f"{self._where()}value {index} of a list with {len(parts)}")
            parts = [parts[index]]
        if len(parts) != len(results):
            raise self.bad(f"{self._where()}a list of {len(parts)} values becomes {len(results)}")
        for name, result in zip(parts, results, strict=True):
            self._other[f"%{self._number(result)}"] = name

    def _call(self, held: dict, kind: str, reads: list, results: list, block: Block, depth: int) -> None:
        names = [self._result(one, block) for one in results]
        signature = SIGNATURES.get(kind) or SIGNATURES.get(kind.removesuffix("_"))
        attributes = self._attributes(held)
        blocks = []
        for region in held.get("regions", []):
            blocks += [self.block(one, depth + 1) for one in self.entry(region, "blocks", list)]
        first = next((name for one in names for name in one), f"#{self._count}")
        if signature is None:  # reported by the importer
            inputs = {f"input{place}": one for place, one in enumerate(reads)}
            outputs = {f"output{place}": one for place, one in enumerate(names)}
            block.operations.append(Operation(kind, f"{kind} '{first}'", inputs, outputs, attributes, blocks))
            return
        attributes = {signature.renamed.get(name, name): one for name, one in attributes.items()} | signature.constant
        inputs = dict(zip(signature.inputs, reads, strict=False))
        outputs = dict(zip(signature.outputs, names, strict=False))
        if signature.inputs and signature.inputs[-1].endswith("*"):  # all further operands
            last = signature.inputs[-1]
            inputs.pop(last, None)
            inputs[last[:-1]] = [name for one in reads[len(signature.inputs) - 1 :] for name in one]
        if signature.outputs and signature.outputs[-1].endswith("*"):
            last = signature.outputs[-1]
            outputs.pop(last, None)
            outputs[last[:-1]] = [name for one in names[len(signature.outputs) - 1 :] for name in one]
        place = f"{kind} '{first}'"
        block.operations.append(Operation(signature.kind, place, inputs, outputs, attributes, blocks))

    # --- values -------------------------------------------------------------------------------------------------------
    def _number(self, held) -> int:
        number = held.get("%") if isinstance(held, dict) else None
        if not isinstance(number, int):
            raise self.bad(f"{self._where()}a value has no number")
        return number

    def _operand(self, held) -> list[str]:
        """Returns the names of an operand: empty if it is left out, several for a list."""
        number = self._number(held)
        if number == 0:
            return []
        name = self._other.get(f"%{number}", f"%{number}")
        return self._vectors.get(name, [name])

    def _result(self, held, block: Block) -> list[str]:
        """Returns the names of a result: several for a list."""
        if held is None or not isinstance(held, dict):
            raise self.bad(f"{self._where()}a result is missing")
        name = f"%{self._number(held)}"
        about = held.get("TT")
        if isinstance(about, dict) and about.get("#") == "0.t_vec":
            parts = self.entry(about, "D", list)
            names = [f"{name}.{place}" for place in range(len(parts))]
            self._vectors[name] = names
            for one, inner in zip(names, parts, strict=True):
                self._declare(block, one, inner)
            return names or [name]
        self._declare(block, name, about)
        return [name]

    def _declare(self, block: Block, name: str, about) -> None:
        dtype, sizes, is_list = self._type(about)
        block.variables[name] = Variable(name, dtype, sizes, False, is_list)

    def _type(self, about) -> tuple[str, list[int | None] | None, bool]:
        kind = str(about.get("#", "")) if isinstance(about, dict) else ""
        described = about.get("D") if isinstance(about, dict) else None
        if not isinstance(described, list) or len(described) < 2 or not isinstance(described[0], dict):
            return "float32", None, "array" in kind
        name = str(described[0].get("#", "")).removeprefix("0.t_")
        sizes = described[1]
        if not isinstance(sizes, list) or not all(isinstance(one, int) for one in sizes) or len(sizes) > 32:
            raise self.bad(f"{self._where()}a type has the shape {str(sizes)[:60]}")
        return _TYPES.get(name, name), [None if one < 0 else one for one in sizes], "array" in kind

    # --- attributes ---------------------------------------------------------------------------------------------------
    def _attributes(self, held: dict) -> dict[str, object]:
        made, listed = {}, held.get("A", [])
        if not isinstance(listed, list):
            raise self.bad(f"{self._where()}its attributes are not a list")
        for one in listed:
            name = one.get("N") if isinstance(one, dict) else None
            if not isinstance(name, str):
                raise self.bad(f"{self._where()}an attribute has no name")
            if name not in _ASIDE:
                made[name] = self._attribute(one.get("AT"), 0)
        return made

    def _attribute(self, held, depth: int) -> object:
        if not isinstance(held, dict) or depth > 8:
            return held
        found = held.get("D")
        if "VD" in held:  # a number that JSON has not
            return _BEYOND.get(str(held["VD"]).upper(), held["VD"])
        if isinstance(found, list):
            return [self._attribute(one, depth + 1) for one in found]
        if isinstance(found, str) and str(held.get("#", "")).endswith("a_dtype"):
            return "" if found.startswith("Undefined") else found
        return found
