"""The command line of the hub: relay hub push|pull|ls|show|sign|verify|minisign-key."""

from __future__ import annotations

import argparse
import sys

from ..arguments import ArgumentParser
from ..errors import CompileError, bad_option
from . import minisign
from .card import card_of
from .layouts import Reference, places_in, published_at
from .pull import pull
from .push import push


def _shape(text: str) -> tuple[str, list[int]]:
    name, _, sizes = text.partition("=")
    try:
        return name, [int(size) for size in sizes.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=SIZES, such as x=1,3,224,224") from error


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="relay hub",
        description="Publishes models with schedules, artifacts and measured figures, and pulls them. A PLACE is "
        "FOLDER:TAG in an OCI image layout, or hf:FOLDER, a plain folder such as one of Hugging Face.",
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    add = verbs.add_parser("push", help="compile a model for targets and publish it").add_argument
    add("model", help="an ONNX, TFLite, Keras or TensorFlow model, or a Relay program")
    add("place", metavar="PLACE")
    add(
        "--target", action="append", default=[], help="processor, as of relay compile (repeat for more); default native"
    )
    add(
        "--bench",
        action="append",
        default=[],
        metavar="[TARGET=]FILE",
        help="figures that relay bench --json wrote; without TARGET= those of the first target",
    )
    add("--machine", help="the machine that was measured; default this one")
    add("--beside", action="append", default=[], metavar="FILE", help="a file that the model reads, such as weights")
    add("--licence", default="", help="the model's licence, such as Apache-2.0")
    add("--shape", action="append", default=[], type=_shape, metavar="NAME=DIMS", help="shape of an input")
    add("-O", "--opt-level", type=int, default=2, help="0 to 3; default 2")
    add("--numerics", default="fp32", help="fp32, ieee or fast")
    add("--sign", metavar="KEY", help="private key of Ed25519 in PEM, which signs the manifest")
    add = verbs.add_parser("pull", help="take a model, checked, into a folder").add_argument
    add("place", metavar="PLACE")
    add("-o", "--output", help="folder to make; default the model's name")
    add("--trust", action="append", default=[], metavar="KEY", help="public key (PEM) whose machine code is taken")
    add("--target", default="native", help="processor that the model is for; default native")
    verbs.add_parser("ls", help="list the models of a folder").add_argument("folder")
    add = verbs.add_parser("show", help="show the card of a model").add_argument
    add("place", metavar="PLACE")
    add("--json", action="store_true", help="print the manifest as JSON")
    add = verbs.add_parser(
        "sign", help="sign a file or a folder, such as a C project, in minisign's format"
    ).add_argument
    add("path")
    add("--key", required=True, help="private key of Ed25519 in PEM")
    add = verbs.add_parser("verify", help="check the signature of a file or a folder").add_argument
    add("path")
    add("--trust", required=True, metavar="KEY", help="public key, in PEM or a file of minisign")
    add = verbs.add_parser("minisign-key", help="print a public key as a file of minisign").add_argument
    add("key", help="public key in PEM")
    return parser


def _figures(given: list[str], targets: list[str]) -> dict[str, str]:
    """Returns the files of figures by target."""
    files: dict[str, str] = {}
    for text in given:
        target, equals, path = text.rpartition("=")
        target = target if equals else targets[0]
        if target in files:
            raise bad_option(f"figures of {target} are given twice", "give TARGET=FILE once for each target")
        files[target] = path
    return files


def _list(folder: str) -> None:
    for place in places_in(folder):
        try:
            found = published_at(place)
        except CompileError as error:
            print(f"{place}  unreadable: {error.diagnostics[0].message}")
            continue
        targets = ", ".join(target.target for target in found.manifest.targets)
        total = sum(file.bytes for file in found.manifest.files())
        signed = f"{len(found.signatures)} signatures" if len(found.signatures) != 1 else "1 signature"
        print(f"{place}  {found.manifest.name}, {found.manifest.kind}, {total / 1024:.1f} KiB, for {targets}, {signed}")


def _run(given: argparse.Namespace) -> None:
    if given.verb == "push":
        targets = given.target or ["native"]
        manifest = push(
            given.model,
            given.place,
            targets,
            beside=given.beside,
            figures=_figures(given.bench, targets),
            machine=given.machine,
            licence=given.licence,
            shapes=dict(given.shape),
            opt_level=given.opt_level,
            numerics=given.numerics,
            key=given.sign,
        )
        names = ", ".join(target.target for target in manifest.targets)
        print(f"{Reference.of(given.place)}: {manifest.name} for {names}, {len(manifest.files())} files")
        print(f"manifest {manifest.digest()}{f', signed by {given.sign}' if given.sign else ''}")
    elif given.verb == "pull":
        pulled = pull(given.place, given.output, trust=given.trust, target=given.target)
        print("\n".join([*pulled.notes, f"run it with: relay run {pulled.artifact}"]))
    elif given.verb == "ls":
        _list(given.folder)
    elif given.verb == "sign":
        print("\n".join(minisign.sign(given.path, given.key)))
    elif given.verb == "verify":
        print(f"{given.path}: signed by {given.trust}, {minisign.verify(given.path, given.trust)}")
    elif given.verb == "minisign-key":
        print(minisign.Key.read(given.key).text(), end="")
    else:
        found = published_at(Reference.of(given.place))
        print((found.manifest.to_bytes().decode() if given.json else card_of(found.manifest)).rstrip())


def main(arguments: list[str] | None = None) -> int:
    """Runs a command, and returns its exit code."""
    given = _parser().parse_args(arguments)
    try:
        _run(given)
    except CompileError as error:
        print(error, file=sys.stderr)
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        print(
            f"error: {error.strerror or error}{where}\nhelp: free space or change rights there; nothing incomplete was "
            "left, and the same command goes on",
            file=sys.stderr,
        )
    except KeyboardInterrupt:
        print("interrupted: nothing incomplete was left; the same command goes on", file=sys.stderr)
        return 130
    else:
        return 0
    return 1
