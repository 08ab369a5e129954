"""Nodes, types, kinds, relations, equality and attributes, as in tests of TVM."""

import numpy as np
import pytest
import tvm
from tvm import relay
from tvm.ir import IRModule, Op, structural_equal, structural_hash
from tvm.ir.base import Node, SourceName, Span, get_first_structural_mismatch
from tvm.relay.analysis import all_vars, bound_vars, check_kind, free_type_vars, free_vars
from tvm.relay.op import op as _op
from tvm.relay.testing import run_infer_type
from tvm.tir.expr import *  # noqa: F403

BROADCAST = "tvm.relay.type_relation.Broadcast"


def roundtrip(node):
    back = tvm.ir.load_json(tvm.ir.save_json(node))
    tvm.ir.assert_structural_equal(back, node, map_free_vars=True)
    return back


def test_types():
    a = relay.TypeVar("a", relay.TypeKind.Type)
    assert a.kind == relay.TypeKind.Type and a.name_hint == "a" and a.span is None
    for type_ in [
        relay.TensorType((1, 2), "int8"),
        a,
        relay.GlobalTypeVar("L"),
        relay.TupleType([relay.TensorType((), "bool")]),
        relay.FuncType([a], a, [a]),
        relay.RefType(relay.TensorType((2,))),
    ]:
        assert type_.astext() == str(type_) and type_.span is None
        roundtrip(type_)
    plain = relay.FuncType([], relay.TensorType((2,)), tvm.runtime.convert([]), tvm.runtime.convert([]))
    assert plain.type_params == [] and plain.type_constraints == []


def test_relations():
    function = tvm.ir.EnvFunc.get(BROADCAST)
    args = tvm.runtime.convert([relay.TypeVar("t"), relay.FuncType([], None, [], [])])
    attrs = tvm.ir.make_node("attrs.TestAttrs", name="attr", padding=(3, 4))
    relation = relay.TypeRelation(function, args, 2, attrs)
    assert relation.args == args and relation.num_inputs == 2 and relation.func.name == BROADCAST
    assert "Broadcast" in str(relation) and relation.attrs.get_int_tuple("padding") == (3, 4)

    def made(name=BROADCAST, inputs=1, padding=(3, 4)):
        same = tvm.ir.make_node("attrs.TestAttrs", name="attr", padding=padding)
        return relay.TypeRelation(tvm.ir.EnvFunc.get(name), [relay.TensorType((1, 2))], inputs, same)

    assert structural_equal(made(), made()) and structural_hash(made()) == structural_hash(made())
    for other in (made("tvm.relay.type_relation.Identity"), made(inputs=2), made(padding=(3, 5))):
        assert not structural_equal(made(), other)
    with pytest.raises(ValueError, match="no function"):
        tvm.ir.EnvFunc.get("mine.none")


def test_functions_by_name():
    @tvm.register_func("probe.twice")
    def twice(value):
        return 2 * value

    assert tvm.get_global_func("probe.twice")(4) == 8 and tvm.ir.EnvFunc.get("probe.twice")(5) == 10
    assert tvm.get_global_func("probe.none", allow_missing=True) is None and twice(1) == 2


def test_kinds():
    t, size, base = (
        relay.TypeVar(name, kind)
        for name, kind in (
            ("t", relay.TypeKind.Type),
            ("s", relay.TypeKind.ShapeVar),
            ("b", relay.TypeKind.BaseType),
        )
    )
    assert check_kind(relay.TupleType([t])) == check_kind(relay.FuncType([t], t)) == relay.TypeKind.Type
    hole = relay.IncompleteType(relay.TypeKind.Constraint)
    assert isinstance(hole, relay.IncompleteType) and hole.kind == relay.TypeKind.Constraint
    for bad in (relay.TupleType([size]), relay.FuncType([t], size), relay.RefType(base), relay.TupleType([hole])):
        with pytest.raises(tvm.error.TVMError):
            check_kind(bad)
    relation = relay.TypeRelation(tvm.ir.EnvFunc.get(BROADCAST), [t, t], 1, None)
    assert check_kind(relation) == relay.TypeKind.Constraint
    assert check_kind(relay.FuncType([t], t, [], [relation])) == relay.TypeKind.Type
    with pytest.raises(tvm.error.TVMError):
        check_kind(relay.FuncType([t], t, [], [relay.TypeRelation(relation.func, [size], 1, None)]))


def test_kinds_of_definitions():
    mod = IRModule()
    box, element = relay.GlobalTypeVar("box"), relay.TypeVar("element")
    mod[box] = data = relay.TypeData(box, [element], [])
    assert check_kind(data, mod) == relay.TypeKind.TypeData and check_kind(box) == relay.TypeKind.AdtHandle
    assert check_kind(relay.TypeCall(box, [relay.TensorType((2,))]), mod) == relay.TypeKind.Type
    for bad in (relay.TypeCall(box, []), relay.TypeCall(relay.GlobalTypeVar("other"), [])):
        with pytest.raises(tvm.error.TVMError):
            check_kind(bad, mod)


def test_functors_visit_relations():
    seen = []

    class Shapes(relay.TypeVisitor):
        def visit_tensor_type(self, tt):
            seen.append(tt.concrete_shape)

    class Wider(relay.TypeMutator):
        def visit_tensor_type(self, tt):
            return relay.TensorType([2 * size for size in tt.concrete_shape], tt.dtype)

    relation = relay.TypeRelation(tvm.ir.EnvFunc.get(BROADCAST), [relay.TensorType((1, 2))], 1, None)
    Shapes().visit(relation)
    assert seen == [(1, 2)] and Wider().visit(relation).args == [relay.TensorType((2, 4))]


def test_expressions():
    x, y = relay.Var("x"), relay.Var("y", relay.TensorType([], "float32"))
    assert x.span is None and x.name_hint == "x" and isinstance(relay.const(1), relay.expr.ExprWithOp)
    pair = relay.Tuple(tvm.runtime.convert([x, y]))
    assert pair.fields == [x, y] and pair.span is None and relay.Call(x, [y]).span is None
    for one in (pair, relay.Call(x, [y]), relay.If(x, y, y), relay.TupleGetItem(x, 1), relay.GlobalVar("g")):
        roundtrip(one)
    roundtrip(Op.get("add"))
    roundtrip({"a": [pair, 1], "b": "text"})
    values = tvm.nd.array(np.arange(3, dtype="float32"))
    assert relay.Constant(values).data == values and not (relay.Constant(values).data == values + 1)
    fn = relay.Function([x], x).with_attr("one", "value").with_attr({"two": 2})
    assert fn.attrs["one"] == "value" and fn.attrs["two"].value == 2 and "one" not in fn.without_attr("one").attrs
    roundtrip(fn)
    with pytest.raises(tvm.error.TVMError, match="astext"):
        tvm.ir.load_json('{"root": 1, "nodes": []}')


def test_attributes_of_calls():
    call = relay.nn.conv2d(relay.var("x", shape=(1, 3, 8, 8)), relay.var("w"), kernel_size=(3, 3), channels=4)
    assert isinstance(call.attrs, tvm.ir.Attrs) and call.attrs.get_int_tuple("strides") == (1, 1)
    assert call.attrs.get_int("groups") == 1 and call.attrs.get_str("data_layout") == "NCHW"
    assert call.attrs.out_dtype == "" and "strides" in call.attrs.keys() and call.attrs["channels"] == 4
    fields = {info.name: info for info in call.attrs.list_field_info()}
    assert fields["kernel_size"].description and "int" in fields["groups"].type_info
    assert isinstance(relay.op.nn.dense(relay.var("a"), relay.var("b")).op, Op)


def test_places():
    span = relay.Span(relay.SourceName("src"), 1, 1, 2, 3)
    assert span.source_name.name == "src" and (span.line, span.column, span.end_column) == (1, 2, 3)
    assert isinstance(span, Span) and span.same_as(span) and isinstance(span.source_name, SourceName)
    assert relay.SequentialSpan([span, relay.SequentialSpan([span])]).spans == [span, span]
    assert relay.var("x", shape=(2,), span=span).span == span
    parsed = relay.parse('#[version = "0.0.5"]\ndef @main(%x: int32) { add(%x, 2) }', "mine")
    assert parsed["main"].body.span.source_name.name == "mine" and parsed["main"].body.span.line == 2
    assert isinstance(parsed, Node)


def test_equality():
    x, y = relay.var("x", shape=(2,)), relay.var("x", shape=(3,))
    with pytest.raises(ValueError, match="StructuralEqual"):
        tvm.ir.assert_structural_equal(relay.Function([x], x), relay.Function([y], y))
    assert get_first_structural_mismatch(relay.const(1), relay.const(1)) is None
    assert get_first_structural_mismatch(x, y) == (x, y)
    written = relay.Function([x], relay.exp(x))
    assert structural_equal(run_infer_type(written), written) and not structural_equal(run_infer_type(written), x)


def test_variables_of_patterns_and_types():
    x, a, b = relay.Var("x"), relay.TypeVar("a"), relay.TypeVar("b")
    pattern = relay.PatternTuple([relay.PatternVar(x), relay.PatternWildcard()])
    assert bound_vars(pattern) == all_vars(pattern) == [x] and free_vars(x) == [x]
    assert free_type_vars(relay.FuncType([a, b], a, [a]), IRModule()) == [b]
    relation = relay.TypeRelation(tvm.ir.EnvFunc.get(BROADCAST), [a], 1, None)
    assert free_type_vars(relay.FuncType([b], b, [], [relation])) == [b, a]


def test_values_of_operators():
    add = relay.op.get("add")
    assert add.has_attr("TOpPattern") and add.get_attr("TOpPattern") == _op.OpPattern.BROADCAST
    tvm.ir.register_op_attr("add", "ftest", "low")
    with pytest.raises(tvm.TVMError, match="registered already"):
        tvm.ir.register_op_attr("add", "ftest", "again")
    tvm.ir.register_op_attr("add", "ftest", "high", level=11)
    tvm.ir.register_op_attr("add", "ftest", "lower", level=9)
    assert add.get_attr("ftest") == "high"
    add.reset_attr("ftest")
    assert not add.has_attr("ftest")


def test_own_operator():
    name = "probe.pairs"
    _op.register(name, "two of one")
    own = _op.get(name)
    own.set_num_inputs(1)
    own.add_argument("data", "Tensor", "The input.")
    own.set_support_level(1)
    own.set_attrs_type_key("DictAttrs")
    own.add_type_rel("Pairs", lambda types, attrs: relay.TupleType([types[0], types[0]]))
    _op.register_stateful(name, False)
    assert own.num_inputs == len(own.arguments) == 1 and own.description == "two of one"
    x = relay.var("x", shape=(2, 3))
    assert len(run_infer_type(relay.Call(own, [x])).checked_type.fields) == 2
    with pytest.raises(tvm.TVMError):
        _op.register(name, "again")
    _op.register("probe.same", "as it is")
    _op.get("probe.same").add_argument("data", "Tensor", "The input.").add_type_rel("Identity")
    assert run_infer_type(_op.get("probe.same")(x)).checked_type == relay.TensorType((2, 3))
    with pytest.raises(NotImplementedError, match="state"):
        _op.register_stateful("probe.same", True)


def solver():
    made = relay.analysis._ffi_api._test_type_solver()
    return made("Solve"), made("Unify"), made("Resolve"), made("AddRelation")


def relation_of(name, args):
    return relay.ty.TypeRelation(tvm.ir.EnvFunc.get(f"tvm.relay.type_relation.{name}"), args, len(args) - 1, None)


def test_solver():
    solve, unify, resolve, add = solver()
    full, column, first, last = (
        relay.TensorType((10, 20)),
        relay.TensorType((10, 1)),
        *(relay.IncompleteType() for _ in range(2)),
    )
    add(relation_of("Broadcast", [full, column, first]))
    add(relation_of("Identity", [first, last]))
    assert solve() and resolve(last) == full
    hole = relay.IncompleteType()
    add(relation_of("Identity", [hole, relay.IncompleteType()]))
    assert not solve()
    unify(hole, column)
    assert solve()


def test_unification():
    _, unify, resolve, _ = solver()
    hole, other = relay.IncompleteType(), relay.IncompleteType()
    two = relay.TensorType((2,))
    assert unify(relay.TupleType([hole, two]), relay.TupleType([two, other])) == relay.TupleType([two, two])
    assert resolve(hole) == resolve(other) == two
    a, b = relay.TypeVar("a"), relay.TypeVar("b")
    assert unify(relay.FuncType([a], a, [a]), relay.FuncType([b], b, [b])) == relay.FuncType([a], a, [a])
    assert unify(relay.TensorType((relay.Any(), 3)), relay.TensorType((2, 3))) == relay.TensorType((relay.Any(), 3))
    inner = relay.IncompleteType()
    for left, right in (
        (two, relay.TensorType((3,))),
        (two, relay.TensorType((2,), "int32")),
        (two, relay.TupleType([])),
        (inner, relay.FuncType([inner], two)),
        (relay.RefType(two), relay.RefType(relay.TensorType((1,)))),
    ):
        with pytest.raises(tvm.error.DiagnosticError):
            unify(left, right)


def test_modules():
    mod = IRModule({relay.GlobalVar("f"): relay.Function([], relay.const(1))}, attrs={"a": 1})
    assert [var.name_hint for var, _ in mod.functions_items()] == ["f"] and mod.attrs["a"].value == 1
    mod.import_from_std("prelude.rly")
    _, cons, nil = mod.get_type("List")
    assert mod.get_constructor(cons.tag).tag == cons.tag != nil.tag
    with pytest.raises(ValueError, match="number 99"):
        mod.get_constructor(99)
    assert relay.transform.InferTypeLocal(relay.exp(relay.var("x", shape=(1, 3)))) == relay.TensorType((1, 3))
