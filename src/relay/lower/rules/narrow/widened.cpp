// Contractions of bytes on machines without an instruction for them: bytes are widened to 16 bits, zero points are
// subtracted there, and pairs of products are added at once (vpmaddwd):
//
//   sum[m, n] = sum(k < 256) (int32(a[m, k]) - zero) * int32(w[n, k])
//   becomes
//   a_wide[m, k] = int16(a[m, k]) - zero                                a kernel of its own
//   sum[m, n] = sum(k < 128) dot_int32(a_wide[m, 2 k], a_wide[m, 2 k + 1], int16(w[n, 2 k]), int16(w[n, 2 k + 1]))
//
// Data is widened once, and then read for each output. A constant weight keeps its bytes in memory, and is widened in
// registers, where a tile uses each vector for several rows. If a weight has zero points, its differences are stored in
// 16 bits when the program is built. Bytes may have any signs, and nothing saturates: results are bit-identical to
// those of the original sum.
//
// If both factors are data (attention), both are widened. The one with the lanes, "weight" below, is stored as pairs,
// so that a tile reads them in one stream:
//
//   w_pairs[k, n] = w[2 k, n] & 65535 | w[2 k + 1, n] << 16             int32, of numbers in 16 bits; lanes last
//
// Two computed factors of bfloat16 are multiplied in this way as well, if an instruction is faster than multiply-adds
// of float32. They are not widened: the data is read as it is, and the pairs hold the bits of the numbers.
#include <algorithm>

#include "relay/lower/rules/narrow/factors.h"
#include "relay/machine/instruction.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

namespace {

using scalar::BinaryOp;
using scalar::Kind;

constexpr int64_t pair = 2;

Expr imm32(int64_t v) { return scalar::imm(v, DType::int32()); }

bool is_byte(DType t) { return t == DType::int8() || t == DType::uint8(); }

// A byte, or a constant that a byte holds, as int16; null for everything else.
Expr widened_byte(const Expr& e) {
  const Expr inner = e->kind == Kind::Cast ? e->args[0] : e;
  if (is_byte(inner->dtype)) return scalar::cast(DType::int16(), inner);
  const te::TensorNode* scalar_stage = inner->kind == Kind::Load && inner->args.empty()
                                           ? dynamic_cast<const te::TensorNode*>(inner->source.get())
                                           : nullptr;
  const Expr& value = scalar_stage && scalar_stage->body ? scalar_stage->body : inner;
  constexpr int64_t least = INT8_MIN, most = UINT8_MAX;
  if (!scalar::is_int(value) || value->ivalue < least || value->ivalue > most) return {};
  return scalar::imm(value->ivalue, DType::int16());
}

// A factor of the sum: the stage or placeholder whose elements it multiplies, its load, and these elements as int16.
struct Factor {
  te::Tensor source{};
  Expr load{};
  Expr wide{};              // in the axes of the source
  bool has_offset = false;  // a zero point is subtracted

  bool is_short_float() const { return source->dtype == DType::bfloat16(); }
  // An element in 16 bits: its value, or the bits of a float.
  Expr value(const Exprs& at) const {
    if (is_short_float()) return scalar::reinterpret(DType::int16(), scalar::load(source, at));
    if (!has_offset) return scalar::cast(DType::int16(), scalar::load(source, at));
    std::vector<scalar::Binding> bindings;
    for (size_t d = 0; d < at.size(); ++d) bindings.push_back({source->axes[d].var, at[d]});
    return scalar::substitute(wide, bindings);
  }
  // The values as a stage.
  te::Tensor stage(const std::string& name) const {
    te::TensorNode node = *copy_stage(source, name);
    node.dtype = DType::int16(), node.body = value(axes_of(node));
    return te::Tensor(new te::TensorNode(std::move(node)));
  }
  // Pairs of values along dimension `k` as a stage.
  te::Tensor pairs(const std::string& name, size_t k) const {
    te::TensorNode node = *copy_stage(source, name);
    const Expr extent = node.shape[k];
    node.dtype = DType::int32();
    node.axes[k].extent = node.shape[k] = scalar::imm((extent->ivalue + pair - 1) / pair);
    auto number = [&](int64_t i) {
      Exprs at = axes_of(node);
      at[k] = at[k] * pair + i;
      const Expr one = scalar::cast(DType::int32(), value(at));
      return i < pair - extent->ivalue % pair ? one : scalar::select(scalar::lt(at[k], extent), one, imm32(0));
    };
    const Expr low = scalar::binary(BinaryOp::BitAnd, number(0), imm32(UINT16_MAX)),
               high = scalar::binary(BinaryOp::Shl, number(1), imm32(DType::int16().bits));
    node.body = scalar::binary(BinaryOp::BitOr, low, high);
    return te::Tensor(new te::TensorNode(std::move(node)));
  }

 private:
  static Exprs axes_of(const te::TensorNode& node) {
    Exprs axes;
    for (const te::Axis& a : node.axes) axes.push_back(a.var);
    return axes;
  }
};

// Unset unless all elements fit into 16 bits: bytes, differences of bytes, or bfloat16.
std::optional<Factor> factor_of(const Expr& e) {
  Factor f{.load = e->kind == Kind::Cast ? e->args[0] : e};
  if (f.load->kind != Kind::Load) return std::nullopt;
  f.source = te::Tensor(dynamic_cast<const te::TensorNode*>(f.load->source.get()));
  if (!f.source) return std::nullopt;
  if (is_byte(f.source->dtype) || f.is_short_float()) return f;
  if (f.source->is_placeholder() || f.source->combiner != te::Combiner::None || f.source->dtype != DType::int32() ||
      f.source->is_program())
    return std::nullopt;
  const Expr& body = f.source->body;
  if (body->kind != Kind::Binary || (body->binary != BinaryOp::Sub && body->binary != BinaryOp::Add))
    return std::nullopt;
  const Expr value = widened_byte(body->args[0]), offset = widened_byte(body->args[1]);
  if (!value || !offset) return std::nullopt;
  if (scalar::is_int(offset, 0) && value->args[0]->kind == Kind::Load) {  // the bytes themselves
    std::vector<scalar::Binding> bindings;
    for (size_t d = 0; d < f.source->axes.size(); ++d) bindings.push_back({f.source->axes[d].var, f.load->args[d]});
    return factor_of(scalar::substitute(value->args[0], bindings));
  }
  f.wide = scalar::binary(body->binary, value, offset), f.has_offset = true;
  return f;
}

// The dimension of a factor whose index is the axis; -1 if it is also part of another index.
int dim_of(const Factor& f, const Expr& axis) {
  int found = -1;
  for (size_t d = 0; d < f.load->args.size(); ++d) {
    const Expr index = scalar::simplify(f.load->args[d]);
    const Exprs vars = scalar::free_vars(index);
    if (std::find(vars.begin(), vars.end(), axis) == vars.end()) continue;
    if (found >= 0 || index != axis) return -1;
    found = static_cast<int>(d);
  }
  return found;
}

}  // namespace

// Stores a factor as 16-bit numbers, with the dimension `last` as the last. Returns its load.
static Expr stored_widened(ScheduleDraft& draft, const Factor& f, int last) {
  const te::Tensor wide = f.stage(unused_name(draft, f.source->name + "_wide"));
  Layout layout = stored_last(static_cast<int>(wide->shape.size()), last);
  layout.row_padding = row_padding_behind(wide->shape[static_cast<size_t>(last)], wide->dtype);
  draft.layouts[wide->name] = layout;
  return scalar::load(wide, f.load->args);
}

// Stores a factor as pairs along `k`, with the dimension `last` as the last. Returns the load of the pair at index k.
static Expr stored_in_pairs(ScheduleDraft& draft, const Factor& f, const Expr& k, int last) {
  const te::Tensor pairs = f.pairs(unused_name(draft, f.source->name + "_pairs"), static_cast<size_t>(dim_of(f, k)));
  draft.layouts[pairs->name] = stored_last(static_cast<int>(pairs->shape.size()), last);
  return scalar::load(pairs, f.load->args);
}

// The first or second number of a pair, in the low bits.
static Expr half(const Expr& pair, int64_t i) {
  return i == 0 ? pair : scalar::binary(BinaryOp::Shr, pair, imm32(DType::int16().bits));
}

// Makes it a kernel of its own, which also computes padding that only it reads.
static void place_widened(ScheduleDraft& draft, const te::Tensor& wide) {
  draft.schedule.stages[wide->name].place = Place::Root;
  for (const te::Tensor& in : te::inputs(wide)) {
    if (in->is_placeholder() || draft.schedule.stages[in->name].place != Place::Root || !guarded(*in) ||
        draft.group.is_output(in) || draft.group.readers(*draft.group.find(*in)).size() > 1)
      continue;
    draft.schedule.stages[in->name] = {};
    draft.layouts.erase(in->name);
  }
}

namespace {

// The factors of a sum in 16 bits. Dimensions are those of the factors' sources.
struct Widened {
  Factor data, weight;
  te::Axis k{};
  int last_of_weight = -1;  // if it is data too: the dimension of the lanes, which is stored last
};

bool is_constant(const ScheduleDraft& draft, const std::vector<LoadFact>& loads) {
  return std::all_of(loads.begin(), loads.end(),
                     [&](const LoadFact& l) { return draft.constants.count(l.tensor->name) > 0; });
}

// The results of the sum for each number of the factor with these axes.
int64_t uses(const te::TensorNode& r, const StageFacts& facts, const std::set<std::string>& axes, int64_t usual) {
  int64_t count = 1;
  for (const te::Axis& a : r.axes)
    if (!facts.is_batch(a.var->name) && !axes.count(a.var->name)) count *= extent_or(a, usual);
  return count;
}

// The last axis of the sum that only one factor has; null if there is none.
const te::Axis* lanes_of(const te::TensorNode& r, const StageFacts& facts) {
  for (size_t d = r.axes.size(); d-- > 0;)
    if (!facts.is_batch(r.axes[d].var->name) && extent_or(r.axes[d], usual_features) > 1) return &r.axes[d];
  return nullptr;
}

std::optional<Widened> widened(const ScheduleDraft& draft, const te::TensorNode& r, const StageFacts& facts) {
  std::optional<Factor> left = factor_of(r.body->args[0]), right = factor_of(r.body->args[1]);
  if (!left || !right || left->is_short_float() != right->is_short_float()) return std::nullopt;
  const bool of_floats = left->is_short_float();
  bool is_left = is_constant(draft, facts.left_loads);  // the weight
  const bool both_data = !is_left && !is_constant(draft, facts.right_loads);
  if ((is_left && is_constant(draft, facts.right_loads)) || (of_floats && !both_data)) return std::nullopt;
  const te::Axis* lanes = both_data ? lanes_of(r, facts) : nullptr;
  if (both_data && !lanes) return std::nullopt;
  if (both_data) is_left = facts.left.count(lanes->var->name) > 0;
  Widened out{is_left ? *right : *left, is_left ? *left : *right};
  const std::set<std::string>&of_data = is_left ? facts.right : facts.left,
        &of_weight = is_left ? facts.left : facts.right;
  const LoadFact* read = nullptr;  // the data in memory
  for (const LoadFact& l : is_left ? facts.right_loads : facts.left_loads)
    if (l.axes.size() > 0) read = read ? nullptr : &l;
  if (!read) return std::nullopt;
  for (const te::Axis& a : r.reduce_axes) {
    const int in_data = plain_dim(*read, a.var->name);
    if (scalar::is_int(a.extent) && a.extent->ivalue > 1 && has_enough_steps(a.extent->ivalue, pair) &&
        dim_of(out.data, a.var) >= 0 && dim_of(out.weight, a.var) >= 0 && in_data >= 0 &&
        in_data == contiguous_dim(*read->tensor, draft.layout(read->tensor)) &&
        !(of_floats && a.extent->ivalue % pair != 0))
      out.k = a;
  }
  // Each number must be used often enough to pay for widening it.
  const int64_t least = draft.lanes(r.dtype) / 2;
  if (!out.k.var || uses(r, facts, of_data, usual_features) < least) return std::nullopt;
  if (!both_data) return out;
  out.last_of_weight = dim_of(out.weight, lanes->var);
  if (out.last_of_weight < 0 || extent_or(*lanes, usual_features) < draft.lanes(r.dtype) ||
      uses(r, facts, of_weight, usual_rows) < least)
    return std::nullopt;
  return out;
}

}  // namespace

bool multiply_widened(ScheduleDraft& draft, const te::Tensor& r, const StageFacts& facts) {
  if (!facts.contraction || !facts.grouped.empty() || draft.form.by_channels || draft.form.schedule || draft.is_step ||
      (r->dtype != DType::int32() && r->dtype != DType::float32()))
    return false;
  const DType number = r->dtype == DType::int32() ? DType::int16() : DType::bfloat16();
  const machine::RatedInstruction rated = machine::fastest_instruction(*draft.target, number, number, r->dtype);
  if (!rated.instruction || r->body->kind != Kind::Binary || r->body->binary != BinaryOp::Mul) return false;
  if (number.is_float() && pair * rated.per_cycle < surely_more * draft.target->fma_per_cycle) return false;
  const std::optional<Widened> f = widened(draft, *r, facts);
  if (!f || f->data.is_short_float() != number.is_float()) return false;

  const bool in_pairs = f->last_of_weight >= 0;
  const int k_of_weight = dim_of(f->weight, f->k.var);
  const Expr step = scalar::var(f->k.var->name),
             of_data = number.is_float() ? f->data.load : stored_widened(draft, f->data, dim_of(f->data, f->k.var));
  const Expr of_weight = in_pairs               ? stored_in_pairs(draft, f->weight, f->k.var, f->last_of_weight)
                         : f->weight.has_offset ? stored_widened(draft, f->weight, k_of_weight)
                                                : f->weight.load;
  Exprs numbers, weights;
  for (int64_t i = 0; i < pair; ++i) {
    numbers.push_back(number_of_step(of_data, f->k, step, pair, i));
    const Expr of_step = in_pairs ? half(scalar::substitute(of_weight, {{f->k.var, step}}), i)
                                  : number_of_step(of_weight, f->k, step, pair, i),
               in_16_bits = scalar::cast(DType::int16(), of_step);
    weights.push_back(number.is_float() ? scalar::reinterpret(number, in_16_bits) : in_16_bits);
  }
  te::TensorNode dots = *r;
  for (te::Axis& a : dots.reduce_axes)
    if (a.var == f->k.var) a = {step, scalar::imm((f->k.extent->ivalue + pair - 1) / pair)};
  dots.body = scalar::dot(r->dtype, numbers, weights);
  draft.replace(r, te::Tensor(new te::TensorNode(std::move(dots))));
  for (const Expr& load : {of_data, of_weight})
    if (!is_byte(load->source->dtype) && load->source->dtype != DType::bfloat16())
      place_widened(draft, draft.stage(load->source->name));
  return true;
}

}  // namespace relay::lower
