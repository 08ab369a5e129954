"""PJRT plugins: loading, calls, errors, and programs on their first device."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import threading
import weakref

import numpy as np

from ..errors import bad_option, not_supported, told
from ..export.writer import numpy_dtype
from . import interface
from .interface import ELEMENTS, POSITIONS, made

_WANTED = "give the shared library of a PJRT plugin, as in pjrt:/path/to/pjrt_plugin.so (docs/stablehlo.md)"
# CompileOptionsProto with executable_build_options (3) {num_replicas (4): 1, num_partitions (5): 1}.
_ONE_DEVICE = bytes((0x1A, 4, 0x20, 1, 0x28, 1))
# Options of XLA by the platform, which keep the meaning of StableHLO: otherwise a maximum may drop NaN on CPUs.
_FALSE = {"cpu": ("xla_cpu_enable_fast_min_max",)}
_lock = threading.Lock()


def load(path: str | os.PathLike[str]) -> Plugin:
    """Returns the plugin of a shared library. It is loaded once, and stays until the process ends."""
    path = os.fspath(path)
    if not os.path.isfile(path):
        reason = "is a folder" if os.path.isdir(path) else "does not exist"
        raise told("file_not_found", f"the PJRT plugin {path!r} {reason}", _WANTED)
    with _lock:
        return _loaded(os.path.realpath(path))


@functools.cache
def _loaded(path: str) -> Plugin:
    return Plugin(path)


class Plugin:
    """A PJRT plugin with one client. relay.pjrt.load(path) makes it.

    path: of the library. version: of its interface, "0.81". platform: its name of the devices, "cpu".
    """

    def __init__(self, path: str):
        self.path = path
        self._library, api = _table_of(path)
        self.version = f"{api.version.major_version}.{api.version.minor_version}"
        _check_version(path, self.version, api)
        call = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
        self._functions = {name: call(api.functions[at]) for name, at in POSITIONS.items() if api.functions[at]}
        if missing := [name for name in POSITIONS if name not in self._functions]:
            raise bad_option(f"the PJRT plugin {path} lacks {', '.join(missing)}", "use a complete plugin")
        self.call("PJRT_Plugin_Initialize")
        self._client = self.call("PJRT_Client_Create").client
        weakref.finalize(self, self._release_client, self._functions, self._client)
        self.platform = self._text("PJRT_Client_PlatformName", "platform_name")
        devices = self.call("PJRT_Client_AddressableDevices", client=self._client)
        if devices.num_addressable_devices == 0:
            raise bad_option(f"the PJRT plugin {path} finds no device", "run it on a machine that has its device")
        self._device = devices.addressable_devices[0]

    @staticmethod
    def _release_client(functions, client) -> None:
        functions["PJRT_Client_Destroy"](ctypes.byref(made("PJRT_Client_Destroy_Args", client=client)))

    def __repr__(self) -> str:
        return f"<relay.pjrt.Plugin {self.path}: {self.platform}, PJRT {self.version}>"

    # --- calls --------------------------------------------------------------------------------------------------------
    def call(self, name: str, **fields):
        """Calls a function and returns its arguments, which hold the results. Raises the plugin's error."""
        args = made(f"{name}_Args", **fields)
        if error := self._functions[name](ctypes.byref(args)):
            raise self._error(error)
        return args

    def destroy(self, kind: str, **fields) -> None:
        """Frees an object of a kind: "Buffer", "Event", .. Its error, if there is one, is dropped."""
        name = f"PJRT_{kind}_Destroy"
        if error := self._functions[name](ctypes.byref(made(f"{name}_Args", **fields))):
            self._free(error)

    def wait(self, event: int | None) -> None:
        """Waits for an event, and frees it. Raises the error of the work that it stands for."""
        if not event:
            return
        try:
            self.call("PJRT_Event_Await", event=event)
        finally:
            self.destroy("Event", event=event)

    def _text(self, name: str, field: str) -> str:
        args = self.call(name, client=self._client)
        return ctypes.string_at(getattr(args, field), getattr(args, f"{field}_size")).decode(errors="replace")

    def _error(self, error: int) -> Exception:
        code, text = made("PJRT_Error_GetCode_Args", error=error), made("PJRT_Error_Message_Args", error=error)
        if other := self._functions["PJRT_Error_GetCode"](ctypes.byref(code)):
            self._free(other)
        self._functions["PJRT_Error_Message"](ctypes.byref(text))
        words = ctypes.string_at(text.message, text.message_size).decode(errors="replace").strip()
        self._free(error)
        message = f"the PJRT plugin {os.path.basename(self.path)} reports an error: {words}"
        if code.code == interface.RESOURCE_EXHAUSTED:
            return told("out_of_memory", message, "give smaller inputs, or use a device with more memory")
        return not_supported(message, f"its interface has version {self.version}; compile for a CPU to compare")

    def _free(self, error: int) -> None:
        self._functions["PJRT_Error_Destroy"](ctypes.byref(made("PJRT_Error_Destroy_Args", error=error)))

    # --- programs -----------------------------------------------------------------------------------------------------
    def compile(self, text: str, results: list[tuple]) -> LoadedProgram:
        """Compiles a text of StableHLO for the first device. results: (shape, dtype) of each."""
        code, options = text.encode(), _options(self.platform)
        kept = [ctypes.create_string_buffer(one, len(one)) for one in (code, b"mlir", options)]
        code_at, form_at, options_at = (ctypes.addressof(one) for one in kept)
        program = made("PJRT_Program", code=code_at, code_size=len(code), format=form_at, format_size=4)
        compiled = self.call(
            "PJRT_Client_Compile",
            client=self._client,
            program=ctypes.addressof(program),
            compile_options=options_at,
            compile_options_size=len(options),
        )
        return LoadedProgram(self, compiled.executable, results)

    def upload(self, array) -> tuple[int, int | None]:
        """Begins to copy an array (relay.Array) to the device. Returns the buffer, and the event of the transfer: the
        array must not change before it."""
        dims = (ctypes.c_int64 * len(array.shape))(*array.shape)
        copied = self.call(
            "PJRT_Client_BufferFromHostBuffer",
            client=self._client,
            data=array.address,
            type=ELEMENTS[array.dtype],
            dims=dims,
            num_dims=len(dims),
            host_buffer_semantics=interface.UNTIL_TRANSFERRED,
            device=self._device,
        )
        return copied.buffer, copied.done_with_host_buffer

    def download(self, buffer: int, shape: tuple, dtype: str) -> np.ndarray:
        """Returns the elements of a buffer, row-major."""
        kind = self.call("PJRT_Buffer_ElementType", buffer=buffer).type
        dims = self.call("PJRT_Buffer_Dimensions", buffer=buffer)
        if (kind, tuple(dims.dims[: dims.num_dims])) != (ELEMENTS[dtype], tuple(shape)):
            raise not_supported(
                f"the PJRT plugin {os.path.basename(self.path)} returns elements of type {kind} and sizes "
                f"{list(dims.dims[: dims.num_dims])} for {dtype}{list(shape)}",
                "this is a bug in the plugin or in Relay: compare with the text (Program.text)",
            )
        out = np.empty(shape, numpy_dtype(dtype))
        order = (ctypes.c_int64 * len(shape))(*reversed(range(len(shape))))
        layout = made("PJRT_Buffer_MemoryLayout")
        layout.tiled = made("PJRT_Buffer_MemoryLayout_Tiled", minor_to_major=order, minor_to_major_size=len(shape))
        copied = self.call(
            "PJRT_Buffer_ToHostBuffer",
            src=buffer,
            host_layout=ctypes.addressof(layout),
            dst=out.ctypes.data,
            dst_size=out.nbytes,
        )
        self.wait(copied.event)
        return out


class LoadedProgram:
    """A program that a plugin has compiled. Any number of threads may run it."""

    def __init__(self, plugin: Plugin, handle: int, results: list[tuple]):
        self._plugin, self._handle, self._results = plugin, handle, results
        weakref.finalize(self, plugin.destroy, "LoadedExecutable", executable=handle)
        held = plugin.call("PJRT_LoadedExecutable_GetExecutable", loaded_executable=handle).executable
        try:
            count = plugin.call("PJRT_Executable_NumOutputs", executable=held).num_outputs
        finally:
            plugin.destroy("Executable", executable=held)
        if count != len(results):
            raise not_supported(
                f"the PJRT plugin {os.path.basename(plugin.path)} has {count} results for {len(results)}",
                "this is a bug in the plugin or in Relay: compare with the text (Program.text)",
            )

    def run(self, inputs: list) -> list[np.ndarray]:
        """Returns the results for arrays (relay.Array), which must have the types of the program's inputs."""
        plugin = self._plugin
        with contextlib.ExitStack() as held:
            buffers = []
            for one in inputs:
                buffer, transferred = plugin.upload(one)
                held.callback(plugin.destroy, "Buffer", buffer=buffer)
                held.callback(plugin.wait, transferred)
                buffers.append(buffer)
            made_buffers = self._executed(buffers)
            for buffer in made_buffers:
                held.callback(plugin.destroy, "Buffer", buffer=buffer)
            return [plugin.download(buffer, *one) for buffer, one in zip(made_buffers, self._results, strict=True)]

    def _executed(self, buffers: list[int]) -> list[int]:
        """Runs the program on buffers, and returns those of the results."""
        inputs = (ctypes.c_void_p * len(buffers))(*buffers)
        outputs, event = (ctypes.c_void_p * len(self._results))(), ctypes.c_void_p()
        input_list, output_list = ctypes.c_void_p(ctypes.addressof(inputs)), ctypes.c_void_p(ctypes.addressof(outputs))
        options = made("PJRT_ExecuteOptions")
        self._plugin.call(
            "PJRT_LoadedExecutable_Execute",
            executable=self._handle,
            options=ctypes.addressof(options),
            argument_lists=ctypes.addressof(input_list),
            num_devices=1,
            num_args=len(buffers),
            output_lists=ctypes.addressof(output_list),
            device_complete_events=ctypes.addressof(event),
        )
        try:
            self._plugin.wait(event.value)
        except Exception:
            for buffer in outputs:
                self._plugin.destroy("Buffer", buffer=buffer)
            raise
        return list(outputs)


def _options(platform: str) -> bytes:
    """Returns a CompileOptionsProto. Its env_option_overrides (7) map a name (1) to {bool_field (2): false} (2)."""
    out = _ONE_DEVICE
    for name in _FALSE.get(platform, ()):
        entry = bytes((0x0A, len(name))) + name.encode() + bytes((0x12, 2, 0x10, 0))
        out += bytes((0x3A, len(entry))) + entry
    return out


def _table_of(path: str) -> tuple[ctypes.CDLL, interface.Api]:
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise bad_option(f"{path} cannot be loaded: {error}", _WANTED) from None
    try:
        get = library.GetPjrtApi
    except AttributeError:
        raise bad_option(f"{path} is not a PJRT plugin: the function GetPjrtApi is missing", _WANTED) from None
    get.restype, get.argtypes = ctypes.POINTER(interface.Api), ()
    found = get()
    if not found:
        raise bad_option(f"{path} is not a PJRT plugin: GetPjrtApi returns nothing", _WANTED)
    return library, found.contents


def _check_version(path: str, version: str, api: interface.Api) -> None:
    needed = interface.size_of(interface.Api)
    if api.version.major_version != interface.MAJOR_VERSION:
        reason = f"version {version} of PJRT's interface, and Relay knows version {interface.MAJOR_VERSION}"
    elif api.struct_size < needed:
        reason = f"version {version} of PJRT's interface: a table of {api.struct_size} bytes, and Relay needs {needed}"
    else:
        return
    raise bad_option(f"the PJRT plugin {path} has {reason}", "use another version of the plugin")
