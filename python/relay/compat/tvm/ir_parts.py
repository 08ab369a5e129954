"""tvm.ir.diagnostics, tvm.ir.supply: messages of errors, names that are new."""

from __future__ import annotations

import functools
import types as _types

from relay import CompileError, GlobalVar, IRModule

# --- diagnostics ------------------------------------------------------------------------------------------------------
_renderer = None


class DiagnosticLevel:
    """How grave a diagnostic is."""

    BUG, ERROR, WARNING, NOTE, HELP = 10, 20, 30, 40, 50


class Diagnostic:
    """One message, with its place."""

    def __init__(self, level: int, span, message: str):
        self.level, self.span, self.message = level, span, message


class DiagnosticContext:
    """The messages of one error."""

    def __init__(self, module: IRModule | None = None, renderer=None):
        self.module, self.renderer, self.diagnostics = module, renderer, []

    def emit(self, diagnostic: Diagnostic) -> None:
        """Adds one."""
        self.diagnostics.append(diagnostic)

    def render(self) -> None:
        """Hands them to the renderer; those of errors end in a CompileError."""
        renderer = self.renderer or _renderer
        if renderer is not None:
            renderer(self)
        errors = [d.message for d in self.diagnostics if d.level in (DiagnosticLevel.BUG, DiagnosticLevel.ERROR)]
        if errors:
            raise CompileError("error: " + "\n".join(errors))


def override_renderer(render_func) -> None:
    """A function of a DiagnosticContext that is called when a program is refused; None: nobody."""
    global _renderer
    _renderer = render_func


def get_renderer():
    """What override_renderer() was given."""
    return _renderer


def reported(function):
    """The function; what it refuses is shown to the renderer."""

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
    """Names that nobody has yet: NameSupply("pre").fresh_name("x") is "pre_x", then "pre_x_1"."""

    def __init__(self, prefix: str = ""):
        self._prefix, self._taken = prefix, set()

    def _full(self, name: str, add_prefix: bool) -> str:
        return f"{self._prefix}_{name}" if add_prefix and self._prefix else name

    def fresh_name(self, name: str, add_prefix: bool = True, add_underscore: bool = True) -> str:
        """The name, or with a number behind."""
        full, number = self._full(name, add_prefix), 0
        out = full
        while out in self._taken:
            number += 1
            out = f"{full}{'_' if add_underscore else ''}{number}"
        self._taken.add(out)
        return out

    def reserve_name(self, name: str, add_prefix: bool = True) -> str:
        """The name, which nobody gets any more."""
        full = self._full(name, add_prefix)
        self._taken.add(full)
        return full

    def contains_name(self, name: str, add_prefix: bool = True) -> bool:
        """Whether somebody has it."""
        return self._full(name, add_prefix) in self._taken


class GlobalVarSupply:
    """Global variables with new names, beside those of a module, a list of modules, or a NameSupply."""

    def __init__(self, value=None):
        self._names = value if isinstance(value, NameSupply) else NameSupply("")
        self._known: dict[str, GlobalVar] = {}
        modules = [value] if isinstance(value, IRModule) else value if isinstance(value, (list, tuple)) else []
        for module in modules:
            for var in module.get_global_vars():
                self.reserve_global(var)

    def fresh_global(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """A variable with a new name."""
        var = GlobalVar(self._names.fresh_name(name, add_prefix))
        self._known[var.name_hint] = var
        return var

    def unique_global_for(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """The variable of this name: the same every time."""
        full = self._names.reserve_name(name, add_prefix)
        return self._known.setdefault(full, GlobalVar(full))

    def reserve_global(self, global_var: GlobalVar, allow_conflict: bool = False) -> None:
        """A variable whose name is taken."""
        if global_var.name_hint in self._known and not allow_conflict:
            raise ValueError(f"@{global_var.name_hint} is there already")
        self._known[global_var.name_hint] = global_var
        self._names.reserve_name(global_var.name_hint, False)


supply = _types.SimpleNamespace(NameSupply=NameSupply, GlobalVarSupply=GlobalVarSupply)
