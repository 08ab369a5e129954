"""Processors by name, for tests of what the rules choose: a choice is that of a named target, values are those of any.

What is chosen for a target is asked of the program, which compiles for processors that this machine does not have.
Values are compared on this machine as it is and with features masked off (MASKED), so that the same tests hold on any.
"""

import pathlib
import re

from programs import ROOT, cli_json

# This machine as it is, with AVX2 only, and without fused multiply-add (nor what needs it). A feature that is not there
# is left out already.
MASKED = ["native", "native,-avx512f", "native,-fma"]

# Every processor that is described.
DESCRIBED = re.findall(
    r'^    \{"([\w-]+)", "[\w-]+", \w+, ', (ROOT / "src/relay/target/x86/x86.cpp").read_text(), re.MULTILINE
)

# Makes it an error if a schedule of ours is replaced by a simpler one.
STRICT = ["--strict"]


def groups_for(target, module, folder, **options):
    """The entries for each group in the compiler's report, for this target. Nothing runs."""
    source = pathlib.Path(folder) / "program.relay"
    module.save(str(source))
    how = [f"--{name}={value}" for name, value in options.items()]
    return cli_json("compile", source, "--target", target, "-o", f"{source}.rart", "--json", *how)["groups"]


def rules_for(target, module, folder, **options):
    """The rules that schedule the module's kernels for this target, as one text."""
    return " ".join(group["rule"] for group in groups_for(target, module, folder, **options))
