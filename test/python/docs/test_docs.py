"""Runs every command and every Python block of README.md and docs/*.md, and compares with what the pages say.

A fenced block ```console holds commands, on lines that start with "$ " (a line that ends in a backslash goes on in the
next, after "> "), each followed by what it prints on stdout. They run one after another in the repository's root, with
.venv/bin first on PATH and $TMP as a folder of the page's own. "..." stands for any text: alone on a line for any
lines, within a line for the rest of a word or more. After the word console:

    fails      the last command exits with a status that is not zero
    stderr     what they print there is compared too
    no-run     not run: it needs minutes, a network or root

A fenced block ```python is run, the blocks of a page in one interpreter; a block ```text right after it is what it
prints. Each model that a page compiles is also taken from the cache, saved and loaded, with the same results
(four_ways.py).

A block of any language with a path, as in ```cpp examples/custom_op/mean_abs_norm.cpp, is a part of that file.

    RELAY_BLESS=1 .venv/bin/python -m pytest -q test/python/docs/test_docs.py        rewrites the pages
"""

import os
import re
import subprocess
import sys

import pytest
from forms import with_long_form
from pages import PAGES, blocks_of, commands_of
from programs import ROOT, needs_program

BLESS = bool(os.environ.get("RELAY_BLESS"))
DONE = "<<end of block>>"
SUPPORT = str(ROOT / "test/python/support")


def matches(printed, wanted):
    pattern = ""
    for line in wanted:
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*?".join(re.escape(part) for part in line.split("...")) + "\n"
    text = "".join(line.rstrip() + "\n" for line in printed)
    return re.fullmatch(pattern, text) is not None


def blessed(printed, wanted):
    """The text that the page should have: the old one if it matches; else the new one, cut where the old was cut."""
    if matches(printed, wanted):
        return wanted
    cuts = [i for i, line in enumerate(wanted) if line.strip() == "..."]
    printed = [line.rstrip() for line in printed]
    if not cuts or len(printed) < len(wanted):
        return printed
    tail = len(wanted) - cuts[-1] - 1
    return printed[: cuts[0]] + ["..."] + printed[len(printed) - tail :]


class Page:
    def __init__(self, path, folder):
        self.path, self.lines = path, path.read_text().splitlines()
        self.python = None
        self.edits = []  # (first line, line after the last, new lines)
        self.cache = folder / "cache"
        self.environment = {**os.environ, "TMP": str(folder), "PATH": f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}"}
        for name in ("RELAY_BLESS", "RELAY_THREADS"):
            self.environment.pop(name, None)

    def where(self, line):
        return f"{self.path.relative_to(ROOT)}:{line + 1}"

    def expect(self, what, printed, wanted, first):
        if BLESS:
            new = blessed(printed, wanted)
            if new != wanted:
                self.edits.append((first, first + len(wanted), new))
        elif not matches(printed, wanted):
            text = "\n".join(printed)
            pytest.fail(f"{self.where(first)}: {what}\nprints\n{text}\ninstead of\n" + "\n".join(wanted), pytrace=False)

    def console(self, block):
        line = block.line
        commands = commands_of(block)
        for number, (command, wanted) in enumerate(commands, 1):
            errors = subprocess.STDOUT if "stderr" in block.info else subprocess.PIPE
            done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=ROOT, env=self.environment, text=True,
                                  stdout=subprocess.PIPE, stderr=errors, timeout=900)  # fmt: skip
            # A reader that stops early (head) ends the writer: 141.
            failed = done.returncode not in (0, 141)
            said = done.stdout + (done.stderr or "")
            should_fail = "fails" in block.info and number == len(commands)
            assert failed == should_fail, f"{self.where(line)}: $ {command}\nexit status {done.returncode}\n{said}"
            self.expect(f"$ {command}", done.stdout.splitlines(), wanted, line + 1 + command.count("\n"))
            line += 1 + command.count("\n") + len(wanted)

    def answer(self, code):
        """The lines that the interpreter of the page prints for this code."""
        self.python.stdin.write("\n".join([*code, DONE, ""]))
        self.python.stdin.flush()
        printed = []
        for line in self.python.stdout:
            if line.rstrip("\n") == DONE:
                break
            printed.append(line.rstrip("\n"))
        return printed

    def run_python(self, block, wanted):
        if self.python is None:
            loop = (
                f"import linecache, sys, traceback\nsys.path.append({SUPPORT!r})\n"
                "import four_ways\nsys.path.pop()\n"
                "scope, code = {}, ''\n"
                "for line in sys.stdin:\n"
                f"    if line != {DONE + chr(10)!r}:\n"
                "        code += line\n"
                "        continue\n"
                "    linecache.cache['page'] = len(code), None, code.splitlines(True), 'page'\n"
                "    try:\n"
                "        exec(compile(code, 'page', 'exec'), scope)\n"
                "    except BaseException:\n"
                "        print('FAILED', traceback.format_exc(), sep='\\n')\n"
                f"    print({DONE!r}, flush=True)\n"
                "    code = ''\n"
            )
            environment = {**self.environment, "RELAY_CACHE": str(self.cache)}
            self.python = subprocess.Popen([sys.executable, "-c", loop], cwd=ROOT, env=environment, text=True,
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
        printed = self.answer(block.text)
        text = "\n".join(printed)
        assert self.python.poll() is None and "FAILED" not in printed, f"{self.where(block.line)}:\n{text}"
        if wanted is not None:
            self.expect("this Python block", printed, wanted.text, wanted.line)
        else:
            assert not printed, f"{self.where(block.line)}: a block that prints is followed by a ```text block\n{text}"

    def run(self):
        blocks = blocks_of(self.lines)
        try:
            for block, after in zip(blocks, [*blocks, None][1:], strict=True):
                if "no-run" in block.info:
                    continue
                if block.language == "console":
                    self.console(block)
                elif block.language == "python":
                    # ```text belongs to the block if at most an empty line is between them.
                    end = block.line + len(block.text)
                    follows = after is not None and after.language == "text" and after.line - end <= 3
                    self.run_python(block, after if follows else None)
            code = [line for block in blocks if block.language == "python" for line in block.text]
            if any("compile(" in line or "build(" in line for line in code):
                [checked] = self.answer(["import four_ways", "print(four_ways.checked)"])
                assert int(checked) > 0, "no model of the page was compared with its other ways"
        finally:
            if self.python is not None:
                self.python.stdin.close()
                self.python.wait()
        if self.edits:
            for first, end, new in reversed(self.edits):
                self.lines[first:end] = new
            self.path.write_text("\n".join(self.lines) + "\n")


# Pages that take 4 to 45 seconds of CPU each: `make test-slow` executes them.
LONG_PAGES = {
    ROOT / f"docs/{name}.md"
    for name in (
        "c-projects distributed-training from-tvm generate hub pytorch quantisation serving training tuning use-from-c"
    ).split()
}


def test_long_pages_exist():
    assert LONG_PAGES <= set(PAGES)


@needs_program
@pytest.mark.parametrize(
    "path",
    with_long_form(PAGES, lambda path: path not in LONG_PAGES),
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_page(path, tmp_path):
    before = set(os.listdir(ROOT))
    Page(path, tmp_path).run()
    assert set(os.listdir(ROOT)) <= before, "a page writes into the repository: $TMP is its folder"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links(path):
    """Links to files of this repository lead somewhere."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if not re.match(r"[a-z]+:", target):
            assert (path.parent / target).exists(), f"{path.relative_to(ROOT)} links to {target}, which does not exist"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_quotes(path):
    """A text that a page presents as a part of a file must be in that file."""
    for block in blocks_of(path.read_text().splitlines()):
        for name in block.info[1:]:
            if "/" in name:
                quoted = "\n".join(block.text) + "\n"
                assert quoted in (ROOT / name).read_text(), (
                    f"{path.relative_to(ROOT)}:{block.line + 1} is not in {name}"
                )


def test_the_contents_list_every_page():
    contents = (ROOT / "docs" / "README.md").read_text()
    for path in sorted((ROOT / "docs").glob("*.md")):
        if path.name != "README.md":
            assert f"({path.name})" in contents, f"docs/README.md does not list docs/{path.name}"


@needs_program
def test_generated_pages():
    """`make docs` would change nothing."""
    done = subprocess.run(
        [sys.executable, ROOT / "dev" / "docs.py", "--check"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("printed", "wanted", "same"),
    [
        ("a b", "a b", True),
        ("a b", "a c", False),
        ("a\nb\nc\nd", "a\n...\nd", True),
        ("a\nd", "a\n...\nd", True),
        ("a\nb\nc", "a\n...\nd", False),
        ("run 12.5 ms on 2 threads", "run ... ms on ... threads", True),
        ("run 12.5 s", "run ... ms", False),
        ("(.*)", "(.*)", True),
    ],
)
def test_elisions(printed, wanted, same):
    assert matches(printed.splitlines(), wanted.splitlines()) == same


def test_blessing_keeps_cuts():
    assert blessed(list("abcdef"), ["a", "...", "x"]) == ["a", "...", "f"]
    assert blessed(list("abcdef"), ["a", "...", "f"]) == ["a", "...", "f"]
    assert blessed(list("ab"), ["x"]) == ["a", "b"]


@needs_program
def test_the_readme_pastes_into_a_fresh_shell():
    """The commands that prepare a shell precede all that need them, and are sufficient."""
    lines = [line[2:] for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("$ ")]
    prepared = [i for i, line in enumerate(lines) if "activate" in line or line.startswith("export TMP=")]
    needing = [i for i, line in enumerate(lines) if line.startswith("relay ") or "$TMP" in line]
    assert len(prepared) == 2 and max(prepared) < min(needing)
    script = "\n".join([*(lines[i] for i in prepared), lines[needing[0]], 'ls -d "$TMP" && python -c "import relay"'])
    environment = {"HOME": os.environ.get("HOME", "/"), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    done = subprocess.run(["bash", "-ec", script], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "float32[2, 8]" in done.stdout, done.stderr


def test_the_numbers_of_the_readme_are_the_measured_ones():
    readme = (ROOT / "README.md").read_text()
    numbers = re.search(r"^\| (\d\.\d\d(?: \| \d\.\d\d)+) \|$", readme, re.MULTILINE).group(1).split(" | ")
    page, low, tiles, _, programs = re.findall(r"docs/benchmarks/[a-z0-9-]+\.md", readme)
    measured = re.findall(r"\*\*(\d\.\d\d)\*\*", (ROOT / page).read_text())
    assert len(numbers) == 10 and set(numbers) <= set(measured)

    def spread(page, form, speed_up):
        """The least and the greatest speed-up over float32, and over the best peer, of the networks in this form."""
        rows = [
            line.split(" | ")
            for line in (ROOT / page).read_text().splitlines()
            if re.match(rf"\| \w+, {form},? ", line)
        ]
        ratios, speed_ups = ([float(row[column].strip(" |")) for row in rows] for column in (5, speed_up))
        return [round(min(speed_ups), 1), round(max(speed_ups), 1), min(ratios), max(ratios)]

    sentences = re.search(rf"{re.escape(low)}\)(.*?)\n\n", readme, re.DOTALL).group(1)
    said = [float(number) for number in re.findall(r"\d+\.\d+", sentences)]
    assert said == spread(low, "[us]8s8", -2) + spread(tiles, "u8s8", -2)
    sentence = re.search(rf"{re.escape(programs)}\)(.*?)\n\n", readme, re.DOTALL).group(1)
    ratios = re.findall(r"\| (\d+\.\d) \|", (ROOT / programs).read_text())
    said = re.findall(r"\d+\.\d", sentence)
    assert len(said) == 4 and set(said) <= set(ratios)
