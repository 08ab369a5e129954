#include "relay/lower/algorithms/moments/moments.h"

#include <algorithm>

#include "relay/lower/group/cost.h"
#include "relay/lower/group/facts.h"
#include "relay/lower/group/rounded.h"
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

// The factor (a - b) of a sum of (a - b) * (a - b); null for other sums.
Expr distance_of(const te::TensorNode& squares) {
  const Expr& body = unrounded(squares.body);
  if (!is(body, BinaryOp::Mul) || !is(body->args[0], BinaryOp::Sub) || !scalar::equal(body->args[0], body->args[1]))
    return {};
  return body->args[0];
}

// The axes with more than one element.
std::vector<te::Axis> longer_axes(const te::TensorNode& t) {
  std::vector<te::Axis> out = t.axes;
  std::erase_if(out, [](const te::Axis& a) { return is_int(a.extent, 1); });
  return out;
}

// True if `sum` adds up `element`, which is in the axes of `squares`. Axes of one element do not count.
bool adds_up(const te::TensorNode& sum, const te::TensorNode& squares, const Expr& element) {
  if (!is_float_sum(sum) || sum.dtype != squares.dtype) return false;
  std::vector<scalar::Binding> bindings, ones;
  auto bind = [&](const std::vector<te::Axis>& from, const std::vector<te::Axis>& to) {
    if (from.size() != to.size()) return false;
    for (size_t d = 0; d < from.size(); ++d) {
      if (!scalar::prove_equal(from[d].extent, to[d].extent).value_or(false)) return false;
      bindings.push_back({from[d].var, to[d].var});
    }
    return true;
  };
  for (const te::TensorNode* t : {&sum, &squares})
    for (const te::Axis& a : t->axes)
      if (is_int(a.extent, 1)) ones.push_back({a.var, imm(0)});
  if (!bind(longer_axes(sum), longer_axes(squares)) || !bind(sum.reduce_axes, squares.reduce_axes)) return false;
  auto plain = [&](const Expr& e) { return scalar::simplify(scalar::substitute(e, ones)); };
  return scalar::equal(plain(scalar::substitute(sum.body, bindings)), plain(element));
}

// True if an expression depends on an axis that is summed over.
bool reads_reduced(const te::TensorNode& sum, const Expr& e) {
  const Exprs vars = scalar::free_vars(e);
  return std::any_of(vars.begin(), vars.end(), [&](const Expr& v) { return is_reduce_axis(sum, v->name); });
}

// The stages that an expression reads, with their inputs.
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
    if (reads_reduced(*q, mean)) continue;
    for (const te::Tensor& s : made_of(mean))
      if (adds_up(*s, *q, element)) return Moments{s, q, element};
  }
  return std::nullopt;
}

namespace {

// The axes of a sum, split into the number of a block and the axes within a block.
struct BlockSplit {
  int64_t blocks = 1, elements = 1;  // blocks, and elements per block
  SumSplit split;
  const std::vector<te::Axis>& axes;

  // `whole`: prefers whole axes if that makes blocks of up to four times as many elements, so that their loops can
  // become one (merge_sums.cpp).
  BlockSplit(const std::vector<te::Axis>& all, int64_t terms, bool whole = false)
      : split(split_sum(all, terms)), axes(all) {
    // Neighbours would be read at a remainder of the block's number, not consecutively: take whole rows instead.
    const size_t last = axes.size() - 1;
    const int64_t row = axes[last].extent->ivalue;
    const bool several =
        std::any_of(axes.begin(), axes.end() - 1, [](const te::Axis& a) { return !is_int(a.extent, 1); });
    if (split.at == last && split.inner > 1 && several) split.inner = row <= 4 * terms ? row : 0;
    if (whole) take_whole_axes(terms);
    for (size_t k = 0; k < axes.size(); ++k) blocks *= steps(k), elements *= block_extent(k);
  }
  void take_whole_axes(int64_t terms) {
    constexpr int64_t further = 4;  // largest factor from `terms`, as in split_sum()
    int64_t inside = 1;
    for (size_t k = axes.size(); k-- > 1;) {
      inside *= axes[k].extent->ivalue;
      if (inside > further * terms) return;
      if (inside * further >= terms) split = {k - 1, 1};
    }
  }
  // The steps of an axis outside of blocks and within one.
  int64_t steps(size_t k) const { return axes[k].extent->ivalue / block_extent(k); }
  int64_t block_extent(size_t k) const {
    return k < split.at ? 1 : k > split.at ? axes[k].extent->ivalue : std::max<int64_t>(1, split.inner);
  }
  Exprs extents() const {
    Exprs out;
    for (size_t k = 0; k < axes.size(); ++k) out.push_back(imm(block_extent(k)));
    return out;
  }
  void bind(std::vector<scalar::Binding>& bindings, const Expr& block, const Exprs& inside) const {
    scalar::Bounds bounds;
    bounds.set(block, 0, blocks);
    int64_t further = 1;  // blocks of one step
    for (size_t k = axes.size(); k-- > 0;) {
      const Expr step = floormod(floordiv(block, further), steps(k));
      bindings.push_back({axes[k].var, scalar::simplify(step, bounds) * block_extent(k) + inside[k]});
      further *= steps(k);
    }
  }
};

}  // namespace

int64_t terms_of_block(const TargetDesc& target, DType dtype) {
  constexpr int64_t parts = 8;  // with twice as many elements, prefetched data waits for the second pass
  return part_of_l1(target, parts) / dtype.bytes();
}

int64_t results_of_block(const TargetDesc& target, DType dtype, int64_t extent) {
  constexpr int64_t vectors = 4;  // chains of sums, as in window.cpp
  const int64_t in_vector = std::max(1, target.vector_bytes / dtype.bytes());
  return in_vector * std::clamp<int64_t>((extent + in_vector - 1) / in_vector, 1, vectors);
}

int64_t terms_of_block(const TargetDesc& target, const Moments& moments, const BlockLanes& lanes) {
  const te::TensorNode& q = *moments.squares;
  if (!lanes.axis) return terms_of_block(target, q.dtype);
  const int64_t extent = extent_or(q.axes[*lanes.axis], usual_features);
  return std::max<int64_t>(1, terms_of_block(target, q.dtype) / results_of_block(target, q.dtype, extent));
}

namespace {

struct Sizes {
  double elements = 1, results;  // elements per sum, and number of sums
  explicit Sizes(const te::TensorNode& sum) : results(elements_or(sum, usual_rows)) {
    for (const te::Axis& a : sum.reduce_axes) elements *= static_cast<double>(extent_or(a, 1));
  }
};

double waits_of_halves(const BlockSplit& block_split, const TargetDesc& target) {
  // Both sums of a block wait for their halves: each for about 5 dependent additions.
  constexpr double waits = 2 * 5;
  return static_cast<double>(block_split.blocks) * waits * target.fma_latency / target.ghz;
}

}  // namespace

std::optional<Gain> estimate_moments(const Moments& found, const TargetDesc& target) {
  const te::TensorNode& r = *found.squares;
  const Sizes sizes(r);
  const double bytes = sizes.elements * r.dtype.bytes();
  const BlockSplit block_split(r.reduce_axes, terms_of_block(target, r.dtype));
  if (stays_in_l1(target, bytes) || block_split.split.inner == 0) return std::nullopt;
  const double cost = waits_of_halves(block_split, target), saved = read_ns(target, bytes);
  if (cost >= saved) return std::nullopt;
  return Gain{.saved_ns = sizes.results * (saved - cost)};
}

std::optional<Gain> estimate_pair(const Moments& found, const BlockLanes& lanes, const TargetDesc& target) {
  const te::TensorNode& r = *found.squares;
  const Sizes sizes(r);
  const double bytes = sizes.elements * sizes.results * r.dtype.bytes();
  const BlockSplit block_split(r.reduce_axes, terms_of_block(target, found, lanes), /*whole=*/!lanes.axis);
  // Along rows a block waits for data from L3, unlike a stream: 16 x 64 x 56 x 56 take 530 us in blocks and 480 us in
  // two passes, 16 x 28 x 28 x 128 take 130 us and 220 us (Zen 4).
  const bool stays = lanes.axis ? stays_in_l2(target, bytes) : stays_in_l3(target, bytes);
  if (stays || block_split.split.inner == 0) return std::nullopt;
  constexpr double passes = 5;  // over sums of blocks: both are written, and one of them is read twice
  const double of_blocks = bytes / static_cast<double>(block_split.elements),
               cost = passes * read_ns(target, of_blocks) +
                      (lanes.axis ? 0 : sizes.results * waits_of_halves(block_split, target)),
               saved = read_ns(target, bytes);
  if (cost >= saved) return std::nullopt;
  const double arrays = 2 * of_blocks;
  return Gain{.saved_ns = saved - cost, .added_bytes = static_cast<int64_t>(arrays)};
}

namespace {

Expr number(double value, DType dtype) { return scalar::fimm(value, dtype); }

// Sums and squares of each block: in the axes of `squares` with the number of the block behind or in front of them.
struct OfBlocks {
  te::Tensor sum, squares;
};

enum class BlockAxis : uint8_t { First, Last };

OfBlocks of_blocks(const std::string& sum, const te::TensorNode& squares, const Expr& of_element,
                   const BlockSplit& block_split, BlockAxis block) {
  Exprs shape = squares.shape;
  const bool first = block == BlockAxis::First;
  shape.insert(first ? shape.begin() : shape.end(), imm(block_split.blocks));
  auto element = [&](const Exprs& i, const Exprs& k) {
    std::vector<scalar::Binding> bindings;
    for (size_t d = 0; d < squares.axes.size(); ++d)
      bindings.push_back({squares.axes[d].var, i[d + static_cast<size_t>(first)]});
    block_split.bind(bindings, first ? i.front() : i.back(), k);
    return scalar::substitute(of_element, bindings);
  };
  OfBlocks out;
  out.sum = te::reduce(sum + "_block", shape, block_split.extents(), te::Combiner::Sum, element);
  out.squares = te::reduce(
      squares.name + "_block", shape, block_split.extents(), te::Combiner::Sum, [&](const Exprs& i, const Exprs& k) {
        const Expr distance =
            element(i, k) - (*out.sum)(i)*number(1 / static_cast<double>(block_split.elements), squares.dtype);
        return distance * distance;
      });
  return out;
}

// `sum` over blocks, with its own name and axes, so that readers stay unchanged.
te::Tensor over_blocks(const te::TensorNode& sum, const BlockSplit& block_split,
                       const std::function<Expr(const Expr& block)>& body) {
  te::TensorNode node = sum;
  node.reduce_axes = {{scalar::var("b"), imm(block_split.blocks)}};
  node.body = body(node.reduce_axes[0].var);
  return te::Tensor(new te::TensorNode(std::move(node)));
}

// The contribution of a block with this sum and these squares to the squares around `mean`.
Expr around(const Expr& mean, const Expr& sum, const Expr& squares, const BlockSplit& block_split) {
  const double elements = static_cast<double>(block_split.elements);
  const Expr deviation = sum * number(1 / elements, sum->dtype) - mean;
  return squares + deviation * deviation * number(elements, sum->dtype);
}

// Indices of `squares` for an element of `t`, which is the sum or the squares.
Exprs place_of(const te::TensorNode& t, const te::TensorNode& squares) {
  const std::vector<te::Axis> axes = longer_axes(t);
  Exprs out;
  for (size_t next = 0; const te::Axis& a : squares.axes)
    out.push_back(is_int(a.extent, 1) ? imm(0) : axes[next++].var);
  return out;
}

}  // namespace

std::optional<MomentsInBlocks> in_blocks(const te::Tensors& outputs, const Moments& moments, int64_t terms) {
  const te::TensorNode &s = *moments.sum, &q = *moments.squares;
  const BlockSplit block_split(q.reduce_axes, terms);
  if (block_split.split.inner == 0) return std::nullopt;
  const OfBlocks each = of_blocks(s.name, q, moments.element, block_split, BlockAxis::Last);
  MomentsInBlocks out;
  out.sum = each.sum, out.squares = each.squares;
  Exprs shape = each.sum->shape;
  shape.insert(shape.end() - 1, imm(2));
  out.blocks = te::compute(q.name + "_blocks", shape, [&](Exprs i) {
    const Expr which = i[i.size() - 2];
    i.erase(i.end() - 2);
    return scalar::select(eq(which, imm(0)), (*out.sum)(i), (*out.squares)(i));
  });
  out.param = te::placeholder(out.blocks->name, shape, q.dtype);
  auto read = [&](const te::TensorNode& t, int64_t which, const Expr& block) {
    Exprs at = place_of(t, q);
    at.insert(at.end(), {imm(which), block});
    return (*out.param)(at);
  };
  const te::Tensor sum = over_blocks(s, block_split, [&](const Expr& b) { return read(s, 0, b); });
  const te::Tensors with_sum = te::replace(outputs, {{moments.sum, sum}});
  const te::Tensors stages = te::topological(with_sum);
  const te::Tensor now = *std::ranges::find(stages, q.name, [](const te::Tensor& t) { return t->name; });
  const Expr mean = distance_of(*now)->args[1];
  const te::Tensor squares = over_blocks(
      q, block_split, [&](const Expr& b) { return around(mean, read(q, 0, b), read(q, 1, b), block_split); });
  out.outputs = te::replace(with_sum, {{now, squares}});
  return out;
}

std::optional<MomentsOfTwo> find_moments(const te::Tensors& of_sum, const te::Tensors& of_squares,
                                         const te::Tensor& mean) {
  const te::Tensor sum = only_reduction(of_sum);
  if (!sum) return std::nullopt;
  for (const te::Tensor& q : te::topological(of_squares)) {
    if (q->is_placeholder() || !is_float_sum(*q)) continue;
    const Expr distance = distance_of(*q);
    if (!distance || reads_reduced(*q, distance->args[1]) || !adds_up(*sum, *q, distance->args[0])) continue;
    const te::Tensors read = made_of(distance->args[1]);
    if (std::find(read.begin(), read.end(), mean) != read.end())
      return MomentsOfTwo{{sum, q, distance->args[0]}, distance->args[1]};
  }
  return std::nullopt;
}

std::optional<BlocksForTwo> in_blocks(const MomentsOfTwo& found, int64_t terms, const BlockLanes& lanes) {
  const te::TensorNode &s = *found.moments.sum, &q = *found.moments.squares;
  const BlockSplit block_split(q.reduce_axes, terms, /*whole=*/!lanes.axis);
  if (block_split.split.inner == 0) return std::nullopt;
  const bool first = lanes.axis.has_value();
  const OfBlocks each =
      of_blocks(s.name, q, found.moments.element, block_split, first ? BlockAxis::First : BlockAxis::Last);
  BlocksForTwo out;
  for (const te::Tensor& t : {each.sum, each.squares}) {
    out.blocks.push_back(copy_stage(t, t->name + "s"));
    out.params.push_back(te::placeholder(t->name + "s", t->shape, t->dtype));
  }
  auto read = [&](const te::TensorNode& t, size_t which, const Expr& block) {
    Exprs at = place_of(t, q);
    at.insert(first ? at.begin() : at.end(), block);
    return (*out.params[which])(at);
  };
  out.sum = over_blocks(s, block_split, [&](const Expr& b) { return read(s, 0, b); });
  out.squares = over_blocks(
      q, block_split, [&](const Expr& b) { return around(found.mean, read(q, 0, b), read(q, 1, b), block_split); });
  return out;
}

}  // namespace relay::lower
