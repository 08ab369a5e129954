"""The C interface from programs of its first version, and from C++, Rust and Go."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest
from forms import each_nth
from installed import environment, install_runtime
from programs import DENSE, EXAMPLES, ROOT

import relay

ABI = pathlib.Path(__file__).parent / "abi"
HEADER = ROOT / "src" / "relay" / "runtime" / "relay_c.h"
NETWORK = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3), float32]) { nn.dense(%x, meta[relay.Constant][0], units=2) }
#[metadata]
{"relay.Constant": [{"shape": [2, 3], "dtype": "float32", "values": [1, 0, 0, 0, 1, 1]}]}
"""
LISTS = """#[version = "0.0.5"]
type List[a] { Cons(a, List[a]), Nil }
def @main(%l: List[Tensor[(), float32]]) -> Tensor[(), float32] {
  match (%l) { Cons(%h, %t) => add(%h, @main(%t)), Nil => 0f }
}
"""


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    prefix = install_runtime(tmp_path_factory.mktemp("prefix"))
    for name, text in {"dense": DENSE, "network": NETWORK, "lists": LISTS}.items():
        relay.compile(relay.parse(text)).save(prefix / f"{name}.rart")
    relay.compile(relay.load(EXAMPLES / "state.relay"), donate={"keys": 0}).save(prefix / "state.rart")
    return prefix


def run(prefix, *words, status=0):
    """The text that a program prints."""
    done = subprocess.run(
        [*map(str, words)], capture_output=True, text=True, env={**os.environ, **environment(prefix)}, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout if status == 0 else done.stderr


def link_flags(prefix):
    return [f"-I{prefix / 'include'}", f"-L{prefix / 'lib'}", "-lrelay_runtime"]


def test_programs_of_the_oldest_header_run(prefix, tmp_path):
    run(prefix, "cc", "-Wall", "-Werror", ABI / "old_program.c", *link_flags(prefix), "-o", tmp_path / "old")
    assert run(prefix, tmp_path / "old", prefix / "dense.rart").splitlines() == [
        "2 x 2 n 4 0",
        "10 0 26",
        "26 2 1",
        "1",
    ]


def names_of(header):
    """The functions, struct members and enumerators of a header."""
    text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL)
    functions = re.findall(r"RELAY_C_API\s+[\w\s]+[*\s]+(relay_\w+)\(", text)
    enumerators = re.findall(
        r"\b(RELAY_[A-Z0-9_]+)\b(?=\s*[=,}\n])", "".join(re.findall(r"enum \w+ \{(.*?)\}", text, re.DOTALL))
    )
    members = [
        (struct, member)
        for struct, body in re.findall(r"typedef struct (\w+) \{(.*?)\}", text, re.DOTALL)
        for member in re.findall(r"(\w+);", body)
    ]
    return functions, enumerators, members


def test_the_oldest_layouts_are_kept(prefix, tmp_path):
    functions, enumerators, members = names_of(ABI / "relay_c_1.h")
    assert len(functions) == 10 and len(enumerators) == 20 and len(members) == 12
    lines = [f'printf("{name} %d\\n", (int){name});' for name in enumerators]
    lines += [f'printf("{s}.{m} %zu\\n", offsetof({s}, {m}));' for s, m in members]
    lines += [f'printf("{s} %zu\\n", sizeof({s}));' for s in sorted({s for s, _ in members})]
    said = {}
    for header in (ABI / "relay_c_1.h", HEADER):
        source = tmp_path / "layout.c"
        source.write_text(
            f'#include "{header}"\n#include <stdio.h>\nint main(void) {{ {" ".join(lines)} return 0; }}\n'
        )
        run(prefix, "cc", source, "-o", tmp_path / "layout")
        said[header] = run(prefix, tmp_path / "layout")
    assert said[HEADER] == said[ABI / "relay_c_1.h"]


def test_the_library_has_every_function_of_both_headers(prefix):
    exported = run(prefix, "nm", "-D", "--defined-only", prefix / "lib" / "librelay_runtime.so").split()[2::3]
    for header in (ABI / "relay_c_1.h", HEADER):
        functions = names_of(header)[0]
        assert functions and set(functions) <= set(exported)


CPP = r"""
#include <relay/runtime/relay_cpp.h>
#include <cstdio>
using namespace relay::api;
int main(int, char** argv) {
  const std::string folder = argv[1];
  Model dense(folder + "/dense.rart", 1);
  std::vector<float> x = {1, 2, 3, 4}, w(32, 1.0f), y(8);
  std::vector<Tensor> inputs;
  inputs.push_back(Tensor::of(x.data(), {1, 4}));
  inputs.push_back(Tensor::of(static_cast<const float*>(w.data()), {8, 4}));
  std::vector<Tensor> made = dense.run(inputs), in_place;
  in_place.push_back(Tensor::of(y.data(), {1, 8}));
  dense.run(inputs, in_place);
  Model moved = std::move(dense);
  std::printf("%g %g %d %s %d\n", made[0].data<float>()[7], y[7], (int)made[0].size(), moved.executor().c_str(),
              (int)moved.inputs()[0].dims[0]);
  try { made[0].data<double>(); } catch (const Error& e) { std::printf("%d\n", e.status() == RELAY_BAD_ARGUMENT); }
  try { Model("no such file"); } catch (const Error& e) { std::printf("%d\n", e.status() == RELAY_BAD_FILE); }

  Model lists(folder + "/lists.rart");
  Value list = Value::data(lists, "List", "Nil", {});
  for (float& v : x) list = Value::data(lists, "List", "Cons", {Value(Tensor::of(&v, {})), list});
  const Value sum = Value::call(lists, {list});
  std::printf("%s %d %g\n", list.constructor().c_str(), (int)list.size(), *sum.tensor().data<float>());

  Model with_state(folder + "/state.rart");
  Session session(with_state);
  std::vector<int64_t> at = {3};
  std::vector<float> row(8, 2.0f);
  for (int i = 0; i < 2; ++i) {
    std::vector<Tensor> arguments, none;
    arguments.push_back(Tensor::of(at.data(), {1, 1}));
    arguments.push_back(Tensor::of(row.data(), {1, 8}));
    session.run(arguments, none);
    at[0] = 5;
  }
  const Tensor keys = session.state(0);
  std::printf("%d %g %g\n", (int)session.state_count(), keys.data<float>()[3 * 8], keys.data<float>()[5 * 8 + 7]);
  session.reset();
  std::printf("%d\n", session.state(0).raw_data() == nullptr);
}
"""


@pytest.mark.parametrize("compiler", each_nth(2, ["g++", "clang++-22"]))
def test_cpp(prefix, tmp_path, compiler):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    (tmp_path / "all.cpp").write_text(CPP)
    strict = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined"]
    run(prefix, compiler, *strict, tmp_path / "all.cpp", *link_flags(prefix), "-o", tmp_path / "all")
    assert run(prefix, tmp_path / "all", prefix).splitlines() == [
        "10 10 8 graph -1",
        "1",
        "1",
        "Cons 2 10",
        "1 2 2",
        "1",
    ]


def classifies(prefix, program):
    assert run(prefix, program, prefix / "network.rart", 1, 2, 3).split()[-4:] == ["class", "1", "of", "2"]
    assert "dimension 1 is 2, but it must be 3" in run(prefix, program, prefix / "network.rart", 1, 2, status=1)
    assert "no such file" in run(prefix, program, "no such file", status=1)


def test_the_example_in_cpp(prefix, tmp_path):
    example = EXAMPLES / "cpp_network" / "classify.cpp"
    run(prefix, "g++", "-std=c++17", example, *link_flags(prefix), "-o", tmp_path / "classify")
    classifies(prefix, tmp_path / "classify")


def test_the_example_in_rust(prefix, tmp_path):
    if not shutil.which("rustc"):
        pytest.skip("rustc is not installed")
    example = EXAMPLES / "rust_network" / "classify.rs"
    run(
        prefix,
        "rustc",
        "--edition",
        "2021",
        "-D",
        "warnings",
        "-L",
        prefix / "lib",
        example,
        "-o",
        tmp_path / "classify",
    )
    classifies(prefix, tmp_path / "classify")


def test_the_example_in_go(prefix, tmp_path):
    if not shutil.which("go") or not shutil.which("pkg-config"):
        pytest.skip("go or pkg-config is not installed")
    settings = {"GOCACHE": str(tmp_path / "cache"), "GOFLAGS": "-mod=mod -buildvcs=false"}
    done = subprocess.run(
        ["go", "build", "-o", tmp_path / "classify", "."],
        cwd=EXAMPLES / "go_network",
        env={**os.environ, **environment(prefix), **settings},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    classifies(prefix, tmp_path / "classify")
