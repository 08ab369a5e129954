"""Hostile kinds: their definition, how they run, and the rules that hold for all of them.

A kind is one line: its name, what it attacks, the required answer, and a function that makes a variant. The required
answer comes from the documentation, never from the output of a run. Every answer must be free of signals, time-outs,
internal errors, and control characters on stderr that a terminal would obey.
"""

import dataclasses
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = ROOT / "build" / "release" / "bin"
SECONDS = 20
MEMORY = 3 << 30  # of address space; the stack of a program's calls reserves 1 GiB of it
STDERR = 100_000  # bytes of all messages of a run: a hundred, which is where they end
LINE = 2_200  # of them in a line
ECHO = 200  # times that one character may stand there: names and lines of the input are cut
VERSION = '#[version = "0.0.5"]\n'


@dataclasses.dataclass
class Answer:
    """The exit statuses that are right, the codes of the errors (by their beginnings), and words of the message."""

    statuses: tuple
    codes: tuple = ()
    words: str = ""
    silent: bool = False  # stderr is closed or belongs to another program: only how it ends is looked at

    def wrong(self, status, said):
        if status not in self.statuses:
            return f"exit status {status}, not {' or '.join(map(str, self.statuses))}"
        if self.silent:
            return ""
        if status == 0:
            return "" if re.search(self.words, said, re.I) or 1 in self.statuses else f"no word of /{self.words}/"
        codes = re.findall(r"error\[(R\d+)\]", said)
        if not codes:
            return "no error with a code"
        if self.codes and not codes[0].startswith(self.codes):
            return f"error {codes[0]}, not {' or '.join(self.codes)}"
        return "" if re.search(self.words, said, re.I) else f"no word of /{self.words}/"

    def __str__(self):
        return " ".join(filter(None, ["exit " + "/".join(map(str, self.statuses)), *self.codes, self.words]))


def fine(words=""):
    """It runs. The words may stand on stderr or stdout."""
    return Answer((0,), (), words)


def refused(codes, words=""):
    return Answer((1,), tuple(codes.split()), words)


def misuse(words=""):
    """A command line that cannot be understood."""
    return Answer((2,), ("R0504",), words)


def either(codes="R0", words=""):
    """A mutation may hit something that does not matter: it runs, or it is refused with one of these codes."""
    return Answer((0, 1), tuple(codes.split()), words)


def silent():
    """The program ends by itself and has no one to report to."""
    return Answer((0, 1, 2), silent=True)


@dataclasses.dataclass
class Run:
    """A command line of the program; `wrapper` is what starts it, where the surroundings are the attack."""

    arguments: list
    environment: dict = dataclasses.field(default_factory=dict)  # a value None: not set
    stdin: bytes = b""
    stdout: object = None  # a file instead of a pipe
    memory: int = MEMORY
    limits: list = dataclasses.field(default_factory=list)  # of prlimit, as "--nproc=4"
    wrapper: list = dataclasses.field(default_factory=list)  # a command before the program
    cwd: object = None
    stderr: int = STDERR
    then: object = None  # says what is wrong with what the run left behind, or nothing


class Variant:
    """A variant of a kind: the first is the smallest, the last the largest. Kind, number and seed determine it."""

    def __init__(self, kind, index, count, seed, folder, program):
        self.index, self.count, self.folder, self.program_path = index, count, folder, program
        self.rng = random.Random(f"{seed} {kind} {index}")

    def size(self, least, most):
        """From `least`, in the first variant, to `most`, in the last."""
        if self.index == 0 or self.count == 1:
            return least
        if self.index == self.count - 1:
            return most
        return int(least * (most / max(least, 1)) ** self.rng.random())

    def one_of(self, things):
        """Another one in each variant, until all were there."""
        return list(things)[self.index % len(things)]

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))
        return path

    def program(self, text, *arguments, verb="run", header=VERSION):
        if isinstance(text, str):
            text = (header + text).encode("utf-8", "surrogateescape")
        return self.run(verb, self.write("p.relay", text), *arguments)

    def run(self, verb, *arguments, cache=False, **named):
        own = ["--no-cache"] if verb == "run" and not cache else []
        return Run([verb, *(str(a) if isinstance(a, int) else a for a in arguments), *own], **named)

    def relay(self, *arguments):
        """Prepares something: must succeed."""
        words = [self.program_path, *map(str, arguments)]
        done = subprocess.run(words, capture_output=True, timeout=120, env=surroundings())
        if done.returncode:
            raise AssertionError(f"preparing: {words}: {done.stderr.decode(errors='replace')}")
        return done


@dataclasses.dataclass
class Kind:
    name: str
    attacks: str
    answer: Answer
    make: object
    long: bool = False  # takes seconds: not in the short form


class Kinds(list):
    """The kinds of a file, each added by a line."""

    def __init__(self, family):
        super().__init__()
        self.family = family

    def __call__(self, name, attacks, answer, make, long=False):
        self.append(Kind(f"{self.family}.{name}", attacks, answer, make, long))


def surroundings(changes=None):
    env = {**os.environ, "RELAY_CACHE": "off", "RELAY_PYTHON": sys.executable, **(changes or {})}
    return {name: value for name, value in env.items() if value is not None}


# The allocator returns null instead of reporting an error, because the program has to cope with that.
SANITIZED = {"ASAN_OPTIONS": "allocator_may_return_null=1:max_allocation_size_mb=16384"}


def command(run, program, sanitized):
    limits = ["prlimit", "--core=0", *run.limits]
    if not sanitized:
        limits.append(f"--as={run.memory}")
    return [*limits, *map(str, run.wrapper), str(program), *map(os.fspath, run.arguments)]


# Files that hold no model, whatever their names say: a picture, a document, a text, an archive, a program, nothing.
OTHER_FILES = (b"\x89PNG\r\n\x1a\n" + bytes(64), b"%PDF-1.7\n" + b"1 0 obj\n" * 40, b"Dear reader,\n" * 9,
               b"PK\x03\x04" + bytes(200), b"\x7fELF\x02\x01\x01" + bytes(99), b"")  # fmt: skip

UNREADABLE = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]")
INTERNAL = re.compile(
    r"internal|assert|\bbug\b|traceback|terminate called|sanitizer|runtime error:|stack smashing", re.I
)
REPEATED = re.compile(rf"([^\s])\1{{{ECHO}}}")


def wrong_with(kind, run, status, out, err):
    """Returns the fault in the way that a run ended, or None."""
    err = b"".join(line for line in err.splitlines(True) if b"AddressSanitizer failed to allocate" not in line)
    said = err.decode(errors="replace")
    if status < 0 or status >= 128:
        name = signal.Signals(-status if status < 0 else status - 128).name
        return f"ended by {name}"
    if INTERNAL.search(said):
        return "speaks of an internal error"
    if found := UNREADABLE.search(err):
        return f"stderr holds {found.group()!r} unescaped"
    if found := UNREADABLE.search(out):
        return f"stdout holds {found.group()!r} unescaped"
    try:
        err.decode()
    except UnicodeDecodeError:
        return "stderr is no UTF-8"
    if len(err) > run.stderr:
        return f"stderr takes {len(err)} bytes"
    if (longest := max((len(line) for line in said.split("\n")), default=0)) > LINE:
        return f"a line of stderr takes {longest} characters"
    if REPEATED.search(said):
        return f"stderr echoes more than {ECHO} characters"
    return kind.answer.wrong(status, said + "\n" + out[:10_000].decode(errors="replace")) or (
        run.then(status, out, said) if run.then else ""
    )


def run_variant(kind, index, count, seed, program=None, sanitized=False):
    """Returns the fault of this variant, or None, and the text that it printed."""
    program = program or BIN / "relay"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hostile"))
    try:
        run = kind.make(Variant(kind.name, index, count, seed, folder, program))
        job = subprocess.Popen(
            command(run, program, sanitized),
            stdin=subprocess.PIPE,
            stdout=run.stdout or subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=run.cwd or folder,
            env=surroundings({**(run.environment or {}), **(SANITIZED if sanitized else {})}),
            start_new_session=True,
        )
        try:
            out, err = job.communicate(run.stdin, timeout=SECONDS * (10 if sanitized else 1))
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            out, err = job.communicate()
            return f"no answer within {SECONDS} s", err
        return wrong_with(kind, run, job.returncode, out or b"", err), err
    finally:
        for path in folder.rglob("*"):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o700)
        shutil.rmtree(folder, ignore_errors=True)
