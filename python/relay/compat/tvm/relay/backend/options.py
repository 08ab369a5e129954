"""relay.backend.Executor and Runtime: names with options, which are checked."""

from __future__ import annotations

from relay import CompileError


class _Registered:
    """A name from a table, with the options that the table lists."""

    _table: dict[str, dict[str, tuple[str, type, object]]] = {}

    def __init__(self, name: str, options: dict | None = None):
        kind = type(self).__name__
        if name not in self._table:
            raise CompileError(f'error: {kind} "{name}" is not defined; there are: {", ".join(sorted(self._table))}')
        self.name, known = name, self._table[name]
        self.attrs = {option: default for option, (_, _, default) in known.items() if default is not None}
        for option, value in (options or {}).items():
            if option not in known:
                listed = ", ".join(sorted(known)) or "none"
                raise CompileError(f'error: Attribute "{option}" is not available on this {kind}; there are: {listed}')
            text, type_, _ = known[option]
            if not isinstance(value, type_) and not (type_ is bool and value in (0, 1)):
                found = {str: "runtime.String", int: "IntImm", bool: "IntImm"}.get(type(value), type(value).__name__)
                raise CompileError(f'error: Attribute "{option}" should have type "{text}" but instead found "{found}"')
            self.attrs[option] = type_(value)

    def __getitem__(self, option: str):
        return self.attrs[option]

    def __contains__(self, option: str) -> bool:
        return option in self.attrs

    def __eq__(self, other) -> bool:
        return type(other) is type(self) and (self.name, self.attrs) == (other.name, other.attrs)

    def __hash__(self) -> int:
        return hash((self.name, tuple(sorted(self.attrs.items()))))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.attrs})"

    def __str__(self) -> str:
        return self.name

    @classmethod
    def list_registered(cls) -> list[str]:
        """Returns the names."""
        return sorted(cls._table)

    @classmethod
    def list_registered_options(cls, name: str) -> dict[str, str]:
        """Returns the options of a name, each with its type."""
        if name not in cls._table:
            raise CompileError(f'error: {cls.__name__} "{name}" is not defined')
        return {option: text for option, (text, _, _) in cls._table[name].items()}


class Executor(_Registered):
    """The way to run programs: "graph" or "aot". Options of TVM's generated C code have no effect here, and build()
    refuses values other than the default."""

    _table = {
        "graph": {"link-params": ("IntImm", bool, None)},
        "aot": {
            "link-params": ("IntImm", bool, True),
            "unpacked-api": ("IntImm", bool, None),
            "interface-api": ("runtime.String", str, None),
            "workspace-byte-alignment": ("IntImm", int, None),
            "constant-byte-alignment": ("IntImm", int, None),
        },
    }


class Runtime(_Registered):
    """The runtime of programs: "cpp". "crt" is not supported."""

    _table = {"cpp": {"system-lib": ("IntImm", bool, None)}, "crt": {"system-lib": ("IntImm", bool, None)}}
