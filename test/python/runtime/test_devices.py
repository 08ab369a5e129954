"""Programs on several memories: results equal, copies as planned, in every executor, with guarded memory."""

import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
from relay.testing import resnet

import relay

HERE, AWAY = "cpu:0", "cpu:1"
EXECUTORS = ["compiled", "vm", "aot"]


def network():
    """Two convolutions with work before, between and behind them."""
    draw = np.random.default_rng(0)
    x = relay.var("x", shape=(1, 4, 12, 12))
    w1, w2 = (relay.const(draw.standard_normal((4, 4, 3, 3), dtype="float32") * 0.2) for _ in range(2))
    first = relay.nn.relu(relay.nn.conv2d(relay.tanh(x), w1, padding=(1, 1)))
    second = relay.nn.conv2d(first, w2, padding=(1, 1)) + first
    return relay.IRModule.from_expr(relay.Function([x], relay.nn.softmax(relay.nn.batch_flatten(second))))


def copies(model):
    return {(one["from"], one["to"]): (one["copies"], one["bytes"]) for one in model.report["copies"]}


def image(shape=(1, 4, 12, 12)):
    return np.random.default_rng(1).standard_normal(shape, dtype="float32")


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_a_map_of_operators(executor, level):
    here = relay.compile(network(), opt_level=level)
    away = relay.compile(network(), opt_level=level, executor=executor, devices={"nn.conv2d": AWAY})
    assert copies(here) == {}
    size = 4 * 12 * 12 * 4
    assert copies(away) == {(HERE, AWAY): (2, 2 * size), (AWAY, HERE): (2, 2 * size)}
    np.testing.assert_array_equal(away(image()), here(image()))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_everything_elsewhere(executor):
    model = relay.compile(network(), executor=executor, devices={"default": AWAY})
    size = 4 * 12 * 12 * 4
    assert copies(model) == {(HERE, AWAY): (1, size), (AWAY, HERE): (1, size)}
    np.testing.assert_array_equal(model(image()), relay.compile(network())(image()))


def test_an_annotation_precedes_the_map():
    x = relay.var("x", shape=(8,))
    placed = relay.op.on_device(relay.exp(x), virtual_device=HERE)
    mod = relay.IRModule.from_expr(relay.Function([x], relay.tanh(placed)))
    assert copies(relay.compile(mod, devices={"exp": AWAY})) == {}
    both = relay.compile(mod, devices={"tanh": "cpu:2"})
    assert copies(both) == {(HERE, "cpu:2"): (1, 32), ("cpu:2", HERE): (1, 32)}


def test_three_memories():
    x = relay.var("x", shape=(8,))
    mod = relay.IRModule.from_expr(relay.Function([x], relay.tanh(relay.exp(x))))
    model = relay.compile(mod, devices={"exp": AWAY, "tanh": "cpu:2"})
    assert copies(model) == {(HERE, AWAY): (1, 32), (AWAY, "cpu:2"): (1, 32), ("cpu:2", HERE): (1, 32)}
    np.testing.assert_array_equal(model(image((8,))), relay.compile(mod)(image((8,))))


WAITS = """#[version = "0.0.5"]
def @main(%x: Tensor[(8, 8), float32]) {
  let %a = on_device(exp(%x), virtual_device="cpu:1");
  let %b = nn.softmax(%a);
  let %c = on_device(nn.softmax(%x), virtual_device="cpu:1");
  let %d = on_device(nn.softmax(%c), virtual_device="cpu:1");
  (add(%b, %d), nn.softmax(%x))
}
"""


def test_the_host_waits_as_late_as_it_can():
    model = relay.compile(relay.parse(WAITS))
    steps = re.findall(r"^  (copy|kernel) .*?(cpu:[01])?$", model.emit("program"), re.MULTILINE)
    # To the device, its two kernels, work of the host that needs neither, and only then from the device.
    assert steps == [
        ("copy", AWAY),
        ("kernel", AWAY),
        ("kernel", AWAY),
        ("kernel", ""),
        ("copy", HERE),
        ("copy", HERE),
        ("kernel", ""),
    ]
    on_host = relay.compile(relay.parse(re.sub(r'on_device\((.*), virtual_device="cpu:1"\)', r"\1", WAITS)))
    x = image((8, 8))
    for one, other in zip(model(x), on_host(x), strict=True):
        np.testing.assert_array_equal(one, other)


PROGRAMS = {
    "attributes": """
def @main(%x {virtual_device="cpu:1"}: Tensor[(3, 4), float32], %y: Tensor[(3, 4), float32],
          result_virtual_device="cpu:1") -> Tensor[(3, 4), float32] {
  add(exp(%x), on_device(sqrt(abs(%y)), virtual_device="cpu:0"))
}""",
    "branches": """
def @main(%x: Tensor[(3, 4), float32], %y: Tensor[(3, 4), float32]) {
  let %a = on_device(exp(%x), virtual_device="cpu:1", constrain_result=True);
  let %big = greater(max(%a), 1f);
  if (%big) { tanh(%a) } else { negative(%a) }
}""",
    "functions": """
def @f(%x {virtual_device="cpu:1"}: Tensor[(3, 4), float32]) -> Tensor[(3, 4), float32] { exp(%x) }
def @main(%x: Tensor[(3, 4), float32], %y: Tensor[(3, 4), float32]) {
  let %g = fn (%z: Tensor[(3, 4), float32]) { add(@f(%z), on_device(%y, virtual_device="cpu:0")) };
  let %once = %g(on_device(%x, virtual_device="cpu:0"));
  multiply(on_device(%g(%once), virtual_device="cpu:1"), %y)
}""",
    "tuples": """
def @main(%x: Tensor[(3, 4), float32], %y: Tensor[(3, 4), float32]) {
  let %t = (on_device(exp(%x), virtual_device="cpu:1", constrain_result=True), tanh(%y));
  let %s = split(%t.0, indices_or_sections=2, axis=1);
  (%t, concatenate((%s.1, %s.0), axis=1), on_device(%t.0, virtual_device="cpu:1") + %t.1)
}""",
    "references": """
def @main(%x: Tensor[(3, 4), float32], %y: Tensor[(3, 4), float32]) {
  let %r = ref(on_device(exp(%x), virtual_device="cpu:1", constrain_result=True));
  let %u = ref_write(%r, add(ref_read(%r), 1f));
  ref_read(%r)
}""",
    "loop": """
def @loop(%i: int32, %a {virtual_device="cpu:1"}: Tensor[(3, 4), float32]) -> Tensor[(3, 4), float32] {
  if (less(%i, 5)) { @loop(add(%i, 1), tanh(add(%a, 1f))) } else { %a }
}
def @main(%x: Tensor[(3, 4), float32], %y: Tensor[(3, 4), float32]) {
  on_device(@loop(0, on_device(%x, virtual_device="cpu:0")), virtual_device="cpu:1") + %y
}""",
    "data": """
type Pair { Both(Tensor[(3, 4), float32], Tensor[(3, 4), float32]), One(Tensor[(3, 4), float32]) }
def @main(%x: Tensor[(3, 4), float32], %y: Tensor[(3, 4), float32]) {
  let %a = on_device(exp(%x), virtual_device="cpu:1", constrain_result=True);
  let %p = Both(%a, on_device(%y, virtual_device="cpu:0"));
  match (%p) { Both(%a, %b) => add(%a, %b), One(%a) => %a }
}""",
    "constants": """
def @main(%x: Tensor[(3, 4), float32], %y: Tensor[(3, 4), float32]) {
  let %c = meta[relay.Constant][0];
  let %t = (%c, %x);
  (on_device(add(on_device(%t.0, virtual_device="", constrain_body=False), exp(%c)), virtual_device="cpu:1"), %t)
}
#[metadata]
{"relay.Constant": [{"shape": [4], "dtype": "float32", "values": [1, 2, 3, 4]}]}""",
    "indices": """
def @main(%x: Tensor[(3, 4), float32], %y: Tensor[(3, 4), float32]) {
  let %i = cast(on_device(clip(%y, a_min=0f, a_max=2f), virtual_device="cpu:1", constrain_result=True), dtype="int32");
  on_device(take(on_device(%x, virtual_device="cpu:0"), %i, axis=0), virtual_device="cpu:1")
}""",
    "a constant that is folded, in a data value": """
type Box { Held(Tensor[(3, 4), float32]), Empty }
def @open(%b: Box, %y: Tensor[(3, 4), float32]) -> Tensor[(3, 4), float32] {
  match (%b) {
    Held(%v) => { on_device(add(%v, on_device(%y, virtual_device="cpu:0")), virtual_device="cpu:1") },
    Empty => { on_device(exp(on_device(%y, virtual_device="cpu:0")), virtual_device="cpu:1") },
  }
}
def @main(%x: Tensor[(3, 4), float32], %y: Tensor[(3, 4), float32]) {
  let %held = Held(on_device(exp(%x), virtual_device="cpu:1", constrain_result=True));
  add(@open(%held, %y), @open(Held(reshape(meta[relay.Constant][0], newshape=[3, 4])), %y))
}
#[metadata]
{"relay.Constant": [{"shape": [12], "dtype": "float32", "values": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}]}""",
    "symbolic": """
def @main(%x: Tensor[(n, 4), float32], %y: Tensor[(n, 4), float32]) {
  add(on_device(nn.softmax(exp(%x)), virtual_device="cpu:1"), %y)
}""",
}


def flat(value):
    return [leaf for one in value for leaf in flat(one)] if isinstance(value, (tuple, list)) else [np.asarray(value)]


@pytest.mark.parametrize("executor", ["vm", "aot"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, executor):
    mod = relay.parse('#[version = "0.0.5"]' + PROGRAMS[name])
    inputs = [image((3, 4)), image((3, 4)) + 1]
    expected = flat(relay.evaluate(mod, inputs))
    model = relay.compile(mod, executor=executor)
    assert copies(model), "nothing is copied: the program is not on two devices"
    for _ in range(2):
        got = flat(model(*inputs))
        for ours, theirs in zip(got, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


REFUSED = {
    "two places": (
        """def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32]) {
  let %a = on_device(exp(%x), virtual_device="cpu:1", constrain_result=True);
  let %b = on_device(exp(%y), virtual_device="cpu:2", constrain_result=True);
  add(%a, %b)
}""",
        ["a value is placed on cpu:", "the result of on_device is on cpu:1", "the result of on_device is on cpu:2"],
    ),
    "a list for the caller": (
        """type Box { Box(Tensor[(3), float32]) }
def @main(%x: Tensor[(3), float32]) {
  Box(on_device(exp(%x), virtual_device="cpu:1", constrain_result=True))
}""",
        ["the result of @main is on cpu:1, but only tensors"],
    ),
    "no kernels": (
        """def @main(%x: Tensor[(3), float32]) { on_device(exp(%x), virtual_device="rocm:0") }""",
        ["a value is placed on rocm:0, but there are no kernels for this kind of device"],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    program, texts = REFUSED[name]
    with pytest.raises(relay.CompileError) as refused:
        relay.compile(relay.parse('#[version = "0.0.5"]' + program))
    for text in texts:
        assert text in str(refused.value)


@pytest.mark.parametrize(
    ("devices", "text"),
    [
        ({"nn.conv": AWAY}, "did you mean nn.conv"),
        ({"exp": "abacus:1"}, "there is no device 'abacus:1'"),
        ({"exp": ""}, "the name of a device is empty"),
        ({"exp": "rocm:0"}, "there are no kernels for this kind of device"),
    ],
)
def test_wrong_options(devices, text):
    x = relay.var("x", shape=(8,))
    with pytest.raises(relay.CompileError, match=text):
        relay.compile(relay.IRModule.from_expr(relay.Function([x], relay.exp(x))), devices=devices)


def places_of_zeros(wrap=lambda e: e):
    x = relay.var("x", shape=(3, 4))
    found = wrap(relay.op.argwhere(relay.op.cast(relay.exp(x) - relay.const(1.0), "bool")))
    return relay.IRModule.from_expr(relay.Function([x], relay.Tuple([found, relay.op.nonzero(x), relay.tanh(x)])))


LEFT = {
    "by name": (places_of_zeros(), {"argwhere": AWAY, "nonzero": AWAY, "tanh": AWAY}),
    "all": (places_of_zeros(), {"default": AWAY}),
    "annotated": (places_of_zeros(lambda e: relay.op.on_device(e, virtual_device=AWAY)), {"nonzero": AWAY}),
}


@pytest.mark.parametrize("name", LEFT)
def test_operators_that_stay_on_the_host_are_said(name):
    mod, devices = LEFT[name]
    given = np.where(image((3, 4)) > 0, image((3, 4)), 0)
    model = relay.compile(mod, devices=devices, strict=False)
    want = [
        f"{one} runs on cpu:0 instead of cpu:1: the host reads the sizes of its results, which depend on values"
        for one in ("argwhere", "nonzero")
    ]
    assert [note for note in model.report["notes"] if "instead of" in note] == want
    for a, b in zip(model(given), relay.compile(places_of_zeros())(given), strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(relay.CompileError, match="argwhere on cpu:1, nonzero on cpu:1\n") as refused:
        relay.compile(mod, devices=devices, strict=True)
    assert refused.value.diagnostics[0].kind == "not_supported"
    with (
        relay.transform.PassContext(disabled_pass=["common_subexpr"]),
        pytest.warns(UserWarning, match="instead of cpu:1"),
    ):
        relay.compile(mod, devices=devices, strict=False)


def test_strict_allows_operators_that_devices_compute():
    model = relay.compile(network(), devices={"default": AWAY}, strict=True)
    assert model.report["notes"] == []


GROUPED = {
    "an annotation alone": 'on_device(%a, virtual_device="cpu:1")',
    "an annotation inside": 'exp(on_device(tanh(%a), virtual_device="cpu:1"))',
    "an annotation of the host": 'on_device(%a, virtual_device="cpu:0")',
}


@pytest.mark.parametrize("body", GROUPED.values(), ids=GROUPED)
def test_groups_with_annotations_are_opened(body):
    text = f"""#[version = "0.0.5"]
def @main(%x: Tensor[(3, 4), float32]) -> Tensor[(3, 4), float32] {{
  %0 = fn (%b: Tensor[(3, 4), float32], Primitive=1) -> Tensor[(3, 4), float32] {{ nn.relu(%b) }};
  %1 = fn (%a: Tensor[(3, 4), float32], Primitive=1) -> Tensor[(3, 4), float32] {{ {body} }};
  %1(%0(%x))
}}
"""
    mod, x = relay.parse(text), image((3, 4))
    want = np.asarray(relay.evaluate(mod, x))
    for given in (mod, relay.transform.PlanDevices()(mod)):
        for executor in EXECUTORS:
            np.testing.assert_allclose(relay.compile(given, executor=executor)(x), want, rtol=1e-6)


# Primitive functions that take or return constants.
CONSTANTS_OF_GROUPS = {
    "an argument": "%0 = fn (%a: Tensor[(3, 4), float32], %s: float32, Primitive=1) { multiply(%a, %s) }; "
    '%1 = fn (%b: Tensor[(3, 4), float32], Primitive=1) { on_device(%b, virtual_device="cpu:1") }; '
    "exp(%1(%0(%x, 0.5f)))",
    "a result": '%0 = fn (Primitive=1) { device_copy(0.5f, src_virtual_device="cpu:0", dst_virtual_device="cpu:1") }; '
    'exp(on_device(multiply(%x, %0()), virtual_device="cpu:1"))',
    "a result beside a parameter": "%0 = fn (%a: Tensor[(3, 4), float32], Primitive=1) { "
    'device_copy(0.5f, src_virtual_device="cpu:0", dst_virtual_device="cpu:1") }; '
    'exp(on_device(multiply(%x, %0(%x)), virtual_device="cpu:1"))',
}


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("body", CONSTANTS_OF_GROUPS.values(), ids=CONSTANTS_OF_GROUPS)
def test_constants_of_groups(body, executor):
    mod = relay.parse(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(3, 4), float32]) {{ {body} }}')
    x = image((3, 4))
    for level in range(4):
        model = relay.compile(mod, executor=executor, opt_level=level)
        assert copies(model)[AWAY, HERE] == (1, 48)
        np.testing.assert_allclose(model(x), np.exp(x / 2), rtol=1e-6)


def test_an_artifact_keeps_its_devices(tmp_path):
    model = relay.compile(network(), devices={"nn.conv2d": AWAY})
    model.save(tmp_path / "model.rart")
    loaded = relay.load(tmp_path / "model.rart")
    np.testing.assert_array_equal(loaded(image()), model(image()))
    assert copies(loaded) == copies(model)


def test_the_command_line_counts_copies(tmp_path):
    program = tmp_path / "exp.relay"
    program.write_text('#[version = "0.0.5"]\ndef @main(%x: Tensor[(8), float32]) { tanh(exp(%x)) }\n')
    relay_cli = [sys.executable, "-m", "relay"]
    ran = subprocess.run(
        [*relay_cli, "run", program, "--devices", "exp=cpu:1", "--json"], capture_output=True, text=True, check=True
    )
    about = json.loads(ran.stdout)
    assert (about["copies"], about["copied_bytes"]) == (2, 64)
    assert "2 copies between devices (0.0625 KiB)" in ran.stderr
    shown = subprocess.run(
        [*relay_cli, "opt", program, "--devices", "exp=cpu:1", "--emit", "program"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "copy x to %" in shown.stdout
    assert ", cpu:0 to cpu:1" in shown.stdout


@pytest.mark.slow
def test_networks_in_guarded_memory():
    """Nothing but the device's own operations touches its memory: everything else ends the process."""
    code = """
import numpy as np, relay, sys
sys.path.insert(0, sys.argv[1])
import test_devices as t
for name, text in t.PROGRAMS.items():
    mod = relay.parse('#[version = "0.0.5"]' + text)
    for executor in ("vm", "aot"):
        relay.compile(mod, executor=executor)(t.image((3, 4)), t.image((3, 4)) + 1)
model = relay.compile(t.network(), devices={"nn.conv2d": "cpu:1"})
print(np.abs(model(t.image()) - relay.compile(t.network())(t.image())).max())
"""
    ran = subprocess.run(
        [sys.executable, "-c", code, str(pathlib.Path(__file__).parent)],
        env={**os.environ, "RELAY_GUARD_DEVICES": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, "0.0\n"), ran.stderr


def test_the_tutorial_of_2019():
    """Its pass ScheduleConv2d, with the second memory of the processor as device."""
    import relay.compat

    relay.compat.install()
    import tvm
    from tvm import relay as old
    from tvm.relay import ExprMutator

    class ScheduleConv2d(ExprMutator):
        def __init__(self, device):
            self.device = device
            super().__init__()

        def visit_call(self, expr):
            visit = super().visit_call(expr)
            if expr.op == tvm.relay.op.get("nn.conv2d"):
                return old.annotation.on_device(visit, self.device)
            return visit

    network, params = resnet.get_workload(batch_size=1, num_layers=18, image_shape=(3, 32, 32), num_classes=10)
    scheduled = old.ir_pass.rewrite_annotated_ops(ScheduleConv2d(tvm.cpu(1)).visit(network["main"]), 1)
    module = relay.IRModule.from_expr(scheduled)
    names = [param.name_hint for param in network["main"].params]
    data = image((1, 3, 32, 32))
    values = [data if name == "data" else params[name] for name in names]
    away = relay.compile(module)
    np.testing.assert_allclose(away(*values), relay.compile(network)(*values), rtol=1e-4, atol=1e-5)
    convolutions = sum(group["name"].count("conv2d") for group in away.report["groups"])
    assert convolutions >= 20
    assert copies(away)[AWAY, HERE][0] >= 15
