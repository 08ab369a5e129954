// OpDef: the definition of an operator. One file per operator defines all of it, from top to bottom: the formula, the
// attributes, infer (the type relation, with numbered constraints), compute (one tensor expression), examples. See
// op/nn/dense/dense.cpp; operators that differ only in the number of axes share a header (op/nn/conv/conv.h).
//
// The call syntax in text and Python, documentation, type inference, the evaluator, kernels, tests and the benchmark
// entry derive from it. docs/add-an-operator.md walks through one.
#pragma once

#include <functional>

#include "relay/ir/expr.h"
#include "relay/te/te.h"
#include "relay/tensor/index_check.h"

namespace relay::op {

using ir::Attrs;
using ir::Type;
using ir::Types;

// The fusion class of an operator (as in the paper's fusion pass), in order of generality.
enum class Fusion : uint8_t {
  Elementwise,    // out[i] from in[i]
  Broadcast,      // out[i] from in[i], or from in at some of i's axes
  Injective,      // each output element from one element of each input: reshape, transpose, slice, concatenate
  Reduce,         // sums, maxima, ...
  OutputFusable,  // expensive; elementwise followers can be computed on its result tile: conv2d, dense, pooling
  Opaque,         // never fused
};
const char* name(Fusion fusion);

struct Input {
  std::string name;
  std::string doc;  // shape and meaning
  // The argument is a tuple of tensors (concatenate); compute receives its tensors flattened.
  bool is_tuple = false;
};

// An example of an operator. Used for: the relation, the evaluator against the oracle, the compiled kernel against the
// evaluator (static, and with every dimension of `symbolic` made a variable), the benchmark.
struct Example {
  std::vector<std::string> inputs;  // types: "(1, 3, 8, 8)" is float32; else "(4,) int64"; a tuple: "[(1, 2), (1, 3)]"
  std::string attrs = "";           // as in Relay text: "strides=[2, 2], groups=2"
  // The same inputs with names for dimensions, "(n, 3, h, w)"; if empty, static only.
  std::vector<std::string> symbolic = {};
  double low = -1, high = 1;  // values are drawn uniformly from [low, high] (integers: both ends included)
  std::vector<std::pair<double, double>> ranges = {};  // overrides low and high: the range of each tensor
  double ulps = 4;        // allowed error of the compiled kernel, in units of the largest output; reason if raised
  bool bench = false;     // a benchmark entry: too large for the evaluator, only typed, compiled and timed
  bool distinct = false;  // integers are 0, 1, .. in some order
};

// Indices that the executors check before they compute. Each is in [-extent, extent), where negative ones count from
// the end; or, for no_axis, other numbers in [0, extent).
struct CheckedIndices {
  size_t input = 0;           // the index among the input tensors, tuples flattened
  ir::Dims extents;           // one for all, or one for each slice along the first dimension of the indices
  std::vector<int64_t> axes;  // of the data, one per extent; -1: all axes, flattened; or no_axis
  // The values to check, computed from all these tensors; if null, the input itself. Reads nothing outside of them.
  std::function<te::Tensor(const te::Tensors&)> values = {};
  // The message for no_axis: a name that replaces the input's, or a message and a help, one line each.
  std::string words = {};
};
using Checks = std::vector<CheckedIndices>;

// A call in reverse-mode differentiation. `inputs` and `output` are typed and cheap to use repeatedly: variables,
// constants, and tuples of them. `gradient` is the gradient of the output, and has its type.
struct Adjoint {
  const ir::Exprs& inputs;
  const ir::Expr& output;
  const ir::Expr& gradient;
};

// The greatest error of a function of one or two floats, in units in the last place (ULP) of the exact result rounded
// to the element type. Results of float16 and bfloat16 are those of float32, rounded. test/ops/accuracy.py checks it
// over all exponents.
struct Accuracy {
  double float32, float64;
};

// A call that the relation must refuse with this constraint.
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
  const ir::AttrsType* attrs_type = nullptr;  // set by define<>; null if there are no attributes
  // The type relation. Input types are complete tensor types (or a tuple of them). Failures are reported with
  // constraint() below.
  std::function<Result<Type>(const Attrs&, const Types& inputs)> infer;
  // Infers missing types of inputs (null) from the attributes and the known inputs: the weight of a convolution from
  // channels and kernel_size. Returns the list with more types filled in. Unset if nothing can be inferred.
  std::function<Types(const Attrs&, Types inputs)> complete;
  // The tensor expressions of the outputs (one, or one per tuple field). `inputs` are flattened.
  std::function<te::Tensors(const Attrs&, const te::Tensors& inputs, const Type& output)> compute;
  // For an operator with value-dependent sizes, whose type may have a `?` even if all sizes of the inputs are known.
  // Computes the result's shape from the inputs, int64[rank]; for several results their shapes, concatenated. See
  // transform/control/size_results.cpp.
  std::function<te::Tensor(const Attrs&, const te::Tensors& inputs)> shape;
  // The checks of indices among the input tensors, whose types are complete; null if there are none. compute() may rely
  // on them for its results, but never reads outside of the data. See checks_of in op/index/checks.h.
  std::function<Checks(const Attrs&, const Types& tensors)> checked;
  // The gradients of the inputs, one each, of their types; null for inputs without a gradient (indices, shapes). If
  // unset, the operator cannot be differentiated, unless it has a definition. Written with op/gradient.h.
  std::function<ir::Exprs(const Attrs&, const Adjoint&)> gradient;
  // An equivalent expression of other operators, which is differentiated instead. The inputs are typed.
  std::function<ir::Expr(const Attrs&, const ir::Exprs& inputs)> definition;
  bool by_executor = false;            // no kernel: the executors implement it
  bool composite = false;              // compiled as its definition: the pass expand_composites substitutes it
  bool accepts_storage_types = false;  // accepts and returns elements of storage types, which other operators refuse
  bool is_extension = false;           // the original Relay had no operator of this meaning
  const OpDef* part_of = nullptr;      // derived from that operator's `shape`; such operators are not in any list
  // A Python expression for the expected value. The inputs (torch tensors, floats as float64; a tuple is a list) and
  // attributes are variables of their names; np, scipy, torch, F = torch.nn.functional and the helpers of
  // test/python/support/oracle.py are available: "torch.relu(data)".
  std::string oracle;
  std::vector<Example> examples;
  std::vector<Reject> rejects;
  std::optional<Accuracy> accuracy = {};
};

// The definition in an operator file: the same with typed attributes.
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
  bool accepts_storage_types = false;
  bool is_extension = false;
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
  // A single description per operator, never destroyed: attributes point to it.
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
      s.accepts_storage_types,
      s.is_extension,
      nullptr,
      std::move(s.oracle),
      std::move(s.examples),
      std::move(s.rejects)};
}

// A failed constraint: constraint("C2", "data has {} channels, weight expects {}", ...), with an optional help. Typing
// adds the place, the call and the input types.
template <class... Args>
Diagnostic constraint(const char* number, fmt::format_string<Args...> text, Args&&... args) {
  Diagnostic d{DiagnosticKind::constraint, format(text, std::forward<Args>(args)...)};
  d.help = "docs/operators.md lists the requirements of the operator's inputs and attributes";
  d.notes.push_back(format("constraint ({})", number));
  return d;
}

}  // namespace relay::op
