"""Hostile command lines."""

from environments import model, run, shell
from harness import Kinds, Run, misuse, refused, silent

kinds = Kinds("environment")

VERBS = [
    "run",
    "compile",
    "opt",
    "check",
    "bench",
    "profile",
    "inspect",
    "explore",
    "cache",
    "doctor",
    "explain",
    "help",
    "completion",
]
kinds(
    "verb",
    "words that are no verbs",
    misuse(),
    lambda v: Run([v.one_of(["\x1b[2J", "", "x" * 100_000, "\udcff", "run "])]),
)
kinds(
    "option",
    "options that do not exist",
    misuse(),
    lambda v: Run(
        [v.one_of(VERBS), v.one_of(["--\x1b[2J", "--" + "x" * 100_000, "--no-such", "-" + "z", "--=", "--run=1"])]
    ),
)
kinds("many-arguments", "10^5 arguments", misuse(), lambda v: run(v, *["x"] * v.size(10, 20_000)))
kinds(
    "threads-option",
    "--threads that is not a number",
    misuse(),
    lambda v: run(v, "--threads", v.one_of(["-1", "1025", "many", "9" * 10_000, "1e3", "0x4", ""])),
)
kinds(
    "opt-level",
    "-O that is not a number",
    misuse(),
    lambda v: run(v, "-O", v.one_of(["4", "-1", "x", "", "9" * 1_000])),
)
kinds(
    "target",
    "targets that do not exist",
    refused("R0502 R0504"),
    lambda v: run(
        v,
        "--target",
        v.one_of(
            [
                "zen99",
                "",
                ",",
                "native,",
                "native,+" + "x" * 100_000,
                "\x1b[2J",
                "native,-avx2,-avx2,+nonsense",
                "x86:y:z",
            ]
        ),
    ),
)
kinds(
    "shape-option",
    "--shape that is none",
    refused("R0504 R0601 R0405"),
    lambda v: run(
        v,
        "--shape",
        v.one_of(
            ["x", "=", "x=", "x=,", "x=1,,2", "x=-2,4", f"x={2**64}", "x=" + "1," * 50_000 + "1", "\x1b=1", "q=2,4"]
        ),
    ),
)
kinds(
    "input-option",
    "--input that is none",
    refused("R0504 R0601 R0401"),
    lambda v: run(v, "--input", v.one_of(["x", "=", "x=", "q=1", "x=\x1b[2J", "x=" + "y" * 100_000, "\udcff=1"])),
)
kinds(
    "inputs-many",
    "10^4 times --input",
    refused("R0601", "twice"),
    lambda v: run(v, *["--input", "x=1"] * v.size(10, 10_000)),
)
kinds(
    "memory-option",
    "--memory-limit that is no size",
    refused("R0504"),
    lambda v: run(v, "--memory-limit", v.one_of(["0", "x", "-1", "1Q", "9" * 1_000, "\x1b[2J", "1e3", "0x10"])),
)
kinds(
    "passes",
    "passes that do not exist",
    refused("R0501"),
    lambda v: v.run(
        "opt",
        model(v),
        "--passes",
        v.one_of(["x", "fuse_ops,x", ",", "\x1b[2J", "x" * 100_000, ",".join(["fuse_opps"] * 1_000)]),
    ),
)
kinds(
    "emit",
    "stages that do not exist",
    misuse("emit"),
    lambda v: Run(["opt", model(v), "--emit", v.one_of(["x", "\x1b[2J"])]),
)
kinds(
    "emit-kernel",
    "a kernel with a number that does not exist",
    refused("R0504"),
    lambda v: v.run("opt", model(v), "--emit", "loop", "--kernel", v.one_of(["9" * 30, "-1", "99"])),
)
kinds(
    "explain",
    "codes that do not exist",
    refused("R0504"),
    lambda v: Run(["explain", v.one_of(["R9999", "", "x" * 100_000, "\x1b[2J", "R0101\n"])]),
)
kinds(
    "output-name",
    "outputs whose names tell nothing",
    refused("R0504 R0401"),
    lambda v: run(v, "--output", v.one_of(["/proc/no/such/x.npz", "x/\x1b[2J.npz", "y" * 300 + ".npz"])),
)
kinds(
    "stdin",
    "a model from standard input that never ends, or is nothing",
    refused("R0401 R0402 R0504"),
    lambda v: Run(["run", v.one_of(["-", "/dev/stdin", "/proc/self/fd/0"])], stdin=b"\0" * v.one_of([0, 100])),
)
kinds("no-arguments", "nothing at all", silent(), lambda v: Run([], wrapper=shell('"$@"; [ $? = 2 ]')))
kinds("empty-argv", "not even the name of the program", silent(), lambda v: Run([], wrapper=shell('exec -a "" "$@"')))
