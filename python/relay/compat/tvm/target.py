"""tvm.target: targets of compilations, as text: Target("llvm -mcpu=haswell")."""

from __future__ import annotations

from ..outside import missing as _missing

__getattr__ = _missing("tvm.target")


class _Kind(str):
    """A kind of target: a name, also as .name."""

    name = property(str)


class Target:
    """A target with its name and options. As a context, it is build()'s default."""

    _stack: list[Target] = []

    def __init__(self, target, host=None):
        if isinstance(target, dict):
            words = [target["kind"]] + [f"-{key}={value}" for key, value in target.items() if key != "kind"]
            target = " ".join(words)
        self._text = str(target)
        given = getattr(target, "host", None) if host is None else host
        self.host: Target | None = given if given is None or isinstance(given, Target) else Target(given)

    def with_host(self, host) -> Target:
        """The same target with this one for the code around its kernels, which is the processor's here too."""
        return Target(self, host)

    # The largest number of arguments of a kernel, -1 if unlimited. Scripts read it for devices with a limit.
    max_function_args = -1

    @property
    def kind(self) -> _Kind:
        """The first word."""
        return _Kind(self._text.split()[0])

    @property
    def attrs(self) -> dict[str, str]:
        """The other words: -mcpu=haswell."""
        return dict(word.lstrip("-").partition("=")[::2] for word in self._text.split()[1:])

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """Returns the innermost one."""
        if not Target._stack and not allow_none:
            raise ValueError("there is no current target: with tvm.target.Target('llvm'): ...")
        return Target._stack[-1] if Target._stack else None

    def __enter__(self) -> Target:
        Target._stack.append(self)
        return self

    def __exit__(self, *exception) -> None:
        Target._stack.pop()

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def __eq__(self, other) -> bool:
        return str(self) == str(other)

    def __hash__(self) -> int:
        return hash(self._text)


def create(target) -> Target:
    """Returns the same (2019)."""
    return target if isinstance(target, Target) else Target(target)


class VirtualDevice:
    """The place of a value: a device, a target and the name of a memory, any of them unknown."""

    def __init__(self, device=None, target=None, memory_scope: str = ""):
        self.device, self.target, self.memory_scope = device, target, memory_scope

    device_type_int = property(lambda self: -1 if self.device is None else 1)
    virtual_device_id = property(lambda self: -1 if self.device is None else self.device.device_id)

    def _key(self) -> tuple:
        return str(self.device), str(self.target), self.memory_scope

    def __eq__(self, other) -> bool:
        return isinstance(other, VirtualDevice) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"VirtualDevice(device={self.device}, target={self.target}, memory_scope={self.memory_scope!r})"


class CompilationConfig:
    """The targets of a compilation, for PlanDevices() and CollagePartition()."""

    def __init__(self, targets: list):
        self.primitive_targets = targets
        self.host_target = Target("llvm")
        self.optional_homogeneous_target = targets[0] if len(targets) == 1 else None


def make_compilation_config(ctxt, target, target_host=None) -> CompilationConfig:
    """Makes a config of a target, a list of targets, or a dict by device."""
    given = list(target.values()) if isinstance(target, dict) else target
    given = list(given) if isinstance(given, (list, tuple)) else [given]
    return CompilationConfig([one if isinstance(one, Target) else Target(one) for one in given])
