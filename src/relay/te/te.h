// Tensor expressions: the values that a kernel computes, without loops or order.
//
// A tensor is a placeholder or a *stage*. A stage has named axes with extents, perhaps reduction axes with a combiner,
// and a scalar body that loads other tensors by index expressions:
//
//   C[y, x] = sum(k < K) A[y, k] * B[k, x]
//
// compute() and reduce() build them. Padding is a guard: select(0 <= y && y < H, A[y], 0.0f); only the chosen side is
// evaluated. Indices and extents are int64 scalar expressions, extents over constants and shape variables only. Four
// forms extend this:
//
//   total[y, t] = select(t == 0, x[y, 0], total[y, t - 1] * decay[t] + x[y, t])
//   B[y, t] = sum(k < min(64, n - t * 64)) x[y, t * 64 + k]
//
//   order[b, i] = program(b) { for k in 0..n { order[b, place[b, k]] = k } }
//
//   best[y] = argmax(k < n) (x[y, k], k);  place[y] = best[y].1
//
// A scan(), as `total`, loads its own elements of one step earlier along one axis. A sum may be ragged, as `B`: run to
// an extent that depends on its axes. A program(), as `order`, is loops that store the stage's elements (loop/loop.h):
// one task for each index of its batch axes, independent of the others. A reduction may have several results, as
// `best`: each element has several values, which a Merge combines jointly (merge.h has those that operators use).
#pragma once

#include <algorithm>
#include <functional>
#include <optional>

#include "relay/base/diagnostics.h"
#include "relay/loop/loop.h"
#include "relay/scalar/expr.h"

namespace relay::te {

using scalar::Expr;
using scalar::Exprs;

struct Axis {
  Expr var;  // an int64 scalar variable, from 0
  Expr extent;
};

// On Bool, Min is "all" and Max is "any". Several: multi-value elements, combined by a Merge.
enum class Combiner : uint8_t { None, Sum, Prod, Max, Min, Several };
const char* name(Combiner combiner);
// The neutral element of the type: 0, 1, the least or the greatest value (-inf, +inf for floats). Not for Several.
Expr identity(Combiner combiner, DType dtype);
Expr combine(Combiner combiner, Expr a, Expr b);

// The combination of two multi-value elements: expressions over the values of both, `left` and `right`, as many as each
// has. Associative and commutative, floats up to rounding: schedules combine parts in their own order, which depends on
// sizes and the machine and never on the number of threads.
struct Merge : Counted {
  std::string name;
  Exprs left, right;  // variables
  Exprs identity;     // constants; combined with them, the other side is unchanged
  Exprs combined;
  // A cheaper equivalent, valid if `right` is one element of the reduction and `left` combines only elements before it;
  // if empty, `combined` is used.
  Exprs next;
};

struct TensorNode;
using Tensor = Ref<const TensorNode>;
using Tensors = std::vector<Tensor>;

// name and dtype come from scalar::Source.
struct TensorNode : scalar::Source {
  Exprs shape;
  // A stage; a placeholder has neither body nor program.
  std::vector<Axis> axes;         // one per dimension, axes[d].extent == shape[d]
  std::vector<Axis> reduce_axes;  // empty unless combiner != None
  Combiner combiner = Combiner::None;
  Expr body;
  // For a scan: a placeholder of the same name, shape and type, which represents the stage itself in its body. Elements
  // loaded from it are computed earlier: one step back along an axis whose first step loads nothing.
  Ref<const TensorNode> before;
  // For a program: the loops of one task, over the variables of the batch axes. They store all elements of the task
  // into `result`, which has the shape of the stage, and may load elements that they have stored.
  loop::Stmt program;
  loop::BufferRef result;
  std::vector<size_t> batch_axes;  // dimensions, ascending
  // For a stage with multi-value elements: the types of the values, the first of which is `dtype`; else empty. The body
  // is then a tuple, or an element of another such stage.
  std::vector<DType> value_types;
  Ref<const Merge> merge;   // for Combiner::Several
  bool of_elements = true;  // for Combiner::Several: the body yields elements of the reduction, not partial results

  bool is_program() const { return program != nullptr; }
  bool is_placeholder() const { return !body && !program; }
  // self[indices]
  Expr operator()(Exprs indices) const { return scalar::load(Ref<const scalar::Source>(this), std::move(indices)); }
};

Tensor placeholder(std::string name, Exprs shape, DType dtype);
Tensor compute(std::string name, Exprs shape, const std::function<Expr(const Exprs& axes)>& body);
Tensor reduce(std::string name, Exprs shape, Exprs reduce_extents, Combiner combiner,
              const std::function<Expr(const Exprs& axes, const Exprs& reduce_axes)>& body);

// The same for multi-value elements. Readers of the stage take one of the values: value().
Tensor reduce(std::string name, Exprs shape, Exprs reduce_extents, Ref<const Merge> merge,
              const std::function<Exprs(const Exprs& axes, const Exprs& reduce_axes)>& body);
// The number of values per element of the stage.
inline size_t count_values(const TensorNode& stage) { return std::max<size_t>(1, stage.value_types.size()); }
inline bool has_several_values(const TensorNode& stage) { return !stage.value_types.empty(); }
// t[indices].v; t[indices] for a single-value stage.
Expr value(const Tensor& t, Exprs indices, size_t v);
// The values of `element`, which the stage computes.
Exprs values_of(const TensorNode& stage, const Expr& element);
// For a reduction with one value or several: its neutral element, and the combination of two elements.
Expr identity(const TensorNode& reduction);
Expr combine(const TensorNode& reduction, const Expr& a, const Expr& b);
// condition ? a : b, for elements of the stage.
Expr choose(const TensorNode& stage, const Expr& condition, const Expr& a, const Expr& b);

// out[axes] = body(axes, self), where self is the stage itself, read one step back.
Tensor scan(std::string name, Exprs shape, DType dtype,
            const std::function<Expr(const Exprs& axes, const Tensor& self)>& body);

// A stage whose elements `loops` store into `result`; `batch` are the variables of the batch axes. The loops load other
// tensors as bodies do; local arrays have constant sizes. Every index is in range, whatever the data is.
Tensor program(std::string name, Exprs shape, DType dtype, std::vector<size_t> batch_axes,
               const std::function<loop::Stmt(const Exprs& batch, const loop::BufferRef& result)>& loops);

// Only schedules may use a scan: the diagnostic for an operator that does.
Diagnostic scan_in_operator(const TensorNode& stage);

// The size of all its elements in bytes; extents known only at run time count as 1.
int64_t bytes(const TensorNode& tensor);
// Visits each node of the expressions that compute a stage, in its body or its program.
void visit(const TensorNode& stage, function_ref<void(const Expr&)> f);
// The stage with these expressions rewritten by scalar::rewrite; the stage itself if nothing changes.
Tensor rewrite(const Tensor& stage, function_ref<Expr(const Expr&)> rule);
// The stage's program with another name for the result.
loop::Stmt renamed(const TensorNode& stage, const loop::BufferRef& result);
// The tensors that a stage loads, each once, in order of first use, without the stage itself.
Tensors inputs(const Tensor& stage);
// All tensors that outputs depend on, producers before consumers, placeholders included. Leaves out tensors for which
// `skip` holds, and tensors that only they need.
Tensors topological(const Tensors& outputs);
Tensors topological(const Tensors& outputs, function_ref<bool(const Tensor&)> skip);
// `roots` with every use of a key of `map` replaced by its value; unchanged stages keep their pointers.
Tensors replace(const Tensors& roots, const std::vector<std::pair<Tensor, Tensor>>& map);

// "C[y, x] = sum(k < 64) A[y, k] * B[k, x]    : float32[128, 256]", one line per stage except for the loops of
// programs.
std::string str(const Tensor& tensor);
std::string str(const Tensors& topological_order);

}  // namespace relay::te
