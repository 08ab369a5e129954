"""Texts: types after expressions, metadata from a table, sections left out."""

import numpy as np
import pytest
import tvm
from tvm import relay

HEADER = '#[version = "0.0.5"]\n'


def test_types_are_printed():
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.add(relay.const(1), relay.const(2))))
    assert mod.astext().count("/* ty=int32 */") == 3
    tvm.ir.assert_structural_equal(relay.parse(mod.astext()), mod)
    x = relay.var("x", shape=(3, 4))
    marked = relay.Function([x], x + x).astext(annotate=lambda e: " /* mine */" if isinstance(e, relay.Call) else "")
    assert "/* mine */" in marked and "ty=" not in marked


def test_metadata_left_out():
    x = relay.var("x", shape=(4,))
    f = relay.Function([x], x + relay.const(np.arange(4, dtype="float32")))
    assert "#[metadata]" in f.astext() and "meta[relay.Constant][0]" in f.astext()
    short = f.astext(show_meta_data=False)
    assert short.startswith(HEADER) and "the metadata section has been omitted" in short and "#[metadata]" not in short
    assert "omitted" not in relay.Function([x], x).astext(show_meta_data=False) and "#[version" not in str(f)


def test_metadata_of_a_table():
    weights = relay.const(np.array([1.5, np.inf], "float32"))
    text = HEADER + "def @main(%a: Tensor[(2), float32]) { add(%a, meta[relay.Constant][0]) }"
    mod = relay.parse(text, "from_string", None, {"relay.Constant": [weights]})
    assert (mod["main"].body.args[1].data.numpy() == [1.5, np.inf]).all()
    with pytest.raises(tvm.error.DiagnosticError, match="the table has no"):
        relay.parse(text.replace("[0]", "[1]"), "from_string", None, {"relay.Constant": [weights]})
    with pytest.raises(tvm.error.DiagnosticError):
        relay.parse(text)


def test_devices_of_a_table():
    table = {"VirtualDevice": [tvm.target.VirtualDevice(tvm.cpu(0)), tvm.target.VirtualDevice(tvm.cpu(1))]}
    text = HEADER + (
        "def @main(%a {virtual_device=meta[VirtualDevice][1]}: Tensor[(2), float32]) {\n"
        "  on_device(%a, virtual_device=meta[VirtualDevice][0], constrain_result=True)\n}"
    )
    mod = relay.parse(text, "from_string", None, table)
    assert '{virtual_device="cpu:1"}' in mod.astext()
    tvm.ir.assert_structural_equal(relay.parse(mod.astext()), mod)
    other = relay.parse(text.replace("[1]", "[0]"), "from_string", None, table)
    assert not tvm.ir.structural_equal(other, mod)


def test_attributes_of_functions():
    f = relay.parse_expr('fn (n=5, s="a", b=True, l=[1, 2]) { () }')
    assert f.attrs["n"].value == 5 and f.attrs["s"] == "a" and f.attrs["b"] is True
    assert [one.value for one in f.attrs["l"]] == [1, 2]
