// Products of data and weights that both have a scale for each block of the sum. The weights are integers of four bits,
// the data bytes. A block is a sum of integers, by instructions that add products of bytes, and the blocks are added in
// floats:
//
//   r[m, n] = sum(k < 576) float(x[m, k]) * xs[m, k // 32] * (float(w[n, k] - zero[n, k // 32]) * ws[n, k // 32])
//   becomes
//   r_part[m, n, b] = sum(s < 4, p < 2) dot_int32((pairs[n, b, s, 0] >> 4 p) & 15, .., x[m, 32 b + 8 s + 4 p], ..)
//   r[m, n] = sum(b < 18) float(r_part[m, n, b] - r_zero[m, b]) * (xs[m, b] * ws[n, b])
//
//   pairs[n, b, s, i] = (w[n, 32 b + 8 s + i] - least) | (w[n, 32 b + 8 s + 4 + i] - least) << 4             uint8
//   r_zero[m, b] = sum(k < 32) (zero - least) * x[m, 32 b + k]
//
// The kernel of `pairs` runs once, when the program is built. It adds -least to the integers, which makes them
// unsigned, and pairs numbers that are four places apart, so that both halves of four neighbouring bytes meet four
// neighbouring data. Sums of pairs of products are below 16 * 128 * 2, so instructions that add them in 16 bits are
// exact. Zero points that differ from block to block are stored as the scales are, and multiply the sums over the data.
//
// For 64 weights, AVX2 takes a load, three operations for the halves and eight for the products, instead of 37 for the
// conversion to floats and multiply-adds.
#include <algorithm>
#include <numeric>

#include "relay/lower/rules/narrow/block_scales.h"
#include "relay/lower/rules/narrow/factors.h"
#include "relay/lower/rules/rule_functions.h"
#include "relay/scalar/short_dot.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

namespace {

using scalar::BinaryOp;
using scalar::imm;
using scalar::Kind;

constexpr int64_t products = 4;              // of a sum, at once
constexpr int64_t of_step = 2 * products;    // numbers of a row in four bytes
constexpr int64_t half_bits = 4, mask = 15;  // of a byte

struct BlockDots {
  te::Tensor sum, result;
  te::Axis k, n;
  std::vector<std::string> rows{};  // axes that only the data have, as they are stored
  int64_t block = 0;
  // In terms of the sum's variables.
  Expr data{};            // the element: int8
  Expr number{}, zero{};  // of the weight: integers, int32; `zero` is null for 0
  Expr data_scale{}, weight_scale{};
  int64_t least = 0;  // of the numbers
  const machine::Instruction* instruction = nullptr;
  int64_t tile_rows = 1, vectors = 1;

  std::string x() const { return rows.empty() ? "" : rows.back(); }
};

std::vector<te::Tensor> sources_of(const Expr& e) {
  std::vector<te::Tensor> out;
  scalar::visit(e, [&](const Expr& x) {
    if (x->kind == Kind::Load) out.push_back(te::Tensor(dynamic_cast<const te::TensorNode*>(x->source.get())));
  });
  return out;
}

// The least integer of four bits whose bits the expression reads; unset if it reads none.
std::optional<int64_t> least_of(const Expr& number) {
  std::optional<int64_t> least;
  scalar::visit(number, [&](const Expr& e) {
    if (e->dtype.code == DType::Code::Int4) least = -(mask + 1) / 2;
    if (e->dtype.code == DType::Code::UInt4) least = 0;
  });
  return least;
}

// Reads a factor that is an integer converted to float: an element of the data, or a weight. False for other forms.
bool read_number(BlockDots& d, const Expr& integer, bool is_constant) {
  if (!is_constant) {
    Expr element = integer;
    auto is_zero = [](const Expr& e) { return scalar::is_int(e->kind == Kind::Cast ? e->args[0] : e, 0); };
    if (element->kind == Kind::Binary && element->binary == BinaryOp::Sub && is_zero(element->args[1]))
      element = element->args[0];
    if (element->kind == Kind::Cast) element = element->args[0];
    if (d.data || element->kind != Kind::Load || element->dtype != DType::int8()) return false;
    d.data = element;
    return true;
  }
  if (d.number || integer->dtype != DType::int32()) return false;
  d.number = integer;
  const bool adds =
                 integer->kind == Kind::Binary && integer->binary == BinaryOp::Add && scalar::is_int(integer->args[1]),
             subtracts = integer->kind == Kind::Binary && integer->binary == BinaryOp::Sub;
  if (adds) d.number = integer->args[0], d.zero = imm(-integer->args[1]->ivalue, DType::int32());
  if (subtracts) d.number = integer->args[0], d.zero = integer->args[1];
  return true;
}

// Divides the product into its factors. False if it has another form.
bool read_factors(const ScheduleDraft& draft, BlockDots& d, const Expr& product) {
  for (const Expr& factor : factors_of(product)) {
    const std::vector<te::Tensor> sources = sources_of(factor);
    auto is_constant = [&](const te::Tensor& t) { return t && draft.constants.count(t->name) > 0; };
    const bool all = std::all_of(sources.begin(), sources.end(), is_constant),
               none = std::none_of(sources.begin(), sources.end(), is_constant);
    if (sources.empty() || !(all || none)) return false;
    if (factor->kind == Kind::Cast && factor->args[0]->dtype.is_int()) {
      if (!read_number(d, factor->args[0], all)) return false;
      continue;
    }
    const Expr& element = factor->kind == Kind::Cast ? factor->args[0] : factor;
    if (element->kind != Kind::Load || !element->dtype.is_float()) return false;
    Expr& scale = all ? d.weight_scale : d.data_scale;
    scale = scale ? scale * factor : factor;
  }
  const std::optional<int64_t> least = d.number ? least_of(d.number) : std::nullopt;
  d.least = least.value_or(0);
  return d.data && least && d.data_scale && d.weight_scale;
}

// An expression over a block: k = b * block + j.
Expr in_block(const BlockDots& d, const Expr& e, const Expr& b, const Expr& j) {
  scalar::Bounds bounds;
  if (b->kind == Kind::Var) bounds.set(b, 0, d.k.extent->ivalue / d.block);
  if (j->kind == Kind::Var) bounds.set(j, 0, d.block);
  return scalar::simplify(scalar::substitute(e, {{d.k.var, b * d.block + j}}), bounds);
}

// True if blocks of this length have one scale and one zero point.
bool is_equal_in_blocks(const BlockDots& d) {
  const Expr b = scalar::var("b"), j = scalar::var("j");
  auto is_equal = [&](const Expr& e) { return !e || !uses(in_block(d, e, b, j), j); };
  return is_equal(d.data_scale) && is_equal(d.weight_scale) && is_equal(d.zero);
}

// The block: the greatest common divisor of the c of all k // c in the scales.
int64_t block_of(const BlockDots& d) {
  int64_t block = d.k.extent->ivalue;
  for (const Expr& e : {d.data_scale, d.weight_scale, d.zero})
    if (e)
      for (int64_t c : divisors(e, d.k.var)) block = std::gcd(block, c);
  return block;
}

// The axis of the weight's rows, and those of the data. False if the sum has others.
bool find_axes(const ScheduleDraft& draft, BlockDots& d) {
  for (const std::string& name : storage_order(*d.result, draft.layout(d.result))) {
    const std::string in_sum = same_axis(*d.result, name, *d.sum);
    if (in_sum.empty()) return false;
    const te::Axis& a = *find_axis(*d.sum, in_sum);
    if (scalar::is_int(a.extent, 1)) continue;
    const bool of_weight = uses(d.number, a.var), of_data = uses(d.data, a.var) || uses(d.data_scale, a.var);
    if (of_weight == of_data || (of_weight && (d.n.var || !scalar::is_int(a.extent)))) return false;
    if (of_weight)
      d.n = a;
    else
      d.rows.push_back(in_sum);
  }
  return d.n.var && d.sum->axes.size() == d.result->axes.size() && extent_or(d.n, 0) >= draft.lanes(DType::int32());
}

std::optional<BlockDots> block_dots(const ScheduleDraft& draft, const te::Tensor& r, const te::Tensor& e) {
  if (r->combiner != te::Combiner::Sum || r->dtype != DType::float32() || r->reduce_axes.size() != 1 ||
      !scalar::is_int(r->reduce_axes[0].extent) || draft.form.by_channels || draft.form.schedule || draft.is_step)
    return std::nullopt;
  BlockDots d{r, e, r->reduce_axes[0], {}};
  d.instruction = machine::instruction_for_four_bits(*draft.target);
  if (!d.instruction || !read_factors(draft, d, draft.expanded(r).body(*r))) return std::nullopt;
  d.block = block_of(d);
  if (d.block % of_step != 0 || d.k.extent->ivalue % d.block != 0 || !is_equal_in_blocks(d) || !find_axes(draft, d))
    return std::nullopt;
  // Each row of a tile has a vector of integers and one of floats for each vector of weights.
  constexpr int many_registers = 32;  // as in AVX-512 and AArch64
  const bool wide = draft.target->vector_registers >= many_registers;
  const int64_t most = (extent_or(d.n, 0) + draft.lanes(DType::int32()) - 1) / draft.lanes(DType::int32());
  d.vectors = std::min<int64_t>(d.rows.empty() ? 4 : 2, most);
  if (!d.rows.empty()) d.tile_rows = std::min<int64_t>(wide ? 4 : 2, extent_or(*find_axis(*r, d.x()), usual_rows));
  return d;
}

// The weight's integers in pairs: [n, b, s, i].
te::Tensor pairs_of(const ScheduleDraft& draft, const BlockDots& d) {
  const int64_t blocks = d.k.extent->ivalue / d.block;
  const std::string name = unused_name(draft, d.sum->name + "_pairs");
  return te::compute(name, {d.n.extent, imm(blocks), imm(d.block / of_step), imm(products)}, [&](const Exprs& i) {
    auto number = [&](int64_t half) {
      const Expr at = i[1] * d.block + i[2] * of_step + i[3] + half * products;
      return scalar::substitute(d.number, {{d.k.var, at}, {d.n.var, i[0]}}) - d.least;
    };
    const Expr high = scalar::binary(BinaryOp::Shl, number(1), imm(half_bits, DType::int32()));
    return scalar::cast(DType::uint8(), scalar::binary(BinaryOp::BitOr, number(0), high));
  });
}

// The axes of the data's rows in the sum, as variables.
Exprs row_vars(const BlockDots& d) {
  Exprs out;
  for (const te::Axis& a : d.sum->axes)
    if (a.var != d.n.var) out.push_back(a.var);
  return out;
}

// For each row and block, the sum over the data times a number: [rows, b].
te::Tensor data_sums(const ScheduleDraft& draft, const BlockDots& d, int64_t times) {
  Exprs shape;
  const Exprs rows = row_vars(d);
  for (const Expr& var : rows) shape.push_back(find_axis(*d.sum, var->name)->extent);
  shape.push_back(imm(d.k.extent->ivalue / d.block));
  return te::reduce(unused_name(draft, d.sum->name + "_zero"), shape, {imm(d.block)}, te::Combiner::Sum,
                    [&](const Exprs& i, const Exprs& k) {
                      std::vector<scalar::Binding> at{{d.k.var, i.back() * d.block + k[0]}};
                      for (size_t r = 0; r < rows.size(); ++r) at.push_back({rows[r], i[r]});
                      return scalar::cast(DType::int32(), scalar::substitute(d.data, at)) * times;
                    });
}

// The zero points of the weight's blocks, minus the least number: [n, b].
te::Tensor zeros_of(const ScheduleDraft& draft, const BlockDots& d) {
  const bool are_bytes = d.least == 0 && std::ranges::all_of(sources_of(d.zero), [](const te::Tensor& t) {
                           return t->dtype == DType::uint8();
                         });
  return te::compute(unused_name(draft, d.sum->name + "_zeros"), {d.n.extent, imm(d.k.extent->ivalue / d.block)},
                     [&](const Exprs& i) {
                       const Expr zero = scalar::substitute(d.zero, {{d.n.var, i[0]}, {d.k.var, i[1] * d.block}});
                       return are_bytes ? scalar::cast(DType::uint8(), zero) : zero - d.least;
                     });
}

// The stages that take the place of the sum.
struct Stages {
  te::Tensor pairs, part, total;
  te::Tensor sums, zeros;  // null if there is nothing to subtract; if all zero points are equal
};

te::Tensor part_of(const ScheduleDraft& draft, const BlockDots& d, const te::Tensor& pairs) {
  const Expr b = scalar::var(d.k.var->name + "_part"), s = scalar::var(d.k.var->name), p = scalar::var("half");
  te::TensorNode part = *d.sum;
  part.name = unused_name(draft, d.sum->name + "_part"), part.dtype = DType::int32();
  part.axes.push_back({b, imm(d.k.extent->ivalue / d.block)}), part.shape.push_back(part.axes.back().extent);
  part.reduce_axes = {{s, imm(d.block / of_step)}, {p, imm(2)}};
  Exprs weights, data;
  for (int64_t i = 0; i < products; ++i) {
    const Expr byte = (*pairs)({d.n.var, b, s, imm(i)}), by = scalar::cast(DType::uint8(), p * half_bits);
    const Expr half =
        scalar::binary(BinaryOp::BitAnd, scalar::binary(BinaryOp::Shr, byte, by), imm(mask, DType::uint8()));
    weights.push_back(d.instruction->left == DType::int8() ? scalar::reinterpret(DType::int8(), half) : half);
    data.push_back(scalar::substitute(d.data, {{d.k.var, b * d.block + s * of_step + p * products + i}}));
  }
  part.body =
      d.instruction->short_sums ? scalar::short_dot(part.dtype, weights, data) : scalar::dot(part.dtype, weights, data);
  return te::Tensor(new te::TensorNode(std::move(part)));
}

Stages stages_of(const ScheduleDraft& draft, const BlockDots& d) {
  Stages s;
  s.pairs = pairs_of(draft, d);
  s.part = part_of(draft, d, s.pairs);
  const bool is_known = !d.zero || scalar::is_int(d.zero);
  const int64_t known = (d.zero && is_known ? d.zero->ivalue : 0) - d.least;
  if (!is_known) s.zeros = zeros_of(draft, d);
  if (!is_known || known != 0) s.sums = data_sums(draft, d, is_known ? known : 1);

  const Expr b = scalar::var(s.part->axes.back().var->name);
  te::TensorNode total = *d.sum;
  total.reduce_axes = {{b, s.part->axes.back().extent}};
  Exprs at, rows = row_vars(d);
  for (const te::Axis& a : total.axes) at.push_back(a.var);
  at.push_back(b), rows.push_back(b);
  Expr number = (*s.part)(at);
  if (s.sums) {
    const Expr sum = (*s.sums)(rows);
    number = number - (s.zeros ? sum * scalar::cast(DType::int32(), (*s.zeros)({d.n.var, b})) : sum);
  }
  const Expr scale = in_block(d, d.data_scale, b, imm(0)) * in_block(d, d.weight_scale, b, imm(0));
  total.body = scalar::cast(DType::float32(), number) * scale;
  s.total = te::Tensor(new te::TensorNode(std::move(total)));
  return s;
}

// Stores an array of which `n` is a plain dimension in blocks of n, as a tile reads it.
void store_in_blocks(ScheduleDraft& draft, const te::Tensor& t, size_t n_dim, int64_t block) {
  Layout layout;
  const size_t first_inside = 3;  // of pairs: the bytes of a step are adjacent
  layout.dims.push_back({static_cast<int>(n_dim), block, false});
  for (size_t i = 0; i < std::min(t->shape.size(), first_inside); ++i)
    if (i != n_dim) layout.dims.push_back({static_cast<int>(i), 0, false});
  layout.dims.push_back({static_cast<int>(n_dim), block, true});
  for (size_t i = first_inside; i < t->shape.size(); ++i) layout.dims.push_back({static_cast<int>(i), 0, false});
  draft.layouts[t->name] = draft.schedule.layouts[t->name] = layout;
}

void store_constants(ScheduleDraft& draft, const BlockDots& d, const Stages& s, int64_t block) {
  store_in_blocks(draft, s.pairs, 0, block);
  if (s.zeros) store_in_blocks(draft, s.zeros, 0, block);
  scalar::visit(d.weight_scale, [&](const Expr& e) {
    if (e->kind != Kind::Load) return;
    const auto at = std::find(e->args.begin(), e->args.end(), d.n.var);
    const te::Tensor t(dynamic_cast<const te::TensorNode*>(e->source.get()));
    if (at != e->args.end()) store_in_blocks(draft, t, static_cast<size_t>(at - e->args.begin()), block);
  });
}

// Schedules the result: the loops of the tiles, outermost those over the weight. Returns the number of loops around a
// tile.
int schedule_result(ScheduleDraft& draft, const BlockDots& d, int64_t block) {
  const te::Tensor& e = d.result;
  const std::string n = same_axis(*d.sum, d.n.var->name, *e), x = d.rows.empty() ? "" : same_axis(*d.sum, d.x(), *e);
  StageSchedule& s = draft.schedule.stages[e->name];
  s = {};
  s.place = Place::Root;
  s.loops.push_back({n, block, LoopKind::Parallel});
  for (const std::string& name : storage_order(*e, draft.layout(e)))
    if (name != n) s.loops.push_back({name, name == x ? d.tile_rows : 1, LoopKind::Parallel});
  const int level = static_cast<int>(s.loops.size());
  if (!x.empty()) s.loops.push_back({x, 1, LoopKind::Unroll});
  add_vector(s.loops, n, draft.lanes(DType::int32()));
  return level;
}

// Axes of one element need no loop, but must be finished; then follow those of a tile.
void add_tile(const ScheduleDraft& draft, const BlockDots& d, std::vector<Loop>& loops) {
  for (const te::Axis& a : d.sum->axes)
    if (a.var != d.n.var && a.var->name != d.x()) loops.push_back({a.var->name, 1});
  if (!d.x().empty()) loops.push_back({d.x(), 1, LoopKind::Unroll});
  add_vector(loops, d.n.var->name, draft.lanes(DType::int32()));
}

// The sums over the data are a kernel of their own, with lanes along the blocks.
void schedule_sums(ScheduleDraft& draft, const te::Tensor& sums) {
  const te::Tensor out = copy_stage(sums, unused_name(draft, sums->name + "_out"));
  draft.redirect(sums, out);
  StageSchedule &of_out = draft.schedule.stages[out->name], &of_sums = draft.schedule.stages[sums->name];
  of_out = of_sums = {};
  of_out.place = Place::Root;
  of_sums.loops.push_back({sums->reduce_axes[0].var->name, 1});
  for (size_t d = 0; d + 1 < out->axes.size(); ++d) {
    of_out.loops.push_back({out->axes[d].var->name, 1, LoopKind::Parallel});
    of_sums.loops.push_back({sums->axes[d].var->name, 1});
  }
  of_out.loops.push_back({out->axes.back().var->name, draft.lanes(sums->dtype)});
  of_sums.place = Place::At, of_sums.consumer = out->name, of_sums.level = static_cast<int>(of_out.loops.size());
  of_out.loops.push_back({out->axes.back().var->name, 1, LoopKind::Vector});
  of_sums.loops.push_back({sums->axes.back().var->name, 1, LoopKind::Vector});
}

void schedule_block_dots(ScheduleDraft& draft, const BlockDots& d) {
  const int64_t block = d.vectors * draft.lanes(DType::int32());
  const Stages made = stages_of(draft, d);
  draft.redirect(d.sum, made.total);
  store_constants(draft, d, made, block);
  draft.schedule.stages[made.pairs->name].place = Place::Root;
  if (made.zeros) draft.schedule.stages[made.zeros->name].place = Place::Root;

  StageSchedule& total = draft.schedule.stages[made.total->name];
  total = {};
  total.place = Place::At, total.consumer = d.result->name, total.storage = Storage::Stack;
  total.level = schedule_result(draft, d, block);
  const std::string b = made.part->axes.back().var->name;
  total.loops.push_back({b, 1});
  add_tile(draft, d, total.loops);

  StageSchedule& part = draft.schedule.stages[made.part->name];
  part = {};
  part.place = Place::At, part.consumer = made.total->name, part.level = 1, part.storage = Storage::Registers;
  const te::Axis &steps = made.part->reduce_axes[0], &half = made.part->reduce_axes[1];
  constexpr int64_t few = 4;
  part.loops.push_back({steps.var->name, 1, steps.extent->ivalue <= few ? LoopKind::Unroll : LoopKind::Serial});
  part.loops.push_back({b, 1});
  add_tile(draft, d, part.loops);
  // Both halves of the bytes are used before the next bytes are read.
  const Loop halves{half.var->name, 1, LoopKind::Unroll};
  part.loops.insert(d.x().empty() ? part.loops.end() - 1 : part.loops.begin() + 1, halves);
  draft.parts[made.total->name] = made.part->name;
  if (extent_or(d.n, 0) > block) prefetch_weights(draft, made.total->name, made.pairs->name, d.n.var->name, block);
  if (made.sums) schedule_sums(draft, draft.stage(made.sums->name));
  draft.note(format("{}: sums of blocks of {} numbers of four bits by {}, {} x {} vectors of {} along {}",
                    d.result->name, d.block, d.instruction->name, d.tile_rows, d.vectors, draft.lanes(DType::int32()),
                    d.n.var->name));
}

}  // namespace

RuleCandidates block_dots_rule(const ScheduleDraft& draft, const te::Tensor& r, const te::Tensor& e,
                               const StageFacts&) {
  const std::optional<BlockDots> found = block_dots(draft, r, e);
  if (!found) return {};
  return only([d = *found](ScheduleDraft& of) { schedule_block_dots(of, d); });
}

}  // namespace relay::lower
