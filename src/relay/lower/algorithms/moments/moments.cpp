#include "relay/lower/algorithms/moments/moments.h"

#include <algorithm>

#include "relay/lower/group/cost.h"
#include "relay/lower/group/facts.h"
#include "relay/lower/rules/rules.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

using scalar::BinaryOp;
using scalar::imm;

namespace {

bool is_float_sum(const te::TensorNode& t) {
  return t.combiner == te::Combiner::Sum && !t.reduce_axes.empty() && t.dtype.is_float() &&
         std::all_of(t.reduce_axes.begin(), t.reduce_axes.end(),
                     [](const te::Axis& a) { return is_int(a.extent) && a.extent->ivalue > 0; });
}

bool is(const Expr& e, BinaryOp op) { return e->kind == scalar::Kind::Binary && e->binary == op; }

// (a - b) of a sum of (a - b) * (a - b); null of another.
Expr distance_of(const te::TensorNode& squares) {
  const Expr& body = squares.body;
  if (!is(body, BinaryOp::Mul) || !is(body->args[0], BinaryOp::Sub) || !scalar::equal(body->args[0], body->args[1]))
    return {};
  return body->args[0];
}

// That `sum` adds up `element`, which is in the axes of `squares`.
bool adds_up(const te::TensorNode& sum, const te::TensorNode& squares, const Expr& element) {
  if (!is_float_sum(sum) || sum.dtype != squares.dtype || sum.axes.size() != squares.axes.size() ||
      sum.reduce_axes.size() != squares.reduce_axes.size())
    return false;
  std::vector<scalar::Binding> bindings;
  auto bind = [&](const std::vector<te::Axis>& from, const std::vector<te::Axis>& to) {
    for (size_t d = 0; d < from.size(); ++d) {
      if (!scalar::prove_equal(from[d].extent, to[d].extent).value_or(false)) return false;
      bindings.push_back({from[d].var, to[d].var});
    }
    return true;
  };
  return bind(sum.axes, squares.axes) && bind(sum.reduce_axes, squares.reduce_axes) &&
         scalar::equal(scalar::simplify(scalar::substitute(sum.body, bindings)), scalar::simplify(element));
}

// The stages that an expression reads, and what these are made of.
te::Tensors made_of(const Expr& e) {
  te::Tensors read;
  scalar::visit(e, [&](const Expr& n) {
    if (n->kind == scalar::Kind::Load) read.push_back(te::Tensor(dynamic_cast<const te::TensorNode*>(n->source.get())));
  });
  std::erase(read, te::Tensor());
  return te::topological(read);
}

}  // namespace

std::optional<Moments> find_moments(const te::Tensors& outputs) {
  for (const te::Tensor& q : te::topological(outputs)) {
    if (q->is_placeholder() || !is_float_sum(*q)) continue;
    const Expr distance = distance_of(*q);
    if (!distance) continue;
    const Expr &element = distance->args[0], &mean = distance->args[1];
    const Exprs vars = scalar::free_vars(mean);
    if (std::any_of(vars.begin(), vars.end(), [&](const Expr& v) { return is_reduce_axis(*q, v->name); })) continue;
    for (const te::Tensor& s : made_of(mean))
      if (adds_up(*s, *q, element)) return Moments{s, q, element};
  }
  return std::nullopt;
}

namespace {

// The axes of a sum by the number of a block and the axes within a block.
struct Cut {
  int64_t blocks = 1, elements = 1;  // and those of a block
  SumSplit split;
  const std::vector<te::Axis>& axes;

  Cut(const std::vector<te::Axis>& all, int64_t terms) : split(split_sum(all, terms)), axes(all) {
    // Neighbours would be read at a remainder of the number of the block, not one after the other: whole rows instead.
    const size_t last = axes.size() - 1;
    const int64_t row = axes[last].extent->ivalue;
    const bool several =
        std::any_of(axes.begin(), axes.end() - 1, [](const te::Axis& a) { return !is_int(a.extent, 1); });
    if (split.at == last && split.inner > 1 && several) split.inner = row <= 4 * terms ? row : 0;
    for (size_t k = 0; k < axes.size(); ++k) blocks *= steps(k), elements *= within(k);
  }
  // Of an axis, outside of blocks and in one.
  int64_t steps(size_t k) const { return axes[k].extent->ivalue / within(k); }
  int64_t within(size_t k) const {
    return k < split.at ? 1 : k > split.at ? axes[k].extent->ivalue : std::max<int64_t>(1, split.inner);
  }
  Exprs extents() const {
    Exprs out;
    for (size_t k = 0; k < axes.size(); ++k) out.push_back(imm(within(k)));
    return out;
  }
  void bind(std::vector<scalar::Binding>& bindings, const Expr& block, const Exprs& inside) const {
    scalar::Bounds bounds;
    bounds.set(block, 0, blocks);
    int64_t further = 1;  // blocks of one step
    for (size_t k = axes.size(); k-- > 0;) {
      const Expr step = floormod(floordiv(block, further), steps(k));
      bindings.push_back({axes[k].var, scalar::simplify(step, bounds) * within(k) + inside[k]});
      further *= steps(k);
    }
  }
};

}  // namespace

int64_t terms_of_block(const TargetDesc& target, DType dtype) {
  constexpr int64_t parts = 8;  // with twice as many elements what is read next from memory waits for the second pass
  return part_of_l1(target, parts) / dtype.bytes();
}

std::optional<Gain> estimate_moments(const Moments& found, const TargetDesc& target) {
  const te::TensorNode& r = *found.squares;
  double elements = 1, rows = 1;
  for (const te::Axis& a : r.reduce_axes) elements *= static_cast<double>(extent_or(a, 1));
  for (const te::Axis& a : r.axes) rows *= static_cast<double>(extent_or(a, usual_rows));
  const double bytes = elements * r.dtype.bytes();
  const Cut cut(r.reduce_axes, terms_of_block(target, r.dtype));
  if (stays_in_l1(target, bytes) || cut.split.inner == 0) return std::nullopt;
  // Two sums of a block wait for their halves: each of about as many additions, one after the other.
  constexpr double waits = 2 * 5;
  const double cost = static_cast<double>(cut.blocks) * waits * target.fma_latency / target.ghz,
               saved = read_ns(target, bytes);
  if (cost >= saved) return std::nullopt;
  return Gain{.saved_ns = rows * (saved - cost)};
}

std::optional<MomentsInBlocks> in_blocks(const te::Tensors& outputs, const Moments& moments, int64_t terms) {
  const te::TensorNode &s = *moments.sum, &q = *moments.squares;
  const Cut cut(q.reduce_axes, terms);
  if (cut.split.inner == 0) return std::nullopt;
  auto number = [&](double value) { return scalar::fimm(value, q.dtype); };
  const Expr part = number(1 / static_cast<double>(cut.elements));  // of an element in the mean of a block
  auto element = [&](const Exprs& i, const Exprs& k) {
    std::vector<scalar::Binding> bindings;
    for (size_t d = 0; d < q.axes.size(); ++d) bindings.push_back({q.axes[d].var, i[d]});
    cut.bind(bindings, i.back(), k);
    return scalar::substitute(moments.element, bindings);
  };
  Exprs shape = q.shape;
  shape.push_back(imm(cut.blocks));
  MomentsInBlocks out;
  out.sum = te::reduce(s.name + "_block", shape, cut.extents(), te::Combiner::Sum, element);
  out.squares =
      te::reduce(q.name + "_block", shape, cut.extents(), te::Combiner::Sum, [&](const Exprs& i, const Exprs& k) {
        const Expr distance = element(i, k) - (*out.sum)(i)*part;
        return distance * distance;
      });
  shape.insert(shape.end() - 1, imm(2));
  out.blocks = te::compute(q.name + "_blocks", shape, [&](Exprs i) {
    const Expr which = i[i.size() - 2];
    i.erase(i.end() - 2);
    return scalar::select(eq(which, imm(0)), (*out.sum)(i), (*out.squares)(i));
  });
  out.param = te::placeholder(out.blocks->name, shape, q.dtype);

  auto over_blocks = [&](const te::TensorNode& t,
                         const std::function<Expr(const Expr& sum, const Expr& squares)>& body) {
    te::TensorNode node = t;  // its own name and axes, so that readers stay as they are
    node.reduce_axes = {{scalar::var("b"), imm(cut.blocks)}};
    auto read = [&](int64_t which) {
      Exprs at;
      for (const te::Axis& a : t.axes) at.push_back(a.var);
      at.insert(at.end(), {imm(which), node.reduce_axes[0].var});
      return (*out.param)(at);
    };
    node.body = body(read(0), read(1));
    return te::Tensor(new te::TensorNode(std::move(node)));
  };
  const te::Tensor sum = over_blocks(s, [](const Expr& of_block, const Expr&) { return of_block; });
  const te::Tensors with_sum = te::replace(outputs, {{moments.sum, sum}});
  const te::Tensors stages = te::topological(with_sum);
  const te::Tensor now = *std::ranges::find(stages, q.name, [](const te::Tensor& t) { return t->name; });
  const Expr mean = distance_of(*now)->args[1];
  const te::Tensor squares = over_blocks(q, [&](const Expr& of_block, const Expr& around) {
    const Expr apart = of_block * part - mean;
    return around + apart * apart * number(static_cast<double>(cut.elements));
  });
  out.outputs = te::replace(with_sum, {{now, squares}});
  return out;
}

}  // namespace relay::lower
