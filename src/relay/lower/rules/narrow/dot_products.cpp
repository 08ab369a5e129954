// Contractions of narrow numbers in pairs or fours, as the machine's instructions take them
// (machine/instructions.def):
//
//   sum[m, n] = sum(k < 256) int32(a[m, k]) * int32(w[n, k])
//   becomes
//   sum[m, n] = sum(k < 64) dot_int32(a[m, 4 k], .., a[m, 4 k + 3], w[n, 4 k], .., w[n, 4 k + 3])
//
// An instruction takes bytes of certain signs: x86's multiplies unsigned with signed ones. Data of the other sign is
// offset by 128, by flipping its highest bit. The terms that this and a zero point add do not depend on the data:
//
//   sum[m, n] = sum(k < 64) dot_int32(as_uint8(a[m, 4 k] ^ -128), .., w[n, 4 k], ..)
//   sum_offset[n] = sum(k < 256) 128 * int32(w[n, k])          a kernel that runs once, when the program is built
//   sum_exact[m, n] = sum[m, n] - sum_offset[n]
//
// A zero point that is known only at run time multiplies the sum over the weight there.
//
// Integers wrap around, so results are bit-identical to those of the original sum.
//
// The last four of 255 products are three, and zero times zero; missing elements are not read:
//
//   sum[m, n] = sum(k < 64) dot_int32(.., select(4 k + 3 < 255, a[m, 4 k + 3], 0),
//                                     .., select(4 k + 3 < 255, w[n, 4 k + 3], 0))
//
// contraction.cpp peels the last step off the loop, so that the others have no condition.
//
// Sums through 16 bits (smull on AArch64, vpmaddubsw on x86) are exact where the weight has no pair along k whose
// products with bytes of data could add up to more: for int8 -128 and -128, but not -128 and -127; for uint8 127 and 2,
// but not 127 and 1. Weights of seven bits have none. Otherwise the instruction is not used.
//
// Tiles (tiles.cpp) are chosen where they multiply more numbers per cycle. They take bytes of any sign. Two computed
// factors are multiplied on tiles too (computed.cpp). Without an instruction for the bytes, they are widened to 16 bits
// (widened.cpp).
#include <algorithm>
#include <cstdlib>

#include "relay/lower/group/finite.h"
#include "relay/lower/rules/narrow/factors.h"
#include "relay/lower/schedule/schedule_rules.h"
#include "relay/machine/rates.h"
#include "relay/scalar/short_dot.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

namespace {

using scalar::BinaryOp;
using scalar::Kind;

constexpr int64_t sign_bit = 128;  // of a byte

// An instruction for two factors, the type in which it takes the data, and the data's position among its operands.
struct Choice {
  machine::RatedInstruction rated;
  DType data;
  bool data_is_left = true;
};

// True if an instruction for so many products does not leave too many of them to the last step.
bool fits(int64_t extent, int64_t products) {
  constexpr int64_t few = 4;  // for more, the last step may cost as much as several
  return has_enough_steps(extent, products) &&
         (products <= few || extent % products == 0 || extent >= 2 * few * products);
}

// The target with those of its instructions that fit one of the extents.
TargetDesc with_fitting(const TargetDesc& target, const std::vector<int64_t>& extents) {
  TargetDesc out = target;
  for (const machine::Instruction& i : machine::instructions())
    if (std::none_of(extents.begin(), extents.end(), [&](int64_t extent) { return fits(extent, i.products); }))
      std::erase_if(out.instructions, [&](const InstructionRate& rate) { return rate.name == i.name; });
  return out;
}

// The fastest instruction for these factors; if several are equally fast, one that takes the data as it is.
Choice instruction_for(const TargetDesc& target, DType sum, DType data, DType weight) {
  std::vector<DType> forms{data};
  if (data == DType::int8()) forms.push_back(DType::uint8());
  if (data == DType::uint8()) forms.push_back(DType::int8());
  Choice best;
  for (DType form : forms)
    for (bool data_is_left : {true, false}) {
      const DType left = data_is_left ? form : weight, right = data_is_left ? weight : form;
      const Choice other{machine::fastest_instruction(target, left, right, sum), form, data_is_left};
      if (machine::products_per_cycle(other.rated) > machine::products_per_cycle(best.rated)) best = other;
    }
  return best;
}

// True if no two products of a pair along the dimension with data of this type add up to more than 16 bits hold.
bool pairs_fit(const Tensor& weight, int dim, DType data) {
  // Bound of the sum of two weights of one sign; of two magnitudes, if data has signs.
  const int most = INT16_MAX / (data == DType::uint8() ? UINT8_MAX : -INT8_MIN);
  if (weight.dtype() != DType::int8()) return false;
  if (data == DType::int8() && !has_least(weight)) return true;
  size_t inside = 1;
  for (size_t d = static_cast<size_t>(dim) + 1; d < weight.shape().size(); ++d)
    inside *= static_cast<size_t>(weight.shape()[d]);
  const size_t extent = static_cast<size_t>(weight.shape()[static_cast<size_t>(dim)]);
  const std::span<const int8_t> values = weight.span<int8_t>();
  auto fits = [&](int first, int second) {
    if (data == DType::int8()) return std::abs(first) + std::abs(second) <= most;
    return std::max(first, 0) + std::max(second, 0) <= most && std::min(first, 0) + std::min(second, 0) >= -most;
  };
  for (size_t i = 0; i + inside < values.size(); ++i)
    if (i / inside % extent + 1 < extent && i / inside % extent % 2 == 0 && !fits(values[i], values[i + inside]))
      return false;
  return true;
}

struct Form {
  Narrow data, weight;
  Choice choice{};
  te::Axis k{};
  int64_t products() const { return choice.rated.instruction->products; }
  // The number that the instruction's form of the data adds to each element.
  int64_t added() const {
    return choice.data == data.load->dtype ? 0 : choice.data == DType::uint8() ? sign_bit : -sign_bit;
  }
};

// Tiles instead of the form's instruction, if it has one, if they are faster.
void choose_tiles(const ScheduleDraft& draft, const te::Tensor& r, Form& f) {
  if (draft.without.count(Rule::Tiles) || !f.k.var) return;
  const DType data = f.data.load->dtype, weight = f.weight.load->dtype;
  const machine::RatedInstruction tiles =
      machine::fastest_instruction(*draft.target, data, weight, r->dtype, machine::Registers::Tile);
  if (!tiles.instruction || f.k.extent->ivalue % tiles.instruction->products != 0) return;
  const int64_t products = tiles.instruction->products;
  const TileSteps steps = tile_steps(draft, *r, f.data.fact, f.k.var->name, f.k.extent->ivalue / products, products);
  const std::optional<TileShape> shape =
      tile_shape(draft, r, f.data.fact, f.weight.fact, steps.axis, steps.count, tiles.instruction);
  const double lanes = static_cast<double>(draft.lanes(r->dtype)),
               others = std::max(machine::products_per_cycle(f.choice.rated), draft.target->fma_per_cycle) * lanes;
  if (shape && shape->multiply_adds_per_cycle > surely_more * others) f.choice = {tiles, data, true};
}

// The summed axes along which data has neighbours, so that groups of them can be multiplied at once.
std::vector<te::Axis> axes_of_groups(ScheduleDraft& draft, const te::Tensor& r, const Form& f) {
  std::vector<te::Axis> out;
  for (const te::Axis& k : r->reduce_axes) {
    if (!scalar::is_int(k.extent) || scalar::is_int(k.extent, 1)) continue;
    const int in_data = dim_of_steps(f.data.fact, k.var->name, 1);
    if (in_data >= 0 && in_data == contiguous_dim(*f.data.fact.tensor, draft.layout(f.data.fact.tensor)))
      out.push_back(k);
  }
  return out;
}

bool has_short_sums(const Form& f) {
  return f.k.var && f.choice.rated.instruction && f.choice.rated.instruction->short_sums;
}

// True if the sums of an instruction that adds pairs in 16 bits are exact.
bool short_sums_fit(const ScheduleDraft& draft, const Form& f) {
  const te::TensorNode& weight = *f.weight.fact.tensor;
  const auto value = draft.values.find(weight.name);
  return value != draft.values.end() && value->second.shape().size() == weight.shape.size() &&
         pairs_fit(value->second, plain_dim(f.weight.fact, f.k.var->name), f.choice.data);
}

std::optional<Form> form_of(ScheduleDraft& draft, const te::Tensor& r, const StageFacts& facts) {
  if (!facts.contraction || !facts.grouped.empty() || draft.form.by_channels || draft.form.schedule ||
      draft.target->blocks.threads > 0)  // warp_tiles.cpp
    return std::nullopt;
  const Expr product = draft.expanded(r).body(*r);
  if (product->kind != Kind::Binary) return std::nullopt;
  std::optional<Narrow> left = narrow_factor(product->args[0], facts.left_loads),
                        right = narrow_factor(product->args[1], facts.right_loads);
  if (!left || !right) return std::nullopt;
  auto is_constant = [&](const Narrow& f) { return draft.constants.count(f.fact.tensor->name) > 0; };
  if (is_constant(*left) == is_constant(*right)) return std::nullopt;
  Form f{is_constant(*right) ? *left : *right, is_constant(*right) ? *right : *left};
  const DType a = f.data.load->dtype, w = f.weight.load->dtype;
  const std::vector<te::Axis> axes = axes_of_groups(draft, r, f);
  std::vector<int64_t> extents;
  for (const te::Axis& k : axes) extents.push_back(k.extent->ivalue);
  const machine::RatedInstruction tiles =
      machine::fastest_instruction(*draft.target, a, w, r->dtype, machine::Registers::Tile);
  auto choose = [&](const TargetDesc& target) {
    f.choice = instruction_for(target, r->dtype, a, w), f.k = {};
    if (!f.choice.rated.instruction && !tiles.instruction) return;
    const int64_t products = (f.choice.rated.instruction ? f.choice : Choice{tiles, a}).rated.instruction->products;
    for (const te::Axis& k : axes)
      if (fits(k.extent->ivalue, products) && dim_of_steps(f.data.fact, k.var->name, products) >= 0) f.k = k;
  };
  for (const te::Axis& k : r->reduce_axes)
    if (!scalar::is_int(k.extent, 1) && plain_dim(f.weight.fact, k.var->name) < 0) return std::nullopt;
  TargetDesc target = with_fitting(*draft.target, extents);
  choose(target);
  if (has_short_sums(f) && !short_sums_fit(draft, f)) {
    std::erase_if(target.instructions, [](const InstructionRate& rate) {
      return std::ranges::any_of(machine::instructions(),
                                 [&](const machine::Instruction& i) { return i.short_sums && rate.name == i.name; });
    });
    choose(target);
  }
  if (!scalar::is_int(f.weight.offset, 0)) return std::nullopt;
  choose_tiles(draft, r, f);
  const machine::Instruction* chosen = f.choice.rated.instruction;
  if (!f.k.var || !chosen) return std::nullopt;
  // Multiply-adds take bytes that are widened, and of the data a copy for all lanes: two instructions instead of one.
  const double multiply_adds = draft.target->fma_per_cycle / (a.bits == 8 ? 2 : 1);
  if (!chosen->on_tiles() && machine::products_per_cycle(f.choice.rated) < surely_more * multiply_adds)
    return std::nullopt;
  return f;
}

// The sum over the weight, times a constant: one number for each of its rows.
te::Tensor offset_of(const te::Tensor& r, const Form& f, int64_t times, const std::string& name) {
  Exprs shape, sums;
  std::vector<Expr> vars;
  for (const te::Axis& a : r->axes)
    if (f.weight.fact.axes.count(a.var->name)) shape.push_back(a.extent), vars.push_back(a.var);
  for (const te::Axis& a : r->reduce_axes) sums.push_back(a.extent);
  return te::reduce(name, shape, sums, te::Combiner::Sum, [&](const Exprs& i, const Exprs& k) {
    std::vector<scalar::Binding> bindings;
    for (size_t d = 0; d < i.size(); ++d) bindings.push_back({vars[d], i[d]});
    for (size_t d = 0; d < k.size(); ++d) bindings.push_back({r->reduce_axes[d].var, k[d]});
    return scalar::cast(r->dtype, scalar::substitute(f.weight.load, bindings)) * times;
  });
}

// Replaces the sum by `products`, another one whose data is greater by `moved_by`, and the correction.
void replace_with_offset(ScheduleDraft& draft, const te::Tensor& r, const Form& f, const te::Tensor& products,
                         const Expr& moved_by) {
  const std::string& sum = r->name;
  const bool known = scalar::is_int(moved_by);
  const te::Tensor offset = offset_of(r, f, known ? moved_by->ivalue : 1, unused_name(draft, sum + "_offset"));
  const te::Tensor exact = te::compute(unused_name(draft, sum + "_exact"), r->shape, [&](const Exprs& i) {
    Exprs of_weight;
    for (size_t d = 0; d < i.size(); ++d)
      if (f.weight.fact.axes.count(r->axes[d].var->name)) of_weight.push_back(i[d]);
    const Expr sums = (*offset)(of_weight);
    return (*products)(i) - (known ? sums : sums * moved_by);
  });
  draft.replace(r, exact);
  draft.schedule.stages[offset->name].place = Place::Root;
  draft.schedule.stages[exact->name] = {};
}

// Subtracts the zero point of data from the sum, instead of from each number, on machines without vectors: there, a
// subtraction takes as long as a multiply-add.
bool subtract_after_sum(ScheduleDraft& draft, const te::Tensor& r, const StageFacts& facts) {
  if (draft.lanes(r->dtype) > 1 || !facts.contraction || !facts.grouped.empty() || draft.form.by_channels ||
      draft.form.schedule || r->dtype != DType::int32())
    return false;
  const Expr product = draft.expanded(r).body(*r);
  if (product->kind != Kind::Binary || product->binary != BinaryOp::Mul) return false;
  std::optional<Narrow> left = narrow_factor(product->args[0], facts.left_loads),
                        right = narrow_factor(product->args[1], facts.right_loads);
  if (!left || !right) return false;
  auto is_constant = [&](const Narrow& f) { return draft.constants.count(f.fact.tensor->name) > 0; };
  if (is_constant(*left) == is_constant(*right)) return false;
  const Form f{is_constant(*right) ? *left : *right, is_constant(*right) ? *right : *left};
  if (!scalar::is_int(f.weight.offset, 0) || !scalar::is_int(f.data.offset) || f.data.offset->ivalue == 0) return false;
  te::TensorNode products = *r;
  products.body = scalar::cast(r->dtype, f.data.load) * scalar::cast(r->dtype, f.weight.load);
  replace_with_offset(draft, r, f, te::Tensor(new te::TensorNode(std::move(products))), f.data.offset);
  return true;
}

}  // namespace

bool multiply_in_groups(ScheduleDraft& draft, const std::string& sum) {
  const te::Tensor r = draft.stage(sum);
  const StageFacts facts = facts_of(r, draft.expanded(r));
  const std::optional<Form> found = form_of(draft, r, facts);
  if (!found)
    return multiply_computed(draft, r, facts) || multiply_widened(draft, r, facts) ||
           subtract_after_sum(draft, r, facts);
  const Form& f = *found;
  Exprs data, weight;
  const Expr k = scalar::var(f.k.var->name);
  const int64_t products = f.products(), extent = f.k.extent->ivalue;
  for (int64_t i = 0; i < products; ++i) {
    Expr number = number_of_step(f.data.load, f.k, k, products, i);
    if (f.added() != 0) {
      const Expr bit = scalar::imm(number->dtype == DType::int8() ? -sign_bit : sign_bit, number->dtype);
      number = scalar::reinterpret(f.choice.data, scalar::binary(BinaryOp::BitXor, number, bit));
    }
    data.push_back(number), weight.push_back(number_of_step(f.weight.load, f.k, k, products, i));
  }
  te::TensorNode dots = *r;
  for (te::Axis& a : dots.reduce_axes)
    if (a.var == f.k.var) a = {k, scalar::imm((extent + products - 1) / products)};
  if (!f.choice.data_is_left) std::swap(data, weight);
  dots.body = has_short_sums(f) ? scalar::short_dot(r->dtype, data, weight) : scalar::dot(r->dtype, data, weight);
  const te::Tensor grouped(new te::TensorNode(std::move(dots)));
  const bool known = scalar::is_int(f.data.offset);
  const int64_t moved_by = f.added() + (known ? f.data.offset->ivalue : 0);
  if (known && moved_by == 0)
    draft.replace(r, grouped);
  else
    replace_with_offset(draft, r, f, grouped, known ? scalar::imm(moved_by) : f.data.offset + moved_by);
  return true;
}

}  // namespace relay::lower
