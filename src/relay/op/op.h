// OpDef: what an operator is. One file an operator defines it all, from top to bottom: the formula, the attributes,
// infer (the type relation, with numbered constraints), compute (one tensor expression), examples. See
// op/nn/dense.cpp; those that differ in the number of axes share a header (op/nn/conv.h).
//
// From it come: the call syntax in text and Python, documentation, type inference, the evaluator, kernels, tests and
// the benchmark entry. docs/add-an-operator.md walks through one.
#pragma once

#include <functional>

#include "relay/ir/expr.h"
#include "relay/te/te.h"
#include "relay/tensor/index_check.h"

namespace relay::op {

using ir::Attrs;
using ir::Type;
using ir::Types;

// How an operator takes part in fusion (the classes of the paper's fusion pass), in order of generality.
enum class Fusion : uint8_t {
  Elementwise,    // out[i] from in[i]
  Broadcast,      // out[i] from in[i], or from in at some of i's axes
  Injective,      // each output element from one place of each input: reshape, transpose, slice, concatenate
  Reduce,         // sums, maxima, ...
  OutputFusable,  // heavy; elementwise followers can be computed on its result tile: conv2d, dense, pooling
  Opaque,         // never fused
};
const char* name(Fusion fusion);

struct Input {
  std::string name;
  std::string doc;  // shape and meaning
  // The argument is a tuple of tensors (concatenate); its tensors reach compute one after another.
  bool is_tuple = false;
};

// One case of an operator. Drives: relation, evaluator against oracle, compiled kernel against evaluator (static, and
// with every dimension of `symbolic` made a variable), benchmark.
struct Example {
  std::vector<std::string> inputs;  // types: "(1, 3, 8, 8)" is float32; else "(4,) int64"; a tuple: "[(1, 2), (1, 3)]"
  std::string attrs = "";           // as in Relay text: "strides=[2, 2], groups=2"
  // The same inputs with names for dimensions, "(n, 3, h, w)"; empty: static only.
  std::vector<std::string> symbolic = {};
  double low = -1, high = 1;  // values are drawn uniformly from [low, high] (integers: both ends included)
  std::vector<std::pair<double, double>> ranges = {};  // instead of low and high: those of each tensor
  double ulps = 4;        // allowed error of the compiled kernel, in units of the largest output; reason if raised
  bool bench = false;     // a benchmark entry: too large for the evaluator, only typed, compiled and timed
  bool distinct = false;  // integers are 0, 1, .. in some order
};

// Indices that the executors check before they compute: each is in [-extent, extent), those below zero count from the
// end; or other numbers, of no axis, each in [0, extent).
struct CheckedIndices {
  size_t input = 0;           // which of the tensors among the inputs they are; tuples are spread out
  ir::Dims extents;           // one for all, or one for each slice along their first dimension
  std::vector<int64_t> axes;  // of the data, one an extent; -1: all axes, flattened; no_axis
  // What is checked, computed of all these tensors; null: the input as it is. It reads nothing outside of them.
  std::function<te::Tensor(const te::Tensors&)> of = {};
  // What is said of numbers of no axis: a name in place of the input's, or a message and a help, a line each.
  std::string words = {};
};
using Checks = std::vector<CheckedIndices>;

// A call in reverse-mode differentiation. `inputs` and `output` are typed, and cost nothing to use again: variables,
// constants, and tuples of them. `gradient` is that of the output, and of its type.
struct Adjoint {
  const ir::Exprs& inputs;
  const ir::Expr& output;
  const ir::Expr& gradient;
};

// A call that the relation must refuse, naming the constraint.
struct Reject {
  std::vector<std::string> inputs;
  std::string attrs;
  std::string constraint;  // "C2"
};

struct OpDef {
  std::string name;  // "nn.conv2d"
  std::string doc;   // one sentence
  std::vector<Input> inputs;
  Fusion fusion = Fusion::Opaque;
  const ir::AttrsType* attrs_type = nullptr;  // set by define<>; null: no attributes
  // The type relation. Input types are complete tensor types (or a tuple of them). Constraint failures come from
  // constraint() below.
  std::function<Result<Type>(const Attrs&, const Types& inputs)> infer;
  // What attributes and known inputs say about inputs whose types are not known yet (null): the weight of a convolution
  // with channels and kernel_size. Gives the same list with more filled in. None: they say nothing.
  std::function<Types(const Attrs&, Types inputs)> complete;
  // The tensor expressions of the outputs (one, or one a tuple field). `inputs` are flat: tuples are spread out.
  std::function<te::Tensors(const Attrs&, const te::Tensors& inputs, const Type& output)> compute;
  // Of an operator whose type may have a `?` where all of the inputs' sizes are known: then a size depends on the
  // inputs' values. The result's shape from the inputs, int64[rank]; of several results their shapes, one behind the
  // other. See transform/size_results.cpp.
  std::function<te::Tensor(const Attrs&, const te::Tensors& inputs)> shape;
  // What must hold of indices among the tensors of the inputs, whose types are complete; null: nothing. compute() may
  // rely on it for its results, and reads nothing outside of the data in any case. See checks_of in op/index/checks.h.
  std::function<Checks(const Attrs&, const Types& tensors)> checked;
  // The gradients of the inputs, one each, of their types; null where nothing depends on an input smoothly (indices,
  // shapes). No function: the operator is not differentiated, unless it has a definition. Written with op/gradient.h.
  std::function<ir::Exprs(const Attrs&, const Adjoint&)> gradient;
  // The same in other operators, which are differentiated in its place. The inputs are typed.
  std::function<ir::Expr(const Attrs&, const ir::Exprs& inputs)> definition;
  bool by_executor = false;        // no kernel: the executors do it themselves
  bool composite = false;          // compiled as its definition: the pass expand_composites writes it out
  bool stores = false;             // takes and gives elements of storage types, which others refuse
  bool ours = false;               // Relay as it was had no operator of this meaning
  const OpDef* part_of = nullptr;  // made of that operator's `shape`; such are in no list
  // A Python expression for the expected value, with the inputs (torch tensors, floats as float64; a tuple is a list)
  // and attributes as variables of their names; np, scipy, torch, F = torch.nn.functional and the helpers of
  // test/python/oracle.py at hand: "torch.relu(data)".
  std::string oracle;
  std::vector<Example> examples;
  std::vector<Reject> rejects;
};

// What an operator file writes: the same with typed attributes.
template <class A>
struct OpSpec {
  std::string name;
  std::string doc;
  std::vector<Input> inputs;
  Fusion fusion = Fusion::Opaque;
  std::function<Result<Type>(const A&, const Types&)> infer;
  std::function<Types(const A&, Types)> complete = {};
  std::function<te::Tensors(const A&, const te::Tensors&, const Type&)> compute;
  std::function<te::Tensor(const A&, const te::Tensors&)> shape = {};
  std::function<Checks(const A&, const Types&)> checked = {};
  std::function<ir::Exprs(const A&, const Adjoint&)> gradient = {};
  std::function<ir::Expr(const A&, const ir::Exprs&)> definition = {};
  bool by_executor = false;
  bool composite = false;
  bool stores = false;
  bool ours = false;
  std::string oracle;
  std::vector<Example> examples;
  std::vector<Reject> rejects = {};
};

// For operators without attributes.
struct NoAttrs {
  static constexpr auto fields = std::tuple{};
};

template <class A>
OpDef define(OpSpec<A> s, const char* attrs_name = "") {
  // One description an operator, never destroyed: attributes point to it.
  const ir::AttrsType* type = std::tuple_size_v<decltype(A::fields)> == 0
                                  ? nullptr
                                  : new ir::AttrsType(ir::detail::describe<A>(format("relay.attrs.{}", attrs_name)));
  // Null attributes mean the defaults.
  auto get = [](const Attrs& a) -> const A& {
    static const A defaults{};
    return a ? *static_cast<const A*>(a->data()) : defaults;
  };
  std::function<te::Tensor(const Attrs&, const te::Tensors&)> shape;
  if (s.shape) shape = [get, f = s.shape](const Attrs& a, const te::Tensors& in) { return f(get(a), in); };
  std::function<Checks(const Attrs&, const Types&)> checked;
  if (s.checked) checked = [get, f = s.checked](const Attrs& a, const Types& in) { return f(get(a), in); };
  std::function<ir::Exprs(const Attrs&, const Adjoint&)> gradient;
  if (s.gradient) gradient = [get, f = s.gradient](const Attrs& a, const Adjoint& of) { return f(get(a), of); };
  std::function<ir::Expr(const Attrs&, const ir::Exprs&)> definition;
  if (s.definition) definition = [get, f = s.definition](const Attrs& a, const ir::Exprs& in) { return f(get(a), in); };
  return OpDef{
      std::move(s.name),
      std::move(s.doc),
      std::move(s.inputs),
      s.fusion,
      type,
      [get, f = s.infer](const Attrs& a, const Types& in) { return f(get(a), in); },
      [get, f = s.complete](const Attrs& a, Types in) { return f ? f(get(a), std::move(in)) : in; },
      [get, f = s.compute](const Attrs& a, const te::Tensors& in, const Type& out) { return f(get(a), in, out); },
      std::move(shape),
      std::move(checked),
      std::move(gradient),
      std::move(definition),
      s.by_executor,
      s.composite,
      s.stores,
      s.ours,
      nullptr,
      std::move(s.oracle),
      std::move(s.examples),
      std::move(s.rejects)};
}

// A constraint that does not hold: constraint("C2", "data has {} channels, weight expects {}", ...), with an optional
// help. Typing adds the place, the call and the input types.
template <class... Args>
Diagnostic constraint(const char* number, fmt::format_string<Args...> text, Args&&... args) {
  Diagnostic d{DiagnosticKind::constraint, format(text, std::forward<Args>(args)...)};
  d.help = "docs/operators.md lists what the operator asks of its inputs and attributes";
  d.notes.push_back(format("constraint ({})", number));
  return d;
}

}  // namespace relay::op
