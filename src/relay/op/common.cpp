#include "relay/op/common.h"

#include <algorithm>
#include <cmath>

#include "relay/op/conditions.h"

namespace relay::op {

// --- input types -----------------------------------------------------------------------------------------------------

Result<const TensorType*> tensor_input(const Types& in, size_t i, const char* name) {
  RELAY_CHECK(i < in.size(), "the relation reads input {} ({}) of {}", i, name, in.size());
  if (const TensorType* tensor = as<TensorType>(in[i])) return tensor;
  return Diagnostic{DiagnosticKind::type_mismatch,
                    format("{} must be a tensor, but is {}", name, ir::str(in[i])),
                    {},
                    {},
                    {},
                    as<TupleType>(in[i]) ? "take a field of the tuple: .0" : "give a tensor"};
}

Result<std::vector<const TensorType*>> tuple_input(const Types& in, size_t i, const char* name) {
  RELAY_CHECK(i < in.size(), "the relation reads input {} ({}) of {}", i, name, in.size());
  const TupleType* tuple = as<TupleType>(in[i]);
  if (!tuple || tuple->fields.empty())
    return Diagnostic{DiagnosticKind::type_mismatch,
                      format("{} must be a tuple of tensors, but is {}", name, ir::str(in[i])),
                      {},
                      {},
                      {},
                      "put the tensors in parentheses: (a, b), of one tensor (a,)"};
  std::vector<const TensorType*> tensors;
  for (size_t k = 0; k < tuple->fields.size(); ++k) {
    RELAY_ASSIGN(const TensorType* tensor, tensor_input(tuple->fields, k, name));
    tensors.push_back(tensor);
  }
  return tensors;
}

Result<size_t> shape_input(const char* number, const Types& in, size_t i, const char* name) {
  RELAY_ASSIGN(const TensorType* shape, tensor_input(in, i, name));
  RELAY_RETURN_IF_ERROR(expect_rank(number, shape, 1, name));
  if (!shape->dtype.is_int()) return constraint(number, "{} must be integers, but is {}", name, shape->dtype.str());
  if (!scalar::is_int(shape->shape[0]))
    return constraint(number, "{} has {} values, which is not a constant", name, text(shape->shape));
  constexpr int64_t max_values = 1024;  // lists of this length are made before typing checks the number of axes
  if (shape->shape[0]->ivalue > max_values)
    return constraint(number, "{} has {} values, more than a tensor has axes", name, text(shape->shape));
  return static_cast<size_t>(shape->shape[0]->ivalue);
}

Status expect_rank(const char* number, const TensorType* type, size_t rank, const char* name) {
  if (type->shape.size() == rank) return ok();
  return constraint(number, "{} must have {}, but its shape is {}", name,
                    plural(static_cast<int64_t>(rank), "axis", "axes"), text(type->shape));
}

Status expect_same_dtype(const char* number, const TensorType* a, const char* a_name, const TensorType* b,
                         const char* b_name) {
  if (a->dtype == b->dtype) return ok();
  Diagnostic d = constraint(number, "{} is {}, but {} is {}", a_name, a->dtype.str(), b_name, b->dtype.str());
  d.help = "convert one of them with cast";
  return d;
}

Types with_weight(Types in, const std::string& data_layout, const std::string& kernel_layout, const OptInt& channels,
                  const OptInts& kernel_size, int64_t groups, bool transposed) {
  const TensorType* data = as<TensorType>(in[0]);
  if (in[1] || !data || !channels || !kernel_size || groups < 1 || data->shape.size() != data_layout.size()) return in;
  size_t c = data_layout.find('C');
  if (c == std::string::npos || kernel_size->empty()) return in;
  Dim input = data->shape[c], output = dim(*channels);
  (transposed ? output : input) = scalar::simplify(floordiv(transposed ? output : input, groups));
  Dims shape;
  for (char letter : kernel_layout) {
    size_t spatial = 0;  // its index among the spatial axes
    for (char other : std::string("DHW"))
      if (other < letter) spatial += kernel_layout.find(other) != std::string::npos;
    shape.push_back(letter == 'O'   ? output
                    : letter == 'I' ? input
                                    : dim((*kernel_size)[std::min(spatial, kernel_size->size() - 1)]));
  }
  in[1] = ir::tensor_type(std::move(shape), data->dtype);
  return in;
}

Types with_vectors(Types in, int64_t axis) {
  const TensorType* data = as<TensorType>(in[0]);
  if (!data || axis < -rank(data) || axis >= rank(data)) return in;
  const Dim& extent = data->shape[static_cast<size_t>(positive_axis(axis, rank(data)))];
  for (Type& type : in)
    if (!type) type = ir::tensor_type({extent}, data->dtype);
  return in;
}

std::string text(const Dims& shape) {
  std::string out;
  for (const Dim& d : shape) out += (out.empty() ? "" : ", ") + scalar::str(d);
  return "(" + out + (shape.size() == 1 ? ",)" : ")");
}

std::string text(const Ints& values) { return format("[{}]", join(values, ", ")); }

// --- dimensions ------------------------------------------------------------------------------------------------------

bool agree(const Dim& a, const Dim& b) {
  if (scalar::is_any(a) || scalar::is_any(b)) return true;
  std::optional<bool> equal = scalar::prove_equal(a, b);
  return equal ? *equal : Assumptions::assume({Condition::Kind::Equal, a, b});
}

static bool holds(Condition condition) {
  if (std::optional<bool> known = condition.proven()) return *known;
  Assumptions::assume(std::move(condition));
  return true;
}

bool at_least(const Dim& a, const Dim& b) { return holds({Condition::Kind::AtLeast, a, b}); }
bool divides(const Dim& divisor, const Dim& size) { return holds({Condition::Kind::Multiple, size, divisor}); }

bool agree(const Dims& a, const Dims& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const Dim& x, const Dim& y) { return agree(x, y); });
}

Dim meet(const Dim& a, const Dim& b) { return scalar::is_any(a) || (scalar::is_int(b) && !scalar::is_int(a)) ? b : a; }

Dims simplified(Dims shape) {
  for (Dim& d : shape) d = scalar::simplify(d);
  return shape;
}

Dim product(const Dims& shape) {
  Dim p = dim(1);
  for (const Dim& d : shape) p = p * d;
  return scalar::simplify(p);
}

Result<Dims> broadcast_shape(const char* number, const Dims& a, const Dims& b) {
  Dims out(std::max(a.size(), b.size()));
  for (size_t i = 0; i < out.size(); ++i) {  // from the last axis
    Dim x = i < a.size() ? a[a.size() - 1 - i] : dim(1);
    Dim y = i < b.size() ? b[b.size() - 1 - i] : dim(1);
    Dim& d = out[out.size() - 1 - i];
    if (scalar::is_int(x, 1))
      d = y;
    else if (scalar::is_int(y, 1))
      d = x;
    else if (scalar::is_any(x))
      d = scalar::is_int(y) ? y : x;  // `?` is 1 or the other extent
    else if (scalar::is_any(y))
      d = scalar::is_int(x) ? x : y;
    else if (agree(x, y))  // a size that meets a number is that number, which is checked on entry
      d = meet(x, y);
    else {
      Diagnostic error = constraint(
          number, "shapes {} and {} do not broadcast: {} and {} at axis {} from the end are different and neither is 1",
          text(a), text(b), scalar::str(x), scalar::str(y), i + 1);
      if (!scalar::is_int(x) || !scalar::is_int(y)) error.help = "if the two are one size, give them one name";
      return error;
    }
  }
  return out;
}

Exprs broadcast_indices(const te::Tensor& tensor, const Exprs& axes) {
  Exprs indices;
  size_t skip = axes.size() - tensor->shape.size();
  for (size_t i = 0; i < tensor->shape.size(); ++i)
    indices.push_back(scalar::is_int(tensor->shape[i], 1) ? dim(0) : axes[skip + i]);
  return indices;
}

Result<int64_t> normal_axis(const char* number, int64_t axis, int64_t rank) {
  if (axis >= -rank && axis < rank) return positive_axis(axis, rank);
  return constraint(number, "axis {} is outside of [{}, {})", axis, -rank, rank);
}

Result<Ints> normal_axes(const char* number, const Ints& axes, int64_t rank) {
  Ints out;
  for (int64_t axis : axes) {
    RELAY_ASSIGN(int64_t normal, normal_axis(number, axis, rank));
    if (std::count(out.begin(), out.end(), normal)) return constraint(number, "axis {} is given twice", axis);
    out.push_back(normal);
  }
  std::sort(out.begin(), out.end());
  return out;
}

// --- windows ---------------------------------------------------------------------------------------------------------

Status expect_layout(const char* number, const char* attribute, const std::string& layout, const std::string& letters) {
  if (std::is_permutation(layout.begin(), layout.end(), letters.begin(), letters.end())) return ok();
  return constraint(number, "{} is \"{}\", but must be an order of the letters of \"{}\"", attribute, layout, letters);
}

// The limit on strides, dilations, paddings and windows: their sums and products with sizes stay within 64 bits.
static constexpr int64_t max_of_window = int64_t{1} << 40;

Ints per_axis(const Ints& values, size_t axes) { return values.size() == 1 ? Ints(axes, values[0]) : values; }

Result<Ints> per_axis(const char* number, const char* attribute, const Ints& values, size_t axes) {
  Ints out = per_axis(values, axes);
  if (out.size() != axes)
    return constraint(number, "{} must have 1 or {} values, but is {}", attribute, axes, text(values));
  if (std::any_of(out.begin(), out.end(), [](int64_t v) { return v < 1; }))
    return constraint(number, "{} must be positive, but is {}", attribute, text(values));
  if (std::any_of(out.begin(), out.end(), [](int64_t v) { return v > max_of_window; }))
    return constraint(number, "{} must be at most 2^40, but is {}", attribute, text(values));
  return out;
}

Ints padding_sides(const Ints& padding, size_t axes) {
  if (padding.size() == 1) return Ints(2 * axes, padding[0]);
  Ints out = padding;
  if (padding.size() == axes) out.insert(out.end(), padding.begin(), padding.end());
  return out;
}

Result<Ints> padding_sides(const char* number, const Ints& padding, size_t axes) {
  Ints out = padding_sides(padding, axes);
  if (out.size() != 2 * axes)
    return constraint(number, "padding must have 1, {} or {} values, but is {}", axes, 2 * axes, text(padding));
  if (std::any_of(out.begin(), out.end(), [](int64_t v) { return v < 0; }))
    return constraint(number, "padding must not be negative, but is {}", text(padding));
  if (std::any_of(out.begin(), out.end(), [](int64_t v) { return v > max_of_window; }))
    return constraint(number, "padding must be at most 2^40, but is {}", text(padding));
  return out;
}

Dim window_extent(const Dim& in, const Dim& k, int64_t stride, int64_t before, int64_t after, int64_t dilation,
                  bool ceil) {
  Dim last = in + (before + after) - (k - 1) * dilation - 1 + (ceil ? stride - 1 : 0);
  return scalar::simplify(floordiv(last, stride) + 1);
}

// --- te --------------------------------------------------------------------------------------------------------------

DType accumulator(DType dtype) { return dtype.is_float() && dtype.bits < 32 ? DType::float32() : dtype; }

te::Tensor elementwise(const char* name, const te::Tensor& like, const std::function<Expr(const Exprs&)>& body) {
  return te::compute(name, like->shape, body);
}

Expr one_of(const Expr& i, const Exprs& values) {
  Expr value = values.empty() ? dim(0) : values.back();
  for (size_t k = values.size(); k-- > 1;)
    value = select(eq(i, dim(static_cast<int64_t>(k - 1))), values[k - 1], value);
  return value;
}

te::Tensor shape_tensor(const Exprs& sizes) {
  return te::compute("shape", {dim(static_cast<int64_t>(sizes.size()))},
                     [&](const Exprs& i) { return one_of(i[0], sizes); });
}

te::Tensor converted(const te::Tensor& tensor, DType dtype) {
  if (tensor->dtype == dtype) return tensor;
  return elementwise("converted", tensor, [&](const Exprs& i) { return scalar::cast(dtype, (*tensor)(i)); });
}

te::Tensor padded(const te::Tensor& data, const Ints& before, const Ints& after, Expr value) {
  auto zero = [](int64_t v) { return v == 0; };
  if (std::all_of(before.begin(), before.end(), zero) && std::all_of(after.begin(), after.end(), zero)) return data;
  Exprs shape;
  for (size_t d = 0; d < data->shape.size(); ++d)
    shape.push_back(scalar::simplify(data->shape[d] + before[d] + after[d]));
  return te::compute("padded", shape, [&](const Exprs& axes) {
    Expr inside = imm(1, DType::boolean());
    Exprs indices;
    for (size_t d = 0; d < axes.size(); ++d) {
      indices.push_back(axes[d] - before[d]);
      if (before[d]) inside = logical_and(inside, le(dim(before[d]), axes[d]));
      if (after[d]) inside = logical_and(inside, lt(axes[d], data->shape[d] + before[d]));
    }
    return scalar::select(inside, (*data)(indices), value);
  });
}

Exprs extents(const te::Tensor& tensor, const Ints& axes) {
  Exprs out;
  for (int64_t axis : axes) out.push_back(tensor->shape[static_cast<size_t>(axis)]);
  return out;
}

Expr number(double value, DType dtype) {
  if (dtype.is_float()) return scalar::fimm(value, dtype);
  if (dtype.is_bool()) return imm(value != 0, dtype);
  // As in a cast: NaN is 0, and values out of range become the nearest value of the type.
  const bool is_signed = dtype.code == DType::Code::Int;
  const double end = std::ldexp(1, dtype.bits - (is_signed ? 1 : 0)), begin = is_signed ? -end : 0;
  if (std::isnan(value)) return imm(0, dtype);
  if (value <= begin) return imm(static_cast<int64_t>(begin), dtype);
  if (value >= end) {
    const uint64_t greatest = ~uint64_t{0} >> (64 - dtype.bits + (is_signed ? 1 : 0));
    return imm(static_cast<int64_t>(greatest), dtype);
  }
  return imm(static_cast<int64_t>(std::llround(value)), dtype);
}

Expr sigmoid(const Expr& x) {
  // For x < 0 as exp(x) / (1 + exp(x)): exp(-x) may be infinite, and the result is not 0.
  Expr one = number(1, x->dtype), e = unary(UnaryOp::Exp, unary(UnaryOp::Neg, unary(UnaryOp::Abs, x)));
  return divide(select(lt(x, number(0, x->dtype)), e, one), one + e);
}

}  // namespace relay::op
