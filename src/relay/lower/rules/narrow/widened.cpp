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
#include <algorithm>

#include "relay/lower/rules/narrow/factors.h"
#include "relay/machine/instruction.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

namespace {

using scalar::BinaryOp;
using scalar::Kind;

constexpr int64_t pair = 2;

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

  // The values as a stage.
  te::Tensor stage(const std::string& name) const {
    te::TensorNode node = *copy_stage(source, name);
    node.dtype = DType::int16();
    std::vector<scalar::Binding> bindings;
    for (size_t d = 0; has_offset && d < node.axes.size(); ++d)
      bindings.push_back({source->axes[d].var, node.axes[d].var});
    node.body = has_offset ? scalar::substitute(wide, bindings) : scalar::cast(DType::int16(), node.body);
    return te::Tensor(new te::TensorNode(std::move(node)));
  }
};

// Unset unless all elements fit into 16 bits: bytes, or differences of bytes.
std::optional<Factor> factor_of(const Expr& e) {
  Factor f{.load = e->kind == Kind::Cast ? e->args[0] : e};
  if (f.load->kind != Kind::Load) return std::nullopt;
  f.source = te::Tensor(dynamic_cast<const te::TensorNode*>(f.load->source.get()));
  if (!f.source) return std::nullopt;
  if (is_byte(f.source->dtype)) return f;
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

// Stores a factor as 16-bit numbers, with axis `k` last. Returns its load.
static Expr stored_widened(ScheduleDraft& draft, const Factor& f, int k_dim) {
  const te::Tensor wide = f.stage(unused_name(draft, f.source->name + "_wide"));
  Layout layout = stored_last(static_cast<int>(wide->shape.size()), k_dim);
  layout.row_padding = row_padding_behind(wide->shape[static_cast<size_t>(k_dim)], wide->dtype);
  draft.layouts[wide->name] = layout;
  return scalar::load(wide, f.load->args);
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

bool multiply_widened(ScheduleDraft& draft, const te::Tensor& r, const StageFacts& facts) {
  if (!facts.contraction || !facts.grouped.empty() || draft.form.by_channels || draft.form.schedule || draft.is_step ||
      r->dtype != DType::int32())
    return false;
  const machine::RatedInstruction rated =
      machine::fastest_instruction(*draft.target, DType::int16(), DType::int16(), r->dtype);
  const Expr& product = r->body;
  if (!rated.instruction || product->kind != Kind::Binary || product->binary != BinaryOp::Mul) return false;
  std::optional<Factor> left = factor_of(product->args[0]), right = factor_of(product->args[1]);
  if (!left || !right) return false;
  auto is_constant = [&](const std::vector<LoadFact>& loads) {
    return std::all_of(loads.begin(), loads.end(),
                       [&](const LoadFact& l) { return draft.constants.count(l.tensor->name) > 0; });
  };
  const bool is_left = is_constant(facts.left_loads);
  if (is_left == is_constant(facts.right_loads)) return false;
  const Factor &data = is_left ? *right : *left, &weight = is_left ? *left : *right;
  const LoadFact* read = nullptr;  // the data in memory
  for (const LoadFact& l : is_left ? facts.right_loads : facts.left_loads)
    if (l.axes.size() > 0) read = read ? nullptr : &l;
  if (!read) return false;

  const te::Axis* k = nullptr;
  for (const te::Axis& a : r->reduce_axes) {
    const int in_data = plain_dim(*read, a.var->name);
    if (scalar::is_int(a.extent) && a.extent->ivalue > 1 && has_enough_steps(a.extent->ivalue, pair) &&
        dim_of(data, a.var) >= 0 && dim_of(weight, a.var) >= 0 && in_data >= 0 &&
        in_data == contiguous_dim(*read->tensor, draft.layout(read->tensor)))
      k = &a;
  }
  // Each number must be used often enough to pay for widening it.
  int64_t outputs = 1;
  for (const te::Axis& a : r->axes)
    if (weight.load && !facts.is_batch(a.var->name) && (is_left ? facts.left : facts.right).count(a.var->name))
      outputs *= extent_or(a, usual_features);
  if (!k || outputs < draft.lanes(r->dtype) / 2) return false;

  const Expr step = scalar::var(k->var->name), of_data = stored_widened(draft, data, dim_of(data, k->var));
  const Expr of_weight = weight.has_offset ? stored_widened(draft, weight, dim_of(weight, k->var)) : weight.load;
  Exprs numbers, weights;
  for (int64_t i = 0; i < pair; ++i) {
    numbers.push_back(number_of_step(of_data, *k, step, pair, i));
    weights.push_back(scalar::cast(DType::int16(), number_of_step(of_weight, *k, step, pair, i)));
  }
  te::TensorNode dots = *r;
  for (te::Axis& a : dots.reduce_axes)
    if (a.var == k->var) a = {step, scalar::imm((k->extent->ivalue + pair - 1) / pair)};
  dots.body = scalar::dot(r->dtype, numbers, weights);
  draft.replace(r, te::Tensor(new te::TensorNode(std::move(dots))));
  for (const Expr& load : {of_data, of_weight})
    if (load->source->dtype == DType::int16()) place_widened(draft, draft.stage(load->source->name));
  return true;
}

}  // namespace relay::lower
