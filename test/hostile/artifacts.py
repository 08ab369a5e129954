"""Hostile artifacts. Those behind the checksums are made by relay_hostile_artifact (test/tools), whose list says
how."""

import subprocess
import threading

from harness import BIN, VERSION, Kinds, either, fine, refused

kinds = Kinds("artifact")

GRAPH = """def @main(%x: Tensor[(n, 4), float32], %w: Tensor[(8, 4), float32]) {
  (nn.relu(nn.dense(%x, %w)), nn.dense(%x, meta[relay.Constant][0]))
}
#[metadata]
{"relay.Constant": [{"shape": [2, 4], "dtype": "float32", "values": [1, 2, 3, 4, 5, 6, 7, 8]}]}
"""
FUNCTIONS = """import "list"
def @total(%n: int32, %l: List[int32]) -> int32 { match (%l) { Cons(%a, %r) => @total(%n + %a, %r), Nil => %n } }
def @f(%n: int32) -> (int32, int32) { if (equal(%n, 0)) { (%n, 1) } else { (@total(%n, Cons(%n, Nil)), @f(%n - 1).0) } }
def @main(%n: int32) { @f(%n) }
"""
TOOL = BIN / "relay_hostile_artifact"
made, lock = {}, threading.Lock()


def sound(v, text):
    """The artifact of a program, compiled once."""
    with lock:
        if text not in made:
            out = v.folder / "sound.rart"
            v.relay("compile", v.write("sound.relay", VERSION + text), "-o", out)
            made[text] = out.read_bytes()
        return made[text]


def given(text):
    return ["--input", "n=3"] if text == FUNCTIONS else ["--shape", "x=3,4"]


def changed(v, kind, text=None):
    """Behind the checksum. A kind that a program has no place for is tried on the other one."""
    for program in [text] if text else [GRAPH, FUNCTIONS][:: 1 - 2 * (v.index % 2)]:
        (v.folder / "in.rart").write_bytes(sound(v, program))
        done = subprocess.run([TOOL, kind, str(v.rng.randrange(2**31)), v.folder / "in.rart", v.folder / "a.rart"])
        if done.returncode == 0:
            verb = "run" if kind in RUN_ONLY else v.one_of(["run", "run", "inspect"])
            return v.run(verb, v.folder / "a.rart", *(given(program) if verb == "run" else []))
    raise AssertionError(f"{kind} changes neither program: exit status {done.returncode}")


def bytes_changed(v, change, text=GRAPH):
    data = bytearray(sound(v, text))
    change(data)
    return v.run("run", v.write("a.rart", bytes(data)), *given(text))


def put(at, value, size=8):
    def change(data):
        data[at : at + size] = (value % 2 ** (8 * size)).to_bytes(size, "little")

    return change


RUN_ONLY = ("step-tasks-many", "check-fails", "data-cyclic", "branch-on-value", "field-of-tensor", "field-index",
            "escapes", "kernel-name", "array-negative", "array-overflow", "binding-offset", "array-bytes",
            "array-bytes-small")  # fmt: skip
INVALID = "R0402 R0405"
BEHIND = [  # kind, what it attacks, what must be answered
    ("input-index", "an input that is no array", refused(INVALID, "array")),
    ("output-index", "an output that is no array", refused(INVALID, "array")),
    ("output-names", "more names than outputs", refused(INVALID, "names")),
    ("operand-index", "an operand that is no array", refused(INVALID)),
    ("step-kernel", "a step whose kernel does not exist", refused(INVALID, "kernel")),
    ("step-operands", "a step whose operands lie beyond the pool", refused(INVALID)),
    ("step-sizes", "a step whose sizes lie beyond the pool", refused(INVALID)),
    ("step-tasks", "a step whose number of tasks is no size", refused(INVALID)),
    ("step-tasks-many", "a step of 2^40 tasks on arrays of a few bytes", refused("R0402", "tasks")),
    ("array-constant", "an array of a constant that does not exist", refused(INVALID)),
    ("array-input", "an array of an input that does not exist", refused(INVALID)),
    ("array-rank", "an array of 1,000 dimensions", refused(INVALID)),
    ("array-negative", "a result of a negative size", refused("R0402 R0405 R0601")),
    ("array-overflow", "a result of 2^160 elements", refused("R0402 R0405 R0601 R0603")),
    ("array-bytes", "a result of impossibly many bytes, or fewer than none", refused("R0402 R0405 R0601 R0603")),
    (
        "array-bytes-small",
        "a result whose bytes are fewer than its elements': results are dense, whatever it says",
        fine(),
    ),
    ("array-kind", "a result that is a temporary", refused(INVALID)),
    ("array-part", "an array that is a part of what holds no parts", refused(INVALID)),
    ("array-name", "a name of a mebibyte", refused(INVALID)),
    ("constant-bytes", "a constant larger than what is stored", refused(INVALID)),
    ("binding-dimension", "a shape variable from a dimension that does not exist", refused(INVALID)),
    ("binding-input", "a shape variable from an input that does not exist", refused(INVALID)),
    ("binding-variable", "a binding of a variable that does not exist", refused(INVALID)),
    ("binding-factor", "a factor of zero, or of -1: the least number divided by it", refused(INVALID)),
    ("binding-offset", "an offset of -2^63: the difference overflows", refused("R0402 R0405 R0601")),
    ("size-variable", "a size of a variable that does not exist", refused(INVALID)),
    ("size-empty", "a size without words", refused(INVALID)),
    ("size-stack", "a size that takes from an empty stack", refused(INVALID)),
    ("size-deep", "a size of 10^5 words", refused(INVALID)),
    ("check-fails", "a check that never holds, whose message holds escapes", refused("R0302 R0601 R0402", "never")),
    ("kernel-name", "a kernel that the code does not have, named with escapes", refused("R0402", "no_such_kernel")),
    ("kernel-scratch", "extremely much scratch memory, or less than none", refused(INVALID)),
    ("kernel-empty", "a kernel without a name", refused(INVALID)),
    ("no-segments", "a program of nothing", refused(INVALID)),
    ("segment-twice", "a graph of two segments", either("R0402 R0405")),
    ("function-parameters", "more parameters than registers", refused(INVALID)),
    ("function-registers", "4 billion registers, or none, or more than are used", either(INVALID)),
    ("function-empty", "a function without code", refused(INVALID)),
    ("function-runs-off", "code that runs off its end", refused(INVALID)),
    ("call-index", "a call of a function that does not exist", refused(INVALID)),
    ("call-operands", "operands beyond the pool", refused(INVALID)),
    ("jump-target", "a jump to nowhere", refused(INVALID)),
    ("register-index", "a register beyond the last", refused(INVALID)),
    ("register-empty", "a register that is read before it is set", refused(INVALID)),
    ("result-register", "a result in a register beyond the last", refused(INVALID)),
    ("switch-list", "a switch with 4 billion targets", refused(INVALID)),
    ("switch-target", "a switch to nowhere", refused(INVALID)),
    ("constructor-tag", "a constructor that its type does not have", refused(INVALID)),
    ("constructor-arity", "a constructor of 4 billion fields, or of thousands that nothing uses", either(INVALID)),
    ("field-index", "a field that no value has", refused("R0402 R0405 R0601")),
    ("constant-index", "a constant that does not exist", refused(INVALID)),
    ("data-cyclic", "a function that calls itself before all else", refused("R0402 R0405 R0603")),
    ("signature-inputs", "fewer inputs than the first function has parameters", refused(INVALID)),
    ("signature-type", "an input of a type that does not exist", refused(INVALID)),
    ("signature-shape", "an input of 5,000 dimensions", refused(INVALID)),
    ("field-of-tensor", "code that reads a field of a tensor", refused("R0402 R0405 R0601")),
    ("branch-on-value", "code that branches on what is no truth value", refused("R0402 R0405 R0601")),
    ("escapes", "escapes and invalid UTF-8 in names", either("R0402 R0601")),
    ("bytes-count", "counts of the description that are huge", either("R0402 R0405 R06")),
    ("bytes-flipped", "bits of the description changed", either("R0402 R0405 R06")),
]
for name, attacks, answer in BEHIND:
    kinds(name, attacks, answer, lambda v, kind=name: changed(v, kind))

HEADER = [  # name, what, place in the header, value
    ("version", "another version of the format", 8, 4, (0, 5, 6, -1), "R0602"),
    ("header-size", "another size of the header", 12, 4, (0, 63, 2**31), "R0402"),
    ("file-size", "another size of the file", 16, 8, (0, 2**63, -1), "R0402"),
    ("description-offset", "a description outside of the file", 24, 8, (0, 2**63, -1, 2**32), "R0402"),
    ("description-size", "a description that is larger than the file", 32, 8, (0, 2**63, -1), "R0402"),
    ("code-offset", "code outside of the file, or not aligned", 40, 8, (0, 2**63, -64, 65), "R0402"),
    ("code-size", "code that is larger than the file", 48, 8, (0, 2**63, -1), "R0402"),
]
for name, attacks, at, size, values, code in HEADER:
    kinds(name, attacks, refused(code), lambda v, a=at, s=size, x=values: bytes_changed(v, put(a, v.one_of(x), s)))


def zeroed(data):
    offset = int.from_bytes(data[40:48], "little")
    data[offset : offset + 4096] = bytes(len(data[offset : offset + 4096]))


kinds(
    "code-zeroed",
    "code that is zeros, under the right header",
    refused("R0402", "code|constant"),
    lambda v: bytes_changed(v, zeroed),
)
kinds(
    "appended",
    "bytes behind the end",
    refused("R0402"),
    lambda v: bytes_changed(v, lambda d: d.extend(b"\0" * v.size(1, 10**6))),
)
kinds(
    "cut",
    "cut anywhere",
    refused("R0402"),
    lambda v: bytes_changed(v, lambda d: d.__delitem__(slice(v.rng.randrange(len(d)), None))),
)
kinds(
    "flipped",
    "any bit changed",
    either("R0402 R0602"),
    lambda v: bytes_changed(
        v,
        lambda d: put(at := v.rng.randrange(len(d)), d[at] ^ (1 << v.rng.randrange(8)), 1)(d),
        v.one_of([GRAPH, FUNCTIONS]),
    ),
)
kinds("empty", "an empty file", refused("R0402", "empty"), lambda v: v.run("run", v.write("a.rart", b"")))
kinds(
    "only-magic",
    "the first bytes of an artifact, and zeros: version 0, where there are enough",
    refused("R0402 R0602"),
    lambda v: v.run("run", v.write("a.rart", b"\x89RELAY\r\n" + b"\0" * v.size(0, 56))),
)
kinds("sparse", "a sparse file of 1 TiB", refused("R0402 R0603 R0401"), lambda v: sparse(v))
kinds(
    "sound",
    "the artifacts that the kinds change are sound themselves",
    fine(),
    lambda v: bytes_changed(v, lambda data: None, v.one_of([GRAPH, FUNCTIONS])),
)


def sparse(v):
    path = v.write("a.rart", sound(v, GRAPH)[:64])
    with open(path, "r+b") as file:
        file.truncate(1 << 40)
    return v.run("run", path)
