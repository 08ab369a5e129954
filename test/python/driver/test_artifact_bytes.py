"""Files of compiled models: the same bytes from every process and folder; archives that C programs link."""

import os
import shutil
import subprocess

import pytest
from programs import PROGRAM, cli, needs_program

pytestmark = needs_program
NETWORK = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, 12, 12), float32], %w: Tensor[(8, 3, 3, 3), float32]) {
  nn.softmax(nn.batch_flatten(nn.relu(nn.conv2d(%x, %w, padding=[1, 1], channels=8, kernel_size=[3, 3]))))
}
"""


def files_of(path):
    """The contents of a file, or of those in a folder, by name."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return {str(file.relative_to(path)): file.read_bytes() for file in files if file.is_file()}


@pytest.mark.parametrize("name", ["n.rart", "n.so", "n.o", "n.a", "n.c", "c-project", "wasm"])
def test_the_same_bytes_everywhere(name, tmp_path):
    made = []
    for folder, threads in (("one", "1"), ("another/folder", "2")):
        work = tmp_path / folder
        (work / "temporary").mkdir(parents=True)
        (work / "network.relay").write_text(NETWORK)
        options = ["--target", "haswell"] if "." in name else ["--emit", name]
        threads = "1" if name == "n.rart" else threads  # an artifact's report has the number
        words = [PROGRAM, "compile", "network.relay", "-o", name, "--threads", threads, *options]
        environment = {**os.environ, "TMPDIR": str(work / "temporary")}
        done = subprocess.run(words, cwd=work, capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0, done.stderr
        made.append(files_of(work / name))
    assert made[0] and made[0] == made[1]


def test_a_program_links_an_archive(tmp_path):
    if not shutil.which("cc") or not shutil.which("ar"):
        pytest.skip("no C compiler")
    (tmp_path / "n.relay").write_text('#[version = "0.0.5"]\ndef @main(%x: Tensor[(16), float32]) { nn.relu(%x) }\n')
    done = cli("compile", tmp_path / "n.relay", "--target", "haswell", "-o", tmp_path / "libn.a")
    assert done.returncode == 0, done.stderr
    members = subprocess.run(["ar", "tv", tmp_path / "libn.a"], capture_output=True, text=True, check=True).stdout
    assert "kernel_0.o" in members and "Jan  1 00:00 1970" in members
    symbols = subprocess.run(["nm", tmp_path / "libn.a"], capture_output=True, text=True, check=True).stdout
    kernel = next(line.split()[-1] for line in symbols.splitlines() if " T " in line)
    (tmp_path / "main.c").write_text(f"""
#include <stdint.h>
#include <stdio.h>
void {kernel}(void* const*, const int64_t*, int64_t, int64_t, void*);
int main(void) {{
  float x[16], y[16];
  for (int i = 0; i < 16; ++i) x[i] = i - 8;
  void* params[2] = {{x, y}};
  {kernel}(params, 0, 0, 1, 0);
  printf("%g %g\\n", y[0], y[15]);
}}
""")
    subprocess.run(["cc", tmp_path / "main.c", tmp_path / "libn.a", "-o", tmp_path / "main"], check=True)
    assert subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout == "0 7\n"
