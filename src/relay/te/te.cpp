#include "relay/te/te.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "relay/base/diagnostics.h"
#include "relay/scalar/simplify.h"

namespace relay::te {

using scalar::BinaryOp;
using scalar::Kind;

const char* name(Combiner combiner) {
  switch (combiner) {
    case Combiner::None: return "none";
    case Combiner::Sum: return "sum";
    case Combiner::Prod: return "prod";
    case Combiner::Max: return "max";
    case Combiner::Min: return "min";
    case Combiner::Several: return "several";
  }
  return "";
}

static int64_t least(DType t) {
  if (t.is_bool() || t.code == DType::Code::UInt) return 0;
  return t.bits == 64 ? INT64_MIN : -(int64_t{1} << (t.bits - 1));
}

// The greatest uint64 is -1 in the 64 bits that an Int node holds.
static int64_t greatest(DType t) {
  if (t.is_bool()) return 1;
  if (t.code == DType::Code::UInt) return t.bits == 64 ? -1 : (int64_t{1} << t.bits) - 1;
  return t.bits == 64 ? INT64_MAX : (int64_t{1} << (t.bits - 1)) - 1;
}

Expr identity(Combiner combiner, DType dtype) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (combiner) {
    case Combiner::None:
    case Combiner::Sum: return scalar::imm(0, dtype);
    case Combiner::Prod: return scalar::imm(1, dtype);
    case Combiner::Max: return dtype.is_float() ? scalar::fimm(-infinity, dtype) : scalar::imm(least(dtype), dtype);
    case Combiner::Min: return dtype.is_float() ? scalar::fimm(infinity, dtype) : scalar::imm(greatest(dtype), dtype);
    case Combiner::Several: break;
  }
  RELAY_CHECK(false, "the identity of several values");
  return {};
}

Expr combine(Combiner combiner, Expr a, Expr b) {
  bool boolean = a->dtype.is_bool();
  switch (combiner) {
    case Combiner::Sum: return a + b;
    case Combiner::Prod: return a * b;
    case Combiner::Max: return boolean ? logical_or(a, b) : max(a, b);
    case Combiner::Min: return boolean ? logical_and(a, b) : min(a, b);
    case Combiner::None:
    case Combiner::Several: break;
  }
  RELAY_CHECK(false, "combine without a combiner of one value");
  return {};
}

Tensor placeholder(std::string name, Exprs shape, DType dtype) {
  TensorNode* t = new TensorNode;
  t->name = std::move(name), t->dtype = dtype, t->shape = std::move(shape);
  return Tensor(t);
}

// Default axis names: i0, i1, ... and k0, k1, ... for reductions.
static std::vector<Axis> make_axes(const Exprs& extents, const char* prefix) {
  std::vector<Axis> axes;
  for (size_t d = 0; d < extents.size(); ++d) axes.push_back({scalar::var(format("{}{}", prefix, d)), extents[d]});
  return axes;
}

static Exprs variables(const std::vector<Axis>& axes) {
  Exprs vars;
  for (const Axis& a : axes) vars.push_back(a.var);
  return vars;
}

Tensor compute(std::string name, Exprs shape, const std::function<Expr(const Exprs& axes)>& body) {
  return reduce(std::move(name), std::move(shape), {}, Combiner::None,
                [&](const Exprs& axes, const Exprs&) { return body(axes); });
}

Tensor reduce(std::string name, Exprs shape, Exprs reduce_extents, Combiner combiner,
              const std::function<Expr(const Exprs& axes, const Exprs& reduce_axes)>& body) {
  TensorNode* node = new TensorNode;
  Tensor t(node);
  node->name = std::move(name);
  node->shape = std::move(shape);
  node->axes = make_axes(node->shape, "i");
  node->reduce_axes = make_axes(reduce_extents, "k");
  // A reduction over no axes equals its body.
  node->combiner = reduce_extents.empty() ? Combiner::None : combiner;
  node->body = body(variables(node->axes), variables(node->reduce_axes));
  RELAY_CHECK(node->body, "stage {} has no body", node->name);
  node->body = scalar::as_data(std::move(node->body));
  RELAY_CHECK(node->body->dtype.lanes == 1, "stage {} has a vector body", node->name);
  RELAY_CHECK(node->reduce_axes.empty() || combiner != Combiner::None, "stage {} reduces without a combiner",
              node->name);
  node->dtype = node->body->dtype;
  return t;
}

Tensor reduce(std::string name, Exprs shape, Exprs reduce_extents, Ref<const Merge> merge,
              const std::function<Exprs(const Exprs& axes, const Exprs& reduce_axes)>& body) {
  RELAY_CHECK(merge && merge->left.size() > 1, "stage {} has no merge of several values", name);
  std::vector<DType> types;
  const Tensor stage = reduce(std::move(name), std::move(shape), std::move(reduce_extents), Combiner::Several,
                              [&](const Exprs& i, const Exprs& k) {
                                Exprs values = body(i, k);
                                for (const Expr& v : values) types.push_back(v->dtype);
                                return scalar::tuple(std::move(values));
                              });
  TensorNode node = *stage;
  RELAY_CHECK(types.size() == merge->left.size(), "stage {} has {} values, and {} merges {}", node.name, types.size(),
              merge->name, merge->left.size());
  for (size_t v = 0; v < types.size(); ++v)
    RELAY_CHECK(types[v] == merge->left[v]->dtype, "value {} of stage {} is {}, and {} merges {}", v, node.name,
                types[v].str(), merge->name, merge->left[v]->dtype.str());
  node.value_types = std::move(types);
  if (node.combiner == Combiner::Several) node.merge = std::move(merge);
  return Tensor(new TensorNode(std::move(node)));
}

Expr value(const Tensor& t, Exprs indices, size_t v) {
  const Expr element = scalar::load(t, std::move(indices));
  return has_several_values(*t) ? scalar::get(element, static_cast<int64_t>(v), t->value_types.at(v)) : element;
}

Exprs values_of(const TensorNode& stage, const Expr& element) {
  if (!has_several_values(stage)) return {element};
  Exprs values;
  for (size_t v = 0; v < stage.value_types.size(); ++v)
    values.push_back(scalar::get(element, static_cast<int64_t>(v), stage.value_types[v]));
  return values;
}

Expr identity(const TensorNode& r) {
  return r.merge ? scalar::tuple(r.merge->identity) : identity(r.combiner, r.dtype);
}

Expr combine(const TensorNode& r, const Expr& a, const Expr& b) {
  if (!r.merge) return combine(r.combiner, a, b);
  std::vector<scalar::Binding> bindings;
  const Exprs left = values_of(r, a), right = values_of(r, b);
  for (size_t v = 0; v < left.size(); ++v)
    bindings.push_back({r.merge->left[v], left[v]}), bindings.push_back({r.merge->right[v], right[v]});
  return scalar::substitute(scalar::tuple(r.merge->combined), bindings);
}

Expr choose(const TensorNode& stage, const Expr& condition, const Expr& a, const Expr& b) {
  if (!has_several_values(stage)) return scalar::select(condition, a, b);
  Exprs values = values_of(stage, a);
  const Exprs others = values_of(stage, b);
  for (size_t v = 0; v < values.size(); ++v) values[v] = scalar::select(condition, values[v], others[v]);
  return scalar::tuple(std::move(values));
}

Tensor scan(std::string name, Exprs shape, DType dtype,
            const std::function<Expr(const Exprs& axes, const Tensor& self)>& body) {
  const Tensor before = placeholder(name, shape, dtype);
  const Tensor stage = compute(name, shape, [&](const Exprs& i) { return body(i, before); });
  TensorNode node = *stage;
  node.before = before;
  return Tensor(new TensorNode(std::move(node)));
}

Tensor program(std::string name, Exprs shape, DType dtype, std::vector<size_t> batch_axes,
               const std::function<loop::Stmt(const Exprs& batch, const loop::BufferRef& result)>& loops) {
  TensorNode* node = new TensorNode;
  Tensor t(node);
  node->name = std::move(name), node->dtype = dtype, node->shape = std::move(shape);
  node->axes = make_axes(node->shape, "i");
  node->batch_axes = std::move(batch_axes);
  node->result = loop::buffer(node->name, dtype, node->shape, loop::Scope::Param);
  Exprs batch;
  for (size_t d : node->batch_axes) batch.push_back(node->axes.at(d).var);
  node->program = loops(batch, node->result);
  RELAY_CHECK(node->program, "stage {} has no program", node->name);
  return t;
}

Diagnostic scan_in_operator(const TensorNode& stage) {
  return Diagnostic{
      DiagnosticKind::not_supported,
      format("the operator computes the stage '{}' by te::scan, which only schedules may use", stage.name),
      {},
      {},
      {},
      "write it with te::compute and te::reduce, as docs/add-an-operator.md shows"};
}

int64_t bytes(const TensorNode& tensor) {
  int64_t bytes = tensor.dtype.bytes();
  for (const Expr& extent : tensor.shape)
    if (scalar::is_int(extent) && __builtin_mul_overflow(bytes, extent->ivalue, &bytes)) return INT64_MAX;
  return bytes;
}

loop::Stmt renamed(const TensorNode& stage, const loop::BufferRef& result) {
  return loop::redirect(stage.program, [&](const loop::Access& a) {
    return a.source.get() == static_cast<const scalar::Source*>(stage.result.get()) ? loop::Access{result, a.indices}
                                                                                    : a;
  });
}

Tensors topological(const Tensors& outputs) {
  return topological(outputs, [](const Tensor&) { return false; });
}

Tensors topological(const Tensors& outputs, function_ref<bool(const Tensor&)> skip) {
  Tensors order;
  std::unordered_set<const TensorNode*> done;
  std::vector<std::pair<Tensor, bool>> work;
  for (size_t i = outputs.size(); i-- > 0;) work.push_back({outputs[i], false});
  while (!work.empty()) {
    auto [t, expanded] = work.back();
    work.pop_back();
    if (done.count(t.get()) || skip(t)) continue;
    if (expanded) {
      done.insert(t.get());
      order.push_back(t);
      continue;
    }
    work.push_back({t, true});
    Tensors in = inputs(t);
    for (size_t i = in.size(); i-- > 0;) work.push_back({in[i], false});
  }
  return order;
}

Tensors replace(const Tensors& roots, const std::vector<std::pair<Tensor, Tensor>>& map) {
  std::unordered_map<const scalar::Source*, Tensor> now;
  for (const auto& [from, to] : map) now[from.get()] = to;
  for (const Tensor& t : topological(roots)) {
    if (now.count(t.get()) || t->is_placeholder()) continue;
    const Tensor changed = rewrite(t, [&](const Expr& e) -> Expr {
      if (e->kind != Kind::Load) return e;
      auto it = now.find(e->source.get());
      if (it == now.end() || it->second.get() == e->source.get()) return e;
      return scalar::load(it->second, e->args);
    });
    if (changed != t) now[t.get()] = changed;
  }
  Tensors out;
  for (const Tensor& t : roots) {
    auto it = now.find(t.get());
    out.push_back(it == now.end() ? t : it->second);
  }
  return out;
}

std::string str(const Tensors& order) {
  std::string out;
  for (const Tensor& t : order) out += str(t) + "\n";
  return out;
}

}  // namespace relay::te
