"""A model has no effects on the outside world (docs/security.md). Endless programs can be interrupted."""

import os
import signal
import subprocess
import sys
import tempfile
import time

import pytest
from programs import PROGRAM, onnx_model

# For each process: files opened for writing, programs started, hosts talked to.
WATCH = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
static void note(const char *what, const char *of) {
  char line[4096];
  const int size = snprintf(line, sizeof line, "%s %s\n", what, of ? of : "");
  int (*next)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
  const int log = next(getenv("WATCH_LOG"), O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (log < 0 || write(log, line, size) != size) abort();
  close(log);
}
#define OPEN(NAME)                                                                                      \
  int NAME(const char *path, int flags, ...) {                                                          \
    va_list more;                                                                                       \
    va_start(more, flags);                                                                              \
    const int mode = va_arg(more, int);                                                                 \
    va_end(more);                                                                                       \
    if (flags & (O_WRONLY | O_RDWR | O_CREAT)) note("writes", path);                                    \
    return ((int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #NAME))(path, flags, mode);               \
  }
OPEN(open)
OPEN(open64)
#define FOPEN(NAME)                                                                                     \
  FILE *NAME(const char *path, const char *mode) {                                                      \
    if (strpbrk(mode, "wa+")) note("writes", path);                                                     \
    return ((FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, #NAME))(path, mode);              \
  }
FOPEN(fopen)
FOPEN(fopen64)
int execve(const char *path, char *const *arguments, char *const *environment) {
  note("starts", path);
  int (*next)(const char *, char *const *, char *const *) = dlsym(RTLD_NEXT, "execve");
  return next(path, arguments, environment);
}
int connect(int socket, const struct sockaddr *address, socklen_t size) {
  note("talks", "");
  return ((int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "connect"))(socket, address, size);
}
"""


@pytest.fixture(scope="module")
def watch(tmp_path_factory):
    folder = tmp_path_factory.mktemp("watch")
    (folder / "watch.c").write_text(WATCH)
    subprocess.run(["gcc", "-shared", "-fPIC", "-w", "-o", folder / "watch.so", folder / "watch.c", "-ldl"], check=True)

    def run(*arguments):
        log = folder / "log"
        log.unlink(missing_ok=True)
        done = subprocess.run(
            [PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=60,
            env={**os.environ, "LD_PRELOAD": str(folder / "watch.so"), "WATCH_LOG": str(log)},
        )  # fmt: skip
        seen = log.read_text().splitlines() if log.exists() else []
        return done, [line for line in seen if not line.endswith(("/dev/null", "/dev/tty"))]

    return run


@pytest.fixture
def named_like_paths(tmp_path):
    """A model whose every name is a path or a command."""
    from onnx import helper

    evil = str(tmp_path / "evil")
    node = helper.make_node(
        "Relu", [f"../{evil}"], [f"{evil}/out"], name=f"$(touch {evil})", doc_string=f";touch {evil}"
    )
    path = tmp_path / "model.onnx"
    onnx_model(path, [node], [(f"../{evil}", (2, 3))], [(f"{evil}/out", (2, 3))])
    return path


@pytest.mark.parametrize("arguments", [
    ["run", "--no-cache"], ["check"], ["opt"], ["opt", "--emit", "asm"], ["inspect"], ["profile"], ["verify"],
])  # fmt: skip
def test_a_model_chooses_nothing_outside(watch, named_like_paths, arguments):
    before = sorted(named_like_paths.parent.rglob("*"))
    done, seen = watch(arguments[0], named_like_paths, *arguments[1:])
    assert done.returncode in (0, 1) and "internal" not in done.stderr, done.stderr
    assert seen == [] and sorted(named_like_paths.parent.rglob("*")) == before


def test_what_is_asked_for_is_seen(watch, named_like_paths, tmp_path):
    done, seen = watch("compile", named_like_paths, "-o", tmp_path / "out.rart")
    assert done.returncode == 0, done.stderr
    assert any(line.startswith(f"writes {tmp_path / 'out.rart'}") for line in seen)
    ours = (str(tmp_path / "out.rart"), f"{tempfile.gettempdir()}/relay-")  # what is linked lies in a folder of its own
    assert all(any(one in line for one in ours) for line in seen), seen
    assert not (tmp_path / "evil").exists()


FOR_EVER = """#[version = "0.0.5"]
def @again(%n: int32) -> int32 { if (less(%n, 0)) { %n } else { @again(maximum(%n, 1)) } }
def @main(%n: int32) -> int32 { @again(%n) }
"""

# Runs the command that follows. The processes of the tests may ignore SIGINT, which a command would inherit.
HEEDING_INTERRUPTS = [
    sys.executable, "-c",
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])",
]  # fmt: skip


@pytest.mark.parametrize("executor", ["vm", "aot", "debug"])
def test_an_interrupt_ends_what_never_ends(executor, tmp_path):
    (tmp_path / "for_ever.relay").write_text(FOR_EVER)
    process = subprocess.Popen(
        [*HEEDING_INTERRUPTS, PROGRAM, "run", tmp_path / "for_ever.relay", "--executor", executor, "--input", "n=1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    time.sleep(1)
    assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == -signal.SIGINT
