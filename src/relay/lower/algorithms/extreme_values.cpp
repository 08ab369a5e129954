#include "relay/lower/algorithms/extreme_values.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "relay/tensor/memory.h"

namespace relay::lower {

using scalar::fimm;
using scalar::imm;

te::Tensor largest_values(const te::Tensor& data, bool images) {
  const Exprs& shape = data->shape;
  auto largest = [&](const Exprs& rows, const Exprs& along,
                     const std::function<Exprs(const Exprs&, const Exprs&)>& at) {
    return te::reduce("largest", rows, along, te::Combiner::Max, [&](const Exprs& i, const Exprs& r) {
      return scalar::unary(scalar::UnaryOp::Abs, scalar::cast(DType::float32(), (*data)(at(i, r))));
    });
  };
  if (!images)
    return largest(Exprs(shape.begin(), shape.end() - 1), {shape.back()}, [](Exprs i, const Exprs& r) {
      i.push_back(r[0]);
      return i;
    });
  if (scalar::is_int(shape[2], 1))
    return largest({shape[0], shape[3]}, {shape[2], shape[1]},
                   [](const Exprs& i, const Exprs& r) { return Exprs{i[0], r[1], r[0], i[1]}; });
  return largest({shape[0], shape[2]}, {shape[3], shape[1]},
                 [](const Exprs& i, const Exprs& r) { return Exprs{i[0], r[1], i[1], r[0]}; });
}

// The bits of a positive float32, read as an integer, are 2^23 (127 + its logarithm to base 2), within 0.09 of the
// logarithm; those of infinity and NaN are larger than all others.
ExtremeValues extreme_values(const te::Tensor& largest, bool images) {
  const Exprs wholes = images ? Exprs{largest->shape[0]} : Exprs{imm(1)},
              rows = images ? Exprs{largest->shape[1]} : largest->shape;
  const DType i32 = DType::int32(), f32 = DType::float32();
  constexpr int fraction_bits = 23, exponent_bias = 127;  // of float32
  const double unit = std::ldexp(1, fraction_bits);
  auto over_rows = [&](const char* name, te::Combiner combiner, const std::function<Expr(Expr bits)>& value) {
    return te::reduce(name, wholes, rows, combiner, [&](const Exprs& i, const Exprs& r) {
      Expr bits = scalar::reinterpret(i32, (*largest)(images ? Exprs{i[0], r[0]} : r));
      return value(scalar::binary(scalar::BinaryOp::BitAnd, bits, imm(std::numeric_limits<int32_t>::max(), i32)));
    });
  };
  const te::Tensor largest_bits = over_rows("max", te::Combiner::Max, [](Expr bits) { return bits; });
  const te::Tensor sum = over_rows("sum", te::Combiner::Sum, [&](Expr bits) { return scalar::cast(f32, bits); });
  const te::Tensor count = over_rows("count", te::Combiner::Sum,
                                     [&](Expr bits) { return scalar::cast(f32, scalar::ne(bits, imm(0, i32))); });
  const te::Tensor extreme = te::compute("extreme", wholes, [&](const Exprs& i) {
    const Expr max = scalar::cast(f32, (*largest_bits)(i));
    const Expr others = scalar::max((*count)(i)-fimm(1), fimm(1));  // number of rows by which the mean is divided
    const Expr sticks_out = scalar::lt((*sum)(i)-max, (max - fimm(unit * std::log2(max_ratio))) * others);
    const auto bits_of_huge = static_cast<int64_t>(unit * (exponent_bias + std::log2(huge)));
    return scalar::logical_or(scalar::le(imm(bits_of_huge, i32), (*largest_bits)(i)), sticks_out);
  });
  const te::Tensor any = te::reduce("any", {imm(1)}, wholes, te::Combiner::Max,
                                    [&](const Exprs&, const Exprs& r) { return scalar::cast(i32, (*extreme)(r)); });
  auto flag = [&](const char* name, scalar::BinaryOp op) {
    return te::compute(name, any->shape, [&](const Exprs& i) { return scalar::binary(op, (*any)(i), imm(0, i32)); });
  };
  return {flag("no_extremes", scalar::BinaryOp::Eq), flag("extremes", scalar::BinaryOp::Ne)};
}

// float32, or a shorter type whose numbers are computed as float32.
static bool is_computed_as_float32(DType t) {
  return t == DType::float32() || t == DType::bfloat16() || t == DType::float16();
}

// The sum of the absolute values.
static double magnitude(const Tensor& value) {
  const int64_t count = value.elements();
  if (value.dtype() != DType::float32()) {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += std::abs(value.at(i));
    return sum;
  }
  constexpr int64_t lanes = 8;  // so that the compiler vectorises
  double sums[lanes] = {};
  const float* values = static_cast<const float*>(value.data());
  for (int64_t i = 0; i + lanes <= count; i += lanes)
    for (int64_t j = 0; j < lanes; ++j) sums[j] += std::abs(values[i + j]);
  for (int64_t i = count / lanes * lanes; i < count; ++i) sums[0] += std::abs(values[i]);
  return std::accumulate(std::begin(sums), std::end(sums), 0.0);
}

std::set<std::string> float_constants(const FunctionPlan& plan, const Group& g) {
  std::set<std::string> out;
  each_array(plan, g, [&](const te::Tensor& t, const Array& a) {
    if (a.kind == Array::Kind::Constant && is_computed_as_float32(a.dtype)) out.insert(t->name);
  });
  return out;
}

bool has_large_weights(const FunctionPlan& plan, const Group& g) {
  bool large = false;
  each_array(plan, g, [&](const te::Tensor&, const Array& a) {
    if (a.kind != Array::Kind::Constant || !is_computed_as_float32(a.dtype) || a.value.rank() < 2) return;
    large |= !(magnitude(a.value) < max_weight_sum);
    drop_pages(a.value.data(), a.value.bytes());
  });
  return large;
}

void run_without_extremes(Site& site, Group direct, const te::Tensor& data) {
  if (site.options.numerics == Numerics::Fast) return;
  FunctionPlan& plan = site.plan;
  const te::Tensor rows = largest_values(data, direct.on_images);
  const int largest = shared(plan, part_of(direct, "largest_values", unique_names({rows})), site.before)[0];

  const te::Tensor given = te::placeholder("largest", rows->shape, rows->dtype);
  const ExtremeValues flags = extreme_values(given, direct.on_images);
  Group decide;
  decide.te.name = "extreme_values", decide.te.params = {given}, decide.params = {largest};
  decide.te.sources = direct.te.sources;
  decide.te.outputs = unique_names({flags.absent, flags.present});
  const std::vector<int> arrays = shared(plan, decide, site.before);
  site.group().when = arrays[0], direct.when = arrays[1];
  direct.te.name += "_direct";
  site.behind.push_back(std::move(direct));
}

}  // namespace relay::lower
