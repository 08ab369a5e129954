"""Hostile texts: broken and borderline Relay programs, with their metadata, weights and schedules."""

import os

from harness import VERSION, Kinds, either, fine, refused
from texts import BIG, main, tensor

kinds = Kinds("program")


def mutated(v, text, changes):
    data = bytearray((VERSION + text).encode())
    for _ in range(changes):
        at = v.rng.randrange(len(data))
        match v.rng.randrange(4):
            case 0:
                data[at] = v.rng.randrange(256)
            case 1:
                del data[at : at + v.rng.randrange(1, 9)]
            case 2:
                data[at:at] = bytes(
                    v.rng.choice(b"()[]{}%@,;:=\"'<>0129-#/*\n\0") for _ in range(v.rng.randrange(1, 4))
                )
            case _:
                data[at:at] = data[v.rng.randrange(len(data)) :][: v.rng.randrange(1, 20)]
    return v.program(bytes(data), verb="check")


SAMPLE = """type L[A] { C(A, L[A]), N, }
def @len[A](%l: L[A]) -> int32 { match (%l) { C(_, %r) => 1 + @len(%r), N => 0 } }
def @main(%x: Tensor[(n, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32], %c: bool) {
  let %f = fn (%y: Tensor[(n, 4, 8, 8), float32]) { nn.relu(%y) };
  %0 = nn.conv2d(%x, %w, padding=[1, 1], channels=4, kernel_size=[3, 3]);
  if (%c) { (%f(%0), @len(C(1, N))) } else { (%0, 2) }
}
#[metadata]
{"relay.Constant": [{"shape": [2], "dtype": "float32", "values": [1, 2.5]}]}
"""

kinds(
    "empty",
    "nothing, or only white space",
    refused("R0103 R0101 R0402"),
    lambda v: v.program(v.one_of([b"", b"\n", b" " * 100_000, b"\n" * 100_000])),
)
kinds("only-version", "a version line and nothing else", refused("R0203 R0101", "main"), lambda v: v.program(""))
kinds(
    "zero-bytes",
    "zero bytes in the text",
    refused("R01"),
    lambda v: v.program(VERSION.encode() + v.one_of([b"\0", b"def @ma\0in() { 1 }", b"def @main() { 1 }\0"])),
)
kinds(
    "zero-byte-in-string",
    "a zero byte in a quoted name",
    either("R01"),
    lambda v: v.program(b'#[version = "0.0.5"]\ndef @main(%"a\0b": int32) { %"a\0b" }'),
)
kinds(
    "invalid-utf8",
    "bytes that are no UTF-8, outside and inside of strings",
    refused("R01 R0201"),
    lambda v: v.program(
        VERSION.encode()
        + v.one_of(
            [
                b"\xff\xfe",
                b'def @main(%"\xff": int32) { %"\xc3\x28" }',
                b"def @main() { \xed\xa0\x80 }",
                b"def @main() { \xf8\x88\x80\x80\x80 }",
            ]
        )
    ),
)
kinds(
    "utf16",
    "a text in UTF-16",
    refused("R01"),
    lambda v: v.program((VERSION + main("1")).encode(v.one_of(["utf-16", "utf-16-le", "utf-32"]))),
)
kinds(
    "bom",
    "a byte order mark before the version",
    either("R01"),
    lambda v: v.program(b"\xef\xbb\xbf" + (VERSION + main("1")).encode()),
)
kinds(
    "crlf",
    "lines that end as on Windows",
    fine("1"),
    lambda v: v.program((VERSION + "// a comment\n" + main("\n1\n")).replace("\n", "\r\n").encode()),
)
kinds(
    "escapes",
    "ANSI escapes and other control characters where an error shows the line",
    refused("R01"),
    lambda v: v.program(
        "def @main() { 1 }\n"
        f"{v.one_of([chr(27) + '[2J', chr(7) * 5, chr(13) + 'ok', chr(0x9B) + '31m', chr(8) * 9])} ?"
    ),
)
kinds(
    "escapes-in-names",
    "ANSI escapes in a quoted name that an error shows",
    refused("R0201"),
    lambda v: v.program(
        main(f'%"{v.one_of([chr(27) + "[2Jx", "a" + chr(13) + "b", chr(0x202E) + "abc", chr(0x9B) + "1m"])}"')
    ),
)
kinds(
    "escapes-in-attributes",
    "the same in the value of an attribute",
    refused("R0206 R01"),
    lambda v: v.program(main(f'cast(%x, dtype="{v.one_of([chr(27) + "[2J", chr(0x202E), chr(0x9B)])}")', tensor("2"))),
)
kinds(
    "escapes-in-inputs",
    "ANSI escapes in the name of an input, which notes and results show",
    either("R01"),
    lambda v: v.program(
        main(
            f'%"a{v.one_of([chr(27) + "[2J", chr(0x202E), chr(0x9B), chr(13)])}b"',
            f'%"a{v.one_of([chr(27) + "[2J", chr(0x202E), chr(0x9B), chr(13)])}b": Tensor[(2), float32]',
        )
    ),
)
kinds(
    "string-open",
    "a string that does not end",
    refused("R0101 R0102", "string"),
    lambda v: v.program(main(f'cast(%x, dtype="{"x" * v.size(10, 10**6)}', tensor("2"))),
)
kinds(
    "comment-open",
    "a comment that does not end",
    refused("R01"),
    lambda v: v.program(main("1") + "/* " + "x" * v.size(10, 10**6)),
)
kinds(
    "string-escape",
    "escapes in strings that are none",
    refused("R01 R0206"),
    lambda v: v.program(
        main(f'cast(%x, dtype="{v.one_of([chr(92), chr(92) + "q", chr(92) + "x", chr(92) + "u12"])}")', tensor("2"))
    ),
)
kinds(
    "long-name",
    "a name of a million letters that is not known",
    refused("R0201 R0102 R01"),
    lambda v: v.program(main("%" + "x" * v.size(1_000, 10**6))),
)
kinds(
    "long-operator",
    "an operator whose name has a million letters",
    refused("R0202"),
    lambda v: v.program(main("x" * v.size(1_000, 10**5) + "(1)")),
)
kinds(
    "long-input-name",
    "an input whose name has 10^5 letters",
    either("R0405"),
    lambda v: v.program(main("%" + "x" * n, "%" + "x" * n + ": int32") if (n := v.size(1_000, 10**5)) else ""),
)
kinds(
    "long-number",
    "a number of a million digits",
    refused("R0102"),
    lambda v: v.program(main(v.one_of(["9", "0.", "1e", "0x"]) + "9" * v.size(100, 10**6))),
)
kinds(
    "float-range",
    "floats beyond their type",
    refused("R0102"),
    lambda v: v.program(main(v.one_of(["1e39f", "1e999", "70000f16", "1e309f64"]))),
)
kinds(
    "field-number",
    "a field whose number is huge",
    refused("R01 R03"),
    lambda v: v.program(main(f"(1, 2).{v.one_of([2, 2**31, 2**32, 2**64, '9' * 100])}")),
)
kinds(
    "graph-number",
    "a graph variable whose number is huge",
    refused("R0201 R0102"),
    lambda v: v.program(main(f"%{v.one_of([2**31, 2**32 + 1, 2**64, '9' * 100])}")),
)
kinds(
    "version-odd",
    "versions that do not exist",
    refused("R0103 R0101"),
    lambda v: v.program(
        v.one_of(
            [
                b'#[version = "0.0.999999999999999999999"]\n',
                b'#[version = ""]\n',
                b"#[version]\n",
                b'#[version = "0.0.5"\n',
                b"def @main() { 1 }",
            ]
        )
        + b"def @main() { 1 }"
    ),
)
kinds(
    "metadata-malformed",
    "a metadata section that is no JSON, or of wrong things",
    refused("R0104"),
    lambda v: v.program(main("meta[relay.Constant][0]") + "\n#[metadata]\n" + v.one_of(METADATA)),
)
kinds(
    "metadata-sizes",
    "constants of the metadata whose shape is not that of their values",
    refused("R0104 R0405"),
    lambda v: v.program(
        main("meta[relay.Constant][0]")
        + '\n#[metadata]\n{"relay.Constant": [{"shape": '
        + v.one_of(["[3]", "[-1]", f"[{BIG}, 4]", "[9e99]", "[1.5]", "[[2]]", "2", f"[{2**64}]"])
        + ', "dtype": "float32", "values": [1, 2]}]}'
    ),
)
kinds(
    "metadata-index",
    "references to what the metadata does not have",
    refused("R0104 R0101 R0102"),
    lambda v: v.program(
        main(f"meta[{v.one_of(['relay.Constant', 'x', 'relay.Constant.y'])}][{v.one_of([1, 2**31, 2**64, -1])}]")
        + '\n#[metadata]\n{"relay.Constant": [{"shape": [1], "dtype": "float32", "values": [1]}]}'
    ),
)
kinds(
    "weights-file",
    "a file of weights beside the program that is cut or changed",
    refused("R01 R04"),
    lambda v: weights(v),
)
kinds(
    "weights-sound",
    "the program with weights that the kinds change is sound itself",
    fine(),
    lambda v: (v.write("p.safetensors", sound_weights()), of_file(v, "p.safetensors"))[1],
)
kinds(
    "weights-elsewhere",
    "weights outside of the program's folder",
    refused("R0401", "p.relay|pipe|file"),
    lambda v: weights_elsewhere(v),
)
kinds(
    "import-path",
    "an import that names a file",
    refused("R0208"),
    lambda v: v.program(
        f'import "{v.one_of(["../../etc/passwd", "/dev/zero", "", "a" * 10**5, chr(27) + "[2J"])}"\n' + main("1")
    ),
)
kinds(
    "mutated",
    "any bytes of a program changed, removed or doubled",
    either("R01 R02 R03"),
    lambda v: mutated(v, SAMPLE, 1 + v.index % 6),
)
kinds(
    "cut",
    "a program cut anywhere",
    refused("R01 R02 R03"),
    lambda v: v.program((VERSION + SAMPLE).encode()[: v.rng.randrange(len(SAMPLE) - 200)]),
)
kinds(
    "tokens",
    "any tokens in any order",
    refused("R01 R02 R03"),
    lambda v: v.program(" ".join(v.rng.choice(TOKENS) for _ in range(v.size(10, 20_000)))),
)
kinds("schedule-text", "a schedule whose text is mutated", either("R0503"), lambda v: schedule(v))

METADATA = ["", "{", "[]", "null", '{"relay.Constant": 5}', '{"relay.Constant": [5]}', '{"relay.Constant": [{}]}',
            '{"relay.Constant": [{"shape": [1], "dtype": "float99", "values": [1]}]}',
            '{"relay.Constant": [{"shape": [1], "dtype": 5, "values": "x"}]}', '{"a": 1, "a": 2',
            '{"relay.Constant": [}', "\0", "{" + '"a":' * 1000, '"' + "x" * 100_000]  # fmt: skip
TOKENS = ("def fn let if else match type import ref ref_read @main @f %x %0 ( ) [ ] { } , ; : = => -> . + - * / < > "
          "1 2f 1.5 \"a\" Tensor float32 int32 nn.relu add zeros shape axis meta True").split()  # fmt: skip


def weights(v):
    """A program and the .safetensors file it refers to."""
    import json
    import struct

    header = {"c0": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}
    entry = header["c0"]
    match v.index % 9:
        case 0:
            entry["shape"] = [BIG, 4]
        case 1:
            entry["data_offsets"] = [0, 2**63]
        case 2:
            entry["data_offsets"] = [16, 0]
        case 3:
            entry["data_offsets"] = [-16, 0]
        case 4:
            entry["dtype"] = "F99"
        case 5:
            entry["shape"] = [-4]
        case 6:
            header["c0"] = 7
        case 7:
            entry["shape"] = [1] * 100_000
        case _:
            entry["shape"] = [5]
    text = json.dumps(header).encode()
    v.write(
        "p.safetensors",
        struct.pack("<Q", v.one_of([len(text), 2**63, len(text) + 1, 0]) if v.index > 8 else len(text))
        + text
        + b"\0" * 16,
    )
    return of_file(v, "p.safetensors")


def of_file(v, name):
    """A program whose constant is c0 of a file."""
    return v.program(
        main("meta[relay.Constant][0]")
        + '\n#[metadata]\n{"relay.Constant": [{"shape": [4], "dtype": "float32", "tensor": "c0"}], '
        + f'"file": "{name}"}}'
    )


def sound_weights():
    text = b'{"c0":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}'
    return len(text).to_bytes(8, "little") + text + b"\0" * 16


def weights_elsewhere(v):
    """Sound weights outside the program's folder, by a path or a link that leads there; or no file at all."""
    outside = v.folder / "outside"
    outside.mkdir()
    (outside / "w").write_bytes(sound_weights())
    inside = v.folder / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(outside / "w")
    (inside / "folder").symlink_to(outside)
    os.mkfifo(inside / "pipe")
    name = v.one_of(["../outside/w", str(outside / "w"), "link", "folder/w", "pipe", ".", "x/../../outside/w"])
    of_file(v, name)
    program = inside / "p.relay"
    program.write_bytes((v.folder / "p.relay").read_bytes())
    return v.run("run", program)


def schedule(v):
    model = v.write("p.relay", VERSION + main("nn.relu(nn.dense(%x, %w))", tensor("8, 4") + ", " + tensor("8, 4", "w")))
    made = v.relay("opt", model, "--emit", "schedule", "--kernel", "fused_nn_dense_nn_relu").stdout
    data = bytearray(made)
    for _ in range(1 + v.index):
        at = v.rng.randrange(len(data))
        data[at : at + v.rng.randrange(3)] = v.rng.choice(
            [b"9", b"/", b"999999999999", b"-1", b"\0", b":", b"x", b"%", b"\x1b", b"0"]
        )
    return v.run("run", model, "--schedule", f"fused_nn_dense_nn_relu={v.write('s.txt', bytes(data))}")
