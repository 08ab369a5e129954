"""tvm.ir.diagnostics and tvm.ir.supply: error messages, and unique names."""

from __future__ import annotations

import functools
import json
import types as _types

import relay as _relay
from relay import CompileError, Expr, GlobalVar, IRModule, Type

# --- diagnostics ------------------------------------------------------------------------------------------------------
_renderer = None


class DiagnosticLevel:
    """The severity of a diagnostic."""

    BUG, ERROR, WARNING, NOTE, HELP = 10, 20, 30, 40, 50


class Diagnostic:
    """A message with its place."""

    def __init__(self, level: int, span, message: str):
        self.level, self.span, self.message = level, span, message


class DiagnosticContext:
    """The messages of one error."""

    def __init__(self, module: IRModule | None = None, renderer=None):
        self.module, self.renderer, self.diagnostics = module, renderer, []

    def emit(self, diagnostic: Diagnostic) -> None:
        """Adds a message."""
        self.diagnostics.append(diagnostic)

    def render(self) -> None:
        """Passes the messages to the renderer. Errors raise a CompileError."""
        renderer = self.renderer or _renderer
        if renderer is not None:
            renderer(self)
        errors = [d.message for d in self.diagnostics if d.level in (DiagnosticLevel.BUG, DiagnosticLevel.ERROR)]
        if errors:
            raise CompileError("error: " + "\n".join(errors))


def override_renderer(render_func) -> None:
    """Sets a function of a DiagnosticContext that is called when a program is refused, or None."""
    global _renderer
    _renderer = render_func


def get_renderer():
    """Returns the function that was passed to override_renderer()."""
    return _renderer


def reported(function):
    """Wraps a function so that the renderer gets its errors."""

    @functools.wraps(function)
    def call(*args, **named):
        try:
            return function(*args, **named)
        except CompileError as error:
            if _renderer is not None:
                context = DiagnosticContext()
                for one in error.diagnostics:
                    context.emit(Diagnostic(DiagnosticLevel.ERROR, None, one.message))
                _renderer(context)
            raise

    return call


diagnostics = _types.SimpleNamespace(
    Diagnostic=Diagnostic,
    DiagnosticContext=DiagnosticContext,
    DiagnosticLevel=DiagnosticLevel,
    DiagnosticRenderer=lambda render_func: render_func,
    get_renderer=get_renderer,
    override_renderer=override_renderer,
)


# --- names ------------------------------------------------------------------------------------------------------------
class NameSupply:
    """Supplies unused names: NameSupply("pre").fresh_name("x") is "pre_x", then "pre_x_1"."""

    def __init__(self, prefix: str = ""):
        self._prefix, self._taken = prefix, set()

    def _full(self, name: str, add_prefix: bool) -> str:
        return f"{self._prefix}_{name}" if add_prefix and self._prefix else name

    def fresh_name(self, name: str, add_prefix: bool = True, add_underscore: bool = True) -> str:
        """Returns the name, or the name with a number."""
        full, number = self._full(name, add_prefix), 0
        out = full
        while out in self._taken:
            number += 1
            out = f"{full}{'_' if add_underscore else ''}{number}"
        self._taken.add(out)
        return out

    def reserve_name(self, name: str, add_prefix: bool = True) -> str:
        """Reserves and returns the name."""
        full = self._full(name, add_prefix)
        self._taken.add(full)
        return full

    def contains_name(self, name: str, add_prefix: bool = True) -> bool:
        """Returns true if the name is used."""
        return self._full(name, add_prefix) in self._taken


class GlobalVarSupply:
    """Global variables with new names, which do not occur in a module, a list of modules, or a NameSupply."""

    def __init__(self, value=None):
        self._names = value if isinstance(value, NameSupply) else NameSupply("")
        self._known: dict[str, GlobalVar] = {}
        modules = [value] if isinstance(value, IRModule) else value if isinstance(value, (list, tuple)) else []
        for module in modules:
            for var in module.get_global_vars():
                self.reserve_global(var)

    def fresh_global(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """Returns a variable with a new name."""
        var = GlobalVar(self._names.fresh_name(name, add_prefix))
        self._known[var.name_hint] = var
        return var

    def unique_global_for(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """Returns the variable of this name, which is always the same object."""
        full = self._names.reserve_name(name, add_prefix)
        return self._known.setdefault(full, GlobalVar(full))

    def reserve_global(self, global_var: GlobalVar, allow_conflict: bool = False) -> None:
        """Reserves the name of a variable."""
        if global_var.name_hint in self._known and not allow_conflict:
            raise ValueError(f"@{global_var.name_hint} exists already")
        self._known[global_var.name_hint] = global_var
        self._names.reserve_name(global_var.name_hint, False)


supply = _types.SimpleNamespace(NameSupply=NameSupply, GlobalVarSupply=GlobalVarSupply)


# --- attributes and texts ---------------------------------------------------------------------------------------------
class NodeAttrs:
    """Attributes that belong to no operator: make_node("attrs.TestAttrs", name="a", padding=(3, 4))."""

    def __init__(self, type_key: str, fields: dict):
        self.type_key = type_key
        self._fields = {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}

    def __getattr__(self, name: str):
        if name.startswith("_") or name not in self._fields:
            raise AttributeError(f"{self.__dict__.get('type_key')} has no attribute {name}")
        return self._fields[name]

    def __getitem__(self, name: str):
        return self._fields[name]

    def keys(self) -> list[str]:
        """Returns the names."""
        return list(self._fields)

    def get_int(self, name: str) -> int:
        """Returns a number."""
        return int(self._fields[name])

    def get_str(self, name: str) -> str:
        """Returns a string."""
        return str(self._fields[name])

    def get_int_tuple(self, name: str) -> tuple:
        """Returns a list of numbers."""
        return tuple(self._fields[name])

    def __eq__(self, other) -> bool:
        same = isinstance(other, NodeAttrs) and self.type_key == other.type_key
        return same and self._fields == other._fields

    def __hash__(self) -> int:
        return hash((self.type_key, tuple(sorted(self._fields))))

    def __repr__(self) -> str:
        return f"{self.type_key}({', '.join(f'{name}={value!r}' for name, value in self._fields.items())})"


def to_text(node) -> str:
    """Returns the text of a node in JSON, the format of save_json()."""
    if isinstance(node, IRModule):
        return json.dumps({"kind": "module", "text": node.astext()})
    if isinstance(node, _relay.GlobalVar):
        return json.dumps({"kind": "global", "text": node.name_hint})
    if isinstance(node, _relay.Op):
        return json.dumps({"kind": "operator", "text": node.name})
    if isinstance(node, Expr):
        return json.dumps({"kind": "expr", "text": node.astext()})
    if isinstance(node, _relay.GlobalTypeVar):
        return json.dumps({"kind": "type name", "text": node.name_hint})
    if isinstance(node, Type):
        return json.dumps({"kind": "type", "text": str(node), "variables": _free(node)})
    if isinstance(node, dict):
        return json.dumps({"kind": "map", "fields": {key: to_text(value) for key, value in node.items()}})
    if isinstance(node, (list, tuple)):
        return json.dumps({"kind": "list", "fields": [to_text(value) for value in node]})
    if isinstance(node, (str, int, float, bool)) or node is None:
        return json.dumps({"kind": "value", "value": node})
    raise NotImplementedError(f"{type(node).__name__} has no text; modules, expressions and types have one")


def _free(type_) -> list[str]:
    return [var.name_hint for var in _relay.analysis.free_type_vars(type_)]


def _type_of(entry: dict):
    """Reads a type. Its unbound variables are parameters of a function around it meanwhile."""
    variables = entry["variables"]
    if not variables:
        return _relay.parse_type(entry["text"])
    around = _relay.parse_expr(f"fn [{', '.join(variables)}](%x: {entry['text']}) {{ () }}")
    return around.params[0].type_annotation


def from_text(text: str):
    """Reads the output of to_text(), or the plain text of a program."""
    try:
        entry = json.loads(text)
    except ValueError:
        return _relay.fromtext(text)
    if not isinstance(entry, dict) or "kind" not in entry:
        raise CompileError("error: this is TVM's JSON, which Relay cannot read: pass the text of astext()")
    kind = entry["kind"]
    if kind == "map":
        return {key: from_text(value) for key, value in entry["fields"].items()}
    if kind == "list":
        return [from_text(value) for value in entry["fields"]]
    if kind == "value":
        return entry["value"]
    if kind == "type":
        return _type_of(entry)
    read = {
        "module": _relay.parse,
        "expr": _relay.parse_expr,
        "global": GlobalVar,
        "operator": _relay.op.get,
        "type name": _relay.GlobalTypeVar,
    }
    return read[kind](entry["text"])
