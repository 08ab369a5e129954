"""Hostile arrays: .npy and .npz files and what else --input takes."""

import io
import struct
import zipfile

from harness import VERSION, Kinds, either, fine, refused

kinds = Kinds("array")

MODEL = "def @main(%x: Tensor[(n, 4), float32]) { nn.relu(%x) }"
BAD = "R0402 R0405 R0601 R0603"
BIG = 2**62


def npy(header, data=b"", version=(1, 0)):
    text = header.encode("utf-8", "surrogateescape") + b"\n"
    count = struct.pack("<H" if version[0] == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes(version) + count + text + data


def header(shape="(2, 4)", descr="'<f4'", order="False"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


GOOD = npy(header(), b"\0" * 32)


def file(v, content, name="x.npy", how="x={}"):
    model = v.write("m.relay", VERSION + MODEL)
    return v.run("run", model, "--input", how.format(v.write(name, content)))


def zipped(entries, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return out.getvalue()


kinds("sound", "the array that the kinds change is sound itself", fine(), lambda v: file(v, GOOD))
kinds("cut", "cut anywhere", refused(BAD), lambda v: file(v, GOOD[: v.rng.randrange(len(GOOD))]))
kinds("appended", "bytes behind the end", either(BAD), lambda v: file(v, GOOD + b"x" * v.size(1, 10**6)))
kinds("flipped", "any bits of the header changed", either(BAD), lambda v: flipped(v, GOOD))
kinds(
    "huge-shape",
    "a shape whose product overflows",
    refused(BAD),
    lambda v: file(
        v, npy(header(v.one_of([f"({BIG}, {BIG})", f"({2**63 - 1},)", f"({2**32}, {2**32}, 4)", f"({10**30},)"])))
    ),
)
kinds(
    "huge-empty",
    "a shape without elements and with 2^62",
    refused(BAD),
    lambda v: file(v, npy(header(v.one_of([f"({BIG}, 0)", f"(0, {BIG})"])))),
)
kinds(
    "negative-shape",
    "a shape below zero",
    refused(BAD),
    lambda v: file(v, npy(header(v.one_of(["(-2, 4)", "(-2, -4)", f"(-{BIG},)"])), b"\0" * 32)),
)
kinds(
    "shape-words",
    "a shape that is none",
    refused(BAD),
    lambda v: file(
        v,
        npy(
            header(
                v.one_of(["2", "()", "(2, 4", "[2, 4]", "(a, b)", "((2, 4),)", "(2.0, 4)", "''", "(0x2, 4)", "(2 4)"])
            ),
            b"\0" * 32,
        ),
    ),
)
kinds(
    "rank",
    "a shape of 10^4 dimensions",
    refused(BAD),
    lambda v: file(v, npy(header("(" + "1," * v.size(33, 10_000) + ")"), b"\0" * 4)),
)
kinds(
    "descr",
    "element types that are none",
    refused(BAD),
    lambda v: file(
        v,
        npy(
            header(
                descr=v.one_of(
                    ["'<f3'", "'O'", "'<c8'", "[('a', '<f4')]", "''", "5", "'<f4", "'<f99999999999'", "'S10'"]
                )
            ),
            b"\0" * 32,
        ),
    ),
)
kinds(
    "descr-escapes",
    "escapes in the element type and the header",
    refused(BAD),
    lambda v: file(v, npy(header(descr=v.one_of(["'\x1b[2J'", "'\r'", "'\u202e'", "'\x07'"])), b"\0" * 32)),
)
kinds(
    "header-size",
    "a header larger than the file",
    refused(BAD),
    lambda v: file(
        v, b"\x93NUMPY" + v.one_of([b"\1\0\xff\xff", b"\2\0\xff\xff\xff\xff", b"\3\0\xff\xff\xff\x7f", b"\1\0\0\0"])
    ),
)
kinds(
    "version",
    "versions of the format that do not exist",
    refused(BAD),
    lambda v: file(v, npy(header(), b"\0" * 32, v.one_of([(0, 0), (4, 0), (9, 9), (255, 255)]))),
)
kinds(
    "header-long",
    "a header of a million spaces",
    either(BAD),
    lambda v: file(v, npy(header() + " " * v.size(10**5, 10**6), b"\0" * 32, (2, 0))),
)
kinds(
    "header-keys",
    "keys missing or twice",
    either(BAD),
    lambda v: file(
        v,
        npy(
            v.one_of(
                ["{}", "{'descr': '<f4'}", header()[:-1] + "'shape': (9, 4)}", "", "{'shape': (2, 4), 'descr': '<f4'}"]
            ),
            b"\0" * 32,
        ),
    ),
)


def other_type(v, descr, size):
    return file(v, npy(header(descr=f"'{descr}'"), b"\0" * (8 * size)))


kinds(
    "other-type",
    "elements of another type",
    refused("R0601", "float32"),
    lambda v: other_type(v, *v.one_of([("<f8", 8), ("<i4", 4), ("|b1", 1), ("<f2", 2)])),
)
kinds(
    "byte-order",
    "numbers with the other order of bytes",
    either(BAD),
    lambda v: file(v, npy(header(descr="'>f4'"), b"\0" * 32)),
)
kinds(
    "fortran",
    "an array by columns",
    either(BAD),
    lambda v: file(v, npy(header(order=v.one_of(["True", "Perhaps", "1"])), b"\0" * 32)),
)
kinds(
    "npz-cut",
    "an archive that is cut",
    refused(BAD),
    lambda v: file(v, (z := zipped([("x.npy", GOOD)]))[: v.rng.randrange(len(z))], "x.npz", "{}"),
)
kinds(
    "npz-flipped",
    "an archive of which bits are changed",
    either(BAD),
    lambda v: flipped(
        v, zipped([("x.npy", GOOD)], v.one_of([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])), "x.npz", "{}"
    ),
)
kinds(
    "npz-names",
    "names in an archive that lead out of it, or hold escapes",
    either(BAD),
    lambda v: file(
        v,
        zipped(
            [
                (
                    v.one_of(
                        ["../../x.npy", "/etc/x.npy", "x\x1b[2J.npy", "/", ".npy", "x" * 10_000 + ".npy", "x\u202e.npy"]
                    ),
                    GOOD,
                )
            ]
        ),
        "x.npz",
        "{}",
    ),
)
kinds("npz-twice", "one name twice in an archive", refused(BAD), lambda v: file(v, doubled(), "x.npz", "{}"))
kinds(
    "npz-many",
    "an archive of 10^4 arrays",
    refused(BAD),
    lambda v: file(v, zipped([(f"y{i}.npy", GOOD) for i in range(v.size(100, 10_000))]), "x.npz", "{}"),
)
kinds(
    "npz-bomb",
    "1 GB of zeros in a megabyte",
    refused(BAD),
    lambda v: file(v, bomb(v.size(10, 1_000)), "x.npz", "{}"),
    long=True,
)
kinds(
    "npz-sizes",
    "an entry that is said to be larger than it is",
    refused(BAD),
    lambda v: file(v, lying(v), "x.npz", "{}"),
)
kinds(
    "npz-encrypted",
    "an entry that is said to be encrypted, or packed in an unknown way",
    refused(BAD),
    lambda v: file(v, packed(v), "x.npz", "{}"),
)
kinds("npz-empty", "an archive of nothing", either(BAD), lambda v: file(v, zipped([]), "x.npz", "{}"))
kinds(
    "text",
    "a file of text where an array should be",
    refused("R0402 R0504"),
    lambda v: file(v, v.one_of(["1 2 3 4", "nan", "\x1b[2J", ""]), v.one_of(["x.npy", "x.npz"]), v.one_of(["x={}"])),
)
kinds(
    "unknown-extension",
    "an array in a file whose name tells nothing: what it holds counts",
    fine(),
    lambda v: file(v, GOOD, "x.xyz"),
)
for what in ("random", "expr", "number"):
    kinds(
        f"input-{what}",
        f"--input x={what} with something odd",
        either("R0504 R06 R01 R02 R03 R0401"),
        lambda v, w=what: v.run(
            "run",
            v.write("m.relay", VERSION + MODEL),
            "--input",
            "x="
            + {
                "random": ["random:", "random:-1", f"random:{2**64}", "random:\x1b[2J"],
                "expr": [
                    "expr:",
                    "expr:(",
                    "expr:" + "(" * 100_000,
                    "expr:zeros(shape=[99999999999999])",
                    "expr:@main(1)",
                ],
                "number": ["nan", "inf", "-1e999", "1e", "9" * 10_000, "0x10", "\x1b[2J", "--"],
            }[w][v.index % 4],
        ),
    )


def flipped(v, content, name="x.npy", how="x={}"):
    data = bytearray(content)
    for _ in range(1 + v.index % 4):
        data[v.rng.randrange(min(len(data), 128))] ^= 1 << v.rng.randrange(8)
    return file(v, bytes(data), name, how)


def doubled():
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return zipped([("x.npy", GOOD), ("x.npy", GOOD)])


def bomb(megabytes):
    return zipped([("x.npy", npy(header(f"({megabytes * 1_000_000 // 16}, 4)"), b"\0" * (megabytes * 1_000_000 - 16)))],
                  zipfile.ZIP_DEFLATED)  # fmt: skip


def lying(v):
    data = bytearray(zipped([("x.npy", GOOD)], v.one_of([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])))
    for sign, places in ((b"PK\3\4", (18, 22)), (b"PK\1\2", (20, 24))):
        at = data.index(sign)
        for place in places:
            data[at + place : at + place + 4] = struct.pack("<I", v.one_of([2**32 - 1, 2**31, 0, 7]))
    return bytes(data)


def packed(v):
    data = bytearray(zipped([("x.npy", GOOD)]))
    for sign, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        at = data.index(sign) + place
        data[at : at + 4] = v.one_of([b"\1\0\0\0", b"\0\0\x63\0", b"\0\0\x0c\0", b"\1\0\x63\0"])
    return bytes(data)
