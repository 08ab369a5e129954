"""Hostile surroundings: limits, files that are none, full disks, other processes, odd environments and command
lines."""

import os
import subprocess
import sys

from harness import VERSION, Kinds, Run, either, fine, refused, silent

kinds = Kinds("environment")

MODEL = VERSION + "def @main(%x: Tensor[(2, 4), float32]) { nn.relu(%x) }"
PROGRAM = (
    VERSION
    + "def @f(%n: int32) -> int32 { if (equal(%n, 0)) { 1 } else { @f(%n - 1) } }\ndef @main(%n: int32) { @f(%n) }"
)


def model(v, text=MODEL, name="m.relay"):
    return v.write(name, text)


def run(v, *arguments, **named):
    return v.run("run", model(v), *arguments, **named)


def shell(script, *arguments):
    """Runs the program from a shell, which makes the surroundings; "$@" is the command."""
    return ["/bin/bash", "-c", script, "bash", *arguments]


# --- limits ---------------------------------------------------------------------------------------------


def can_mount():
    """True if a process may mount file systems of its own, which not every container allows."""
    script = "mount -t tmpfs hostile /tmp"
    return subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True).returncode == 0


kinds(
    "no-threads",
    "no thread may be started",
    either("R0603"),
    lambda v: run(v, "--threads", v.one_of([0, 2, 64, 1024]), limits=["--nproc=1"]),
)
kinds("threads-many", "as many threads as may be asked for", fine(), lambda v: run(v, "--threads", v.size(64, 1024)))
kinds(
    "memory",
    "little memory: each allocation may be the one that fails",
    either("R0603 R0401 R0402"),
    lambda v: Run(["run", model(v), "--no-cache"], memory=v.rng.randrange(120, 900) << 20),
)
kinds(
    "memory-program",
    "the same for a program, whose stack is large",
    either("R0603 R0401 R0402 R0405"),
    lambda v: Run(
        ["run", model(v, PROGRAM), "--input", "n=10", "--executor", v.one_of(["vm", "aot", "debug"]), "--no-cache"],
        memory=v.rng.randrange(200, 1200) << 20,
    ),
)
kinds(
    "memory-limit-option",
    "--memory-limit that is too small",
    refused("R0603", "memory|limit"),
    lambda v: run(v, "--memory-limit", v.one_of(["1", "10", "31"])),
)
kinds(
    "stack",
    "a stack of 192 KiB to 1 MiB",
    either("R0603"),
    lambda v: run(v, limits=[f"--stack={v.size(192, 1024) << 10}"]),
)
kinds(
    "file-size",
    "no file may grow beyond a few bytes",
    refused("R0401", "written|large|write"),
    lambda v: v.run("compile", model(v), "-o", v.folder / "a.rart", limits=[f"--fsize={v.one_of([1, 100, 4096])}"]),
)
kinds(
    "file-size-output",
    "the same for results",
    refused("R0401"),
    lambda v: run(v, "--output", v.folder / v.one_of(["o.npz", "o.npy", "o.txt"]), limits=["--fsize=10"]),
)
kinds(
    "open-files",
    "hardly any file may be opened",
    either("R0401 R0402 R0603"),
    lambda v: run(v, limits=[f"--nofile={v.one_of([12, 16, 20])}"]),
)
kinds(
    "processor-time",
    "ended by the limit on processor time while it compiles: not our signal to answer",
    fine(),
    lambda v: run(v, limits=["--cpu=60"]),
)
kinds(
    "one-core", "one core only", fine(), lambda v: Run(["run", model(v), "--no-cache"], wrapper=["taskset", "-c", "0"])
)

# --- disks ----------------------------------------------------------------------------------------------

kinds(
    "full-stdout",
    "results go to a full disk",
    refused("R0401", "stdout"),
    lambda v: run(v, stdout=open("/dev/full", "wb")),
)
kinds("full-output", "an output file on a full disk", refused("R0401 R0504"), lambda v: run(v, "--output", "/dev/full"))
MOUNTED = ("environment.full-tmpfs", "environment.full-cache")  # kinds that are only where file systems can be mounted
if can_mount():
    kinds(
        "full-tmpfs",
        "an artifact on a full file system",
        refused("R0401", "space"),
        lambda v: tmpfs(v, ["compile", model(v), "-o", v.folder / "disk" / "a.rart"]),
    )
    kinds(
        "full-cache",
        "a cache on a full file system: the model runs",
        fine(),
        lambda v: tmpfs(v, ["run", model(v)], {"RELAY_CACHE": str(v.folder / "disk" / "cache")}),
    )
else:
    print(
        f"hostile: {' and '.join(MOUNTED)} are left out: no file system can be mounted here",
        file=sys.stderr,
    )
kinds(
    "closed-stdout",
    "stdout is closed",
    either("R0401"),
    lambda v: Run(["run", model(v), "--no-cache"], wrapper=shell('exec "$@" >&-')),
)
kinds(
    "closed-all",
    "stdin, stdout and stderr are closed: no file that is opened may be taken for one of them",
    silent(),
    lambda v: Run(
        ["compile", model(v), "-o", v.folder / "a.rart"],
        wrapper=shell('exec "$@" <&- >&- 2>&-'),
        then=lambda *_: sound(v),
    ),
)
kinds(
    "broken-pipe",
    "the reader of stdout ends at once",
    silent(),
    lambda v: Run(["run", model(v), "--no-cache"], wrapper=shell('set -o pipefail; trap "" PIPE; "$@" | true')),
)
kinds(
    "broken-pipe-help",
    "the same for the help and long texts",
    silent(),
    lambda v: Run(
        v.one_of([["--help"], ["opt", model(v), "--emit", "llvm"], ["explain", "R0101"], ["completion", "bash"]]),
        wrapper=shell('trap "" PIPE; "$@" | true'),
    ),
)
kinds(
    "read-only-folder",
    "an artifact into a folder that may not be written",
    refused("R0401"),
    lambda v: v.run("compile", model(v), "-o", "/proc/self/a.rart"),
)
kinds(
    "read-only-cache",
    "a cache in a folder that may not be written: the model runs",
    fine("cache|cannot"),
    lambda v: run(
        v, cache=True, environment={"RELAY_CACHE": v.one_of(["/proc/self/cache", "/dev/null/cache", "/dev/full"])}
    ),
)

# --- files that are none --------------------------------------------------------------------------------

FILES = ["m.relay", "m.onnx", "m.rart"]
kinds(
    "folder",
    "a folder instead of a model",
    refused("R0401"),
    lambda v: v.run("run", make(v, os.mkdir, v.one_of(FILES))),
)
kinds(
    "pipe",
    "a named pipe whose writer ends at once instead of a model",
    refused("R0401 R0402"),
    lambda v: piped(v, [make(v, os.mkfifo, name := v.one_of(FILES))], name),
)
kinds(
    "pipe-input",
    "a named pipe as an array",
    refused("R0401 R0402"),
    lambda v: piped(v, [model(v), "--input", f"x={make(v, os.mkfifo, 'x.npy')}"], "x.npy"),
)
kinds(
    "folder-input",
    "a folder as an array",
    refused("R0401 R0402"),
    lambda v: run(v, "--input", f"x={make(v, os.mkdir, 'x.npy')}"),
)
kinds(
    "device",
    "a device without end instead of a file",
    refused("R0401"),
    lambda v: v.run("run", link(v, v.one_of(FILES), v.one_of(["/dev/zero", "/dev/null", "/dev/urandom", "/dev/full"]))),
)
kinds(
    "device-input",
    "a device without end as an array",
    refused("R0401 R0402"),
    lambda v: run(v, "--input", f"x={link(v, 'x.npy', v.one_of(['/dev/zero', '/dev/urandom']))}"),
)
kinds(
    "link-loop",
    "a link that leads to itself",
    refused("R0401"),
    lambda v: v.run("run", link(v, name := v.one_of(FILES), v.folder / name)),
)
kinds(
    "link-nowhere",
    "a link that leads nowhere",
    refused("R0401"),
    lambda v: v.run("run", link(v, v.one_of(FILES), "/proc/no/such/file")),
)
kinds(
    "schedule-device",
    "a schedule from a device without end",
    refused("R0401"),
    lambda v: run(v, "--schedule", f"fused_nn_relu={v.one_of(['/dev/zero', '/proc/self/mem', '/'])}"),
)
kinds(
    "output-over-input",
    "results written over the model",
    refused("R0504"),
    lambda v: run(v, "--output", v.write("x.npy", b""), "--input", f"x={v.folder / 'x.npy'}"),
)
kinds(
    "output-folder",
    "an artifact in place of a folder",
    refused("R0401 R0504"),
    lambda v: v.run("compile", model(v), "-o", make(v, os.mkdir, "a.rart")),
)
kinds(
    "proc",
    "a file of /proc, whose size is zero",
    refused("R0401 R0402 R0504 R01"),
    lambda v: v.run(
        "run", link(v, v.one_of(FILES), v.one_of(["/proc/self/maps", "/proc/self/environ", "/proc/self/mem"]))
    ),
)
kinds(
    "name-not-utf8", "a model whose name is no UTF-8", fine(), lambda v: v.run("run", odd_name(v, b"m\xff\xfe.relay"))
)
kinds(
    "name-escapes",
    "a model whose name holds escapes, and is no model",
    refused("R01"),
    lambda v: v.run("run", odd_name(v, b"m\x1b[2J\r.relay", b"nothing")),
)
kinds(
    "name-long", "a path of 10^5 letters", refused("R0401"), lambda v: v.run("run", "x" * v.size(300, 10**5) + ".relay")
)

# --- several processes ----------------------------------------------------------------------------------

kinds(
    "one-cache",
    "eight processes fill one cache",
    fine(),
    lambda v: several(v, '"$@"', ["run", model(v)], {"RELAY_CACHE": str(v.folder / "cache")}),
    long=True,
)
kinds(
    "one-output",
    "eight processes write one artifact: it is one of theirs",
    fine(),
    lambda v: several(v, '"$@"', ["compile", model(v), "-o", v.folder / "a.rart"], {}, lambda *_: sound(v)),
    long=True,
)
kinds(
    "killed",
    "killed while it compiles: nothing of it is left under its name",
    fine(),
    lambda v: Run(
        ["compile", model(v), "-o", v.folder / "a.rart"],
        wrapper=shell('"$@" & p=$!; sleep 0.0$((RANDOM % 9)); kill -9 $p; wait $p 2>/dev/null; exit 0'),
        then=lambda *_: sound(v) if (v.folder / "a.rart").exists() else "",
    ),
)

# --- the cache ------------------------------------------------------------------------------------------

kinds(
    "cache-index",
    "an index that is damaged is begun anew",
    fine(),
    lambda v: cached(v, lambda f: damage(v, f / "index.db")),
)
kinds(
    "cache-index-empty",
    "an index of nothing, or that is a folder",
    fine(),
    lambda v: cached(v, lambda f: replaced(v, f / "index.db", v.one_of([b"", None, b"SQLite format 3\0"]))),
)
kinds(
    "cache-index-schema",
    "an index of other tables",
    fine(),
    lambda v: cached(v, lambda f: other_tables(f / "index.db")),
)
kinds(
    "cache-artifact",
    "an artifact of the cache that is damaged",
    fine(),
    lambda v: cached(v, lambda f: [damage(v, a) for a in f.glob("*.rart")]),
)
kinds(
    "cache-artifact-missing",
    "an artifact of the cache that is gone, or a folder",
    fine(),
    lambda v: cached(v, lambda f: [replaced(v, a, v.one_of([None, b""])) for a in f.glob("*.rart")]),
)
kinds(
    "cache-other-artifact",
    "an artifact of the cache that is that of another model: its name is only a name",
    either("R06"),
    lambda v: cached(v, lambda f: other_artifact(v, f)),
)
kinds(
    "cache-names",
    "an index whose paths lead out of the cache, and hold escapes",
    fine(),
    lambda v: cached(v, lambda f: names(v, f / "index.db"), v.one_of(["run", "ls", "prune"])),
)
kinds(
    "cache-size",
    "RELAY_CACHE_SIZE that is no size",
    either("R0504"),
    lambda v: run(
        v,
        cache=True,
        environment={
            "RELAY_CACHE": str(v.folder / "c"),
            "RELAY_CACHE_SIZE": v.one_of(["", "lots", "-1", "99999999999999999999G", "\x1b[2J", "0"]),
        },
    ),
)

# --- the environment ------------------------------------------------------------------------------------

kinds("no-home", "no HOME and nothing else either", fine(), lambda v: Run(["run", model(v)], wrapper=["env", "-i"]))
kinds(
    "home-nowhere",
    "a HOME that does not exist, is a file, or no path",
    fine(),
    lambda v: run(
        v,
        cache=True,
        environment={
            "RELAY_CACHE": None,
            "XDG_CACHE_HOME": None,
            "HOME": v.one_of(["/proc/no/such", "/dev/null", "", "\x1b[2J", "x" * 100_000]),
        },
    ),
)
kinds(
    "cache-garbage",
    "RELAY_CACHE that is no folder",
    fine(),
    lambda v: run(
        v,
        cache=True,
        environment={"RELAY_CACHE": v.one_of(["\x1b[2J/x\ry", "/proc/1/x", "x" * 5_000, "/dev/stdin", "\udcff\udcfe"])},
    ),
)
kinds(
    "threads-garbage",
    "RELAY_THREADS that is not a number",
    refused("R0504", "RELAY_THREADS"),
    lambda v: run(v, environment={"RELAY_THREADS": v.one_of(["many", "-1", "9" * 100_000, "\x1b[2J", "1e3", "2 "])}),
)
kinds(
    "locale",
    "locales that do not exist",
    fine(),
    lambda v: run(
        v, environment=dict.fromkeys(["LC_ALL", "LANG", "LC_NUMERIC"], v.one_of(["de_DE.UTF-8", "xx", "\x1b", "tr_TR"]))
    ),
)
kinds(
    "terminal",
    "terminals that do not exist",
    fine(),
    lambda v: run(
        v,
        environment={
            "TERM": v.one_of(["", "x" * 10_000, "\x1b[2J"]),
            "COLUMNS": v.one_of(["-1", "0", "99999999999"]),
            "NO_COLOR": "",
        },
    ),
)
kinds(
    "huge-environment",
    "an environment of a megabyte",
    fine(),
    lambda v: run(v, environment={f"HOSTILE_{i}": "x" * 10_000 for i in range(v.size(10, 100))}),
)
kinds(
    "time-zone",
    "a time zone and a temporary folder that do not exist",
    fine(),
    lambda v: run(v, environment={"TZ": "x" * 1_000, "TMPDIR": "/proc/no/such"}),
)
kinds(
    "python-garbage",
    "a peer's Python that is none",
    refused("R0504 R0401"),
    lambda v: v.run(
        "bench",
        model(v),
        "--vs",
        v.one_of(["torch", "onnxruntime"]),
        environment={"RELAY_PYTHON": v.one_of(["/proc/no/such", "/dev/null", "/bin/false"])},
    ),
)


def make(v, how, name):
    how(v.folder / name)
    return v.folder / name


def piped(v, arguments, name):
    script = f'timeout 5 bash -c ": > {v.folder / name}" < /dev/null > /dev/null 2>&1 & exec "$@"'
    return Run(["run", *arguments, "--no-cache"], wrapper=shell(script))


def link(v, name, target):
    os.symlink(target, v.folder / name)
    return v.folder / name


def odd_name(v, name, content=None):
    path = os.path.join(os.fsencode(v.folder), name)
    with open(path, "wb") as file:
        file.write(content or MODEL.encode())
    return os.fsdecode(path)


def tmpfs(v, arguments, environment=None):
    """In a mount namespace of its own, where folder/disk has a few pages."""
    disk = v.folder / "disk"
    disk.mkdir()
    script = f"mount -t tmpfs -o size={v.one_of([4096, 8192])} hostile {disk} || exit 99; "
    script += f'dd if=/dev/zero of={disk}/fill bs=4096 2>/dev/null; exec "$@"'
    return Run(arguments, environment or {}, wrapper=["unshare", "-rm", *shell(script)])


def sound(v):
    done = subprocess.run([v.program_path, "run", v.folder / "a.rart"], capture_output=True)
    return (
        ""
        if done.returncode == 0
        else f"the artifact left behind cannot be run: {done.stderr.decode(errors='replace')}"
    )


def several(v, script, arguments, environment, then=None):
    text = f"for i in 1 2 3 4 5 6 7 8; do {script} & done; s=0; for p in $(jobs -p); do wait $p || s=$?; done; exit $s"
    return Run(arguments, environment, wrapper=shell(text), then=then)


def cached(v, harm, verb="run"):
    """Fills a cache, harms it, runs again."""
    cache = v.folder / "cache"
    path = model(v)
    os.utime(path, (1e9, 1e9))
    subprocess.run(
        [v.program_path, "run", path], env={**os.environ, "RELAY_CACHE": str(cache)}, capture_output=True, check=True
    )
    harm(cache)
    words = ["run", path] if verb == "run" else ["cache", verb]
    return Run(words, {"RELAY_CACHE": str(cache)})


def damage(v, path):
    data = bytearray(path.read_bytes())
    for _ in range(v.size(1, 1000)):
        data[v.rng.randrange(len(data))] = v.rng.randrange(256)
    path.write_bytes(data[: len(data) if v.index % 2 else v.rng.randrange(len(data))])


def replaced(v, path, content):
    path.unlink()
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)


def other_tables(path):
    import sqlite3

    path.unlink()
    with sqlite3.connect(path) as index:
        index.execute("CREATE TABLE models (x)")
        index.execute("INSERT INTO models VALUES (randomblob(1000))")


def other_artifact(v, cache):
    other = v.write("other.relay", MODEL.replace("nn.relu", "exp"))
    v.relay("compile", other, "-o", v.folder / "other.rart")
    for artifact in cache.glob("*.rart"):
        artifact.write_bytes((v.folder / "other.rart").read_bytes())


def names(v, path):
    import sqlite3

    with sqlite3.connect(path) as index:
        index.execute("UPDATE models SET model = ?, how = ?", ("../../\x1b[2Jx\r\u202e", "\x1b[31m" + "y" * 1_000))
