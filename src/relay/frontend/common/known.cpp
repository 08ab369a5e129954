#include "relay/frontend/common/known.h"

#include <cmath>

#include "relay/scalar/simplify.h"

namespace relay::frontend {

using scalar::BinaryOp;
using scalar::Expr;
using scalar::Exprs;
using scalar::Kind;
using scalar::UnaryOp;

namespace {

// The size of an expression as a tree, at most `limit`.
size_t tree_size(const Expr& e, size_t limit) {
  size_t size = 1;
  for (const Expr& a : e->args)
    if (size < limit) size += tree_size(a, limit - size);
  return size;
}

// Expressions that grow without bound (a model that squares a size a hundred times) are not known.
KnownRef make(Shape shape, DType dtype, Exprs values) {
  constexpr size_t limit = 200;
  for (const Expr& e : values)
    if (tree_size(e, limit) >= limit) return nullptr;
  return std::make_shared<const Known>(Known{std::move(shape), dtype, std::move(values)});
}

bool is_number(const Expr& e) { return e->kind == Kind::Int || e->kind == Kind::Float; }

// A float rounded as the tensor's type would.
Expr real(double value, DType dtype) {
  return scalar::fimm(dtype == DType::float64() ? value : static_cast<double>(static_cast<float>(value)),
                      DType::float64());
}

bool not_negative(const Expr& e) {
  scalar::Interval range = scalar::interval(e);
  return range.min && *range.min >= 0;
}

// A float expression over sizes as numerator / denominator, so that rounding is exact: h * 0.5 is h / 2.
struct Ratio {
  Expr numerator;
  int64_t denominator;
};
std::optional<Ratio> as_ratio(const Expr& e) {
  if (e->kind == Kind::Float) {
    // p / 2^s, exactly.
    double value = e->fvalue;
    for (int64_t denominator = 1; denominator <= (1 << 20); denominator *= 2)
      if (double p = value * static_cast<double>(denominator); std::abs(p) < 1e15 && p == std::floor(p))
        return Ratio{scalar::imm(static_cast<int64_t>(p)), denominator};
    return std::nullopt;
  }
  if (e->kind == Kind::Cast) return Ratio{e->args[0], 1};
  if (e->kind != Kind::Binary) return std::nullopt;
  std::optional<Ratio> a = as_ratio(e->args[0]), b = as_ratio(e->args[1]);
  if (!a || !b) return std::nullopt;
  int64_t denominator = 0;
  switch (e->binary) {
    case BinaryOp::Mul:
      if (__builtin_mul_overflow(a->denominator, b->denominator, &denominator) || denominator > (1 << 30))
        return std::nullopt;
      return Ratio{a->numerator * b->numerator, denominator};
    case BinaryOp::Div:
      if (!is_int(b->numerator) || b->numerator->ivalue <= 0 || b->numerator->ivalue > (1 << 20)) return std::nullopt;
      if (__builtin_mul_overflow(a->denominator, b->numerator->ivalue, &denominator) || denominator > (1 << 30))
        return std::nullopt;
      return Ratio{a->numerator * b->denominator, denominator};
    case BinaryOp::Add:
    case BinaryOp::Sub: {
      if (a->denominator != b->denominator) {
        a->numerator = a->numerator * b->denominator, b->numerator = b->numerator * a->denominator;
        if (__builtin_mul_overflow(a->denominator, b->denominator, &denominator) || denominator > (1 << 30))
          return std::nullopt;
      } else {
        denominator = a->denominator;
      }
      return Ratio{e->binary == BinaryOp::Add ? a->numerator + b->numerator : a->numerator - b->numerator, denominator};
    }
    default: return std::nullopt;
  }
}

// floor or ceil of a float expression as an integer one; null if it has another form.
Expr rounded(const Expr& e, bool up) {
  std::optional<Ratio> r = as_ratio(e);
  if (!r) return {};
  return scalar::simplify(scalar::floordiv(up ? r->numerator + (r->denominator - 1) : r->numerator, r->denominator));
}

Expr binary_element(BinaryOp op, const Expr& a, const Expr& b, DType dtype) {
  if (!dtype.is_float()) {
    if (op == BinaryOp::Div) {
      if (!is_int(b) || b->ivalue == 0 || b->ivalue == -1) return {};
      op = not_negative(a) && b->ivalue > 0 ? BinaryOp::FloorDiv : BinaryOp::TruncDiv;
    }
    if ((op == BinaryOp::FloorMod || op == BinaryOp::TruncMod) && (!is_int(b) || b->ivalue == 0 || b->ivalue == -1))
      return {};
    if (op == BinaryOp::Pow) {
      if (!is_int(b) || b->ivalue < 0 || b->ivalue > 8) return {};
      Expr power = scalar::imm(1);
      for (int64_t i = 0; i < b->ivalue; ++i) power = power * a;
      return scalar::simplify(power);
    }
    Expr value = scalar::binary(op, a, b);
    if (scalar::is_comparison(op)) {
      std::optional<bool> proven = scalar::prove(value);
      return proven ? scalar::imm(*proven) : Expr();
    }
    return scalar::simplify(value);
  }
  if (is_number(a) && is_number(b)) {
    double x = a->fvalue, y = b->fvalue;
    switch (op) {
      case BinaryOp::Add: return real(x + y, dtype);
      case BinaryOp::Sub: return real(x - y, dtype);
      case BinaryOp::Mul: return real(x * y, dtype);
      case BinaryOp::Div: return real(x / y, dtype);
      case BinaryOp::Pow: return real(std::pow(x, y), dtype);
      case BinaryOp::Min: return std::isnan(x) ? a : std::isnan(y) || y < x ? b : a;
      case BinaryOp::Max: return std::isnan(x) ? a : std::isnan(y) || y > x ? b : a;
      case BinaryOp::Eq: return scalar::imm(x == y);
      case BinaryOp::Lt: return scalar::imm(x < y);
      case BinaryOp::Le: return scalar::imm(x <= y);
      default: return {};
    }
  }
  if (op != BinaryOp::Add && op != BinaryOp::Sub && op != BinaryOp::Mul && op != BinaryOp::Div) return {};
  return scalar::binary(op, a, b);
}

}  // namespace

KnownRef known_of(const Tensor& tensor) {
  int64_t count = tensor.elements();
  if (count > max_known || tensor.dtype().is_storage()) return nullptr;
  Exprs values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(tensor.dtype().is_float() ? scalar::fimm(tensor.at(i), DType::float64())
                                               : scalar::imm(tensor.int_at(i)));
  return make(tensor.shape(), tensor.dtype(), std::move(values));
}

KnownRef known_ints(const Exprs& values) {
  Exprs normal;
  for (const Expr& e : values) normal.push_back(scalar::simplify(e));
  return make({static_cast<int64_t>(values.size())}, DType::int64(), std::move(normal));
}

KnownRef known_scalar(Expr value, DType dtype) { return make({}, dtype, {std::move(value)}); }

std::optional<Tensor> as_tensor(const Known& known) {
  for (const Expr& e : known.values)
    if (!is_number(e)) return std::nullopt;
  Tensor tensor = Tensor::empty(known.shape, known.dtype);
  for (size_t i = 0; i < known.values.size(); ++i) {
    const Expr& e = known.values[i];
    if (e->kind == Kind::Float)
      tensor.set(static_cast<int64_t>(i), e->fvalue);
    else
      tensor.set_int(static_cast<int64_t>(i), e->ivalue);
  }
  return tensor;
}

std::optional<std::vector<int64_t>> as_ints(const Known& known) {
  std::vector<int64_t> out;
  for (const Expr& e : known.values) {
    if (e->kind != Kind::Int) return std::nullopt;
    out.push_back(e->ivalue);
  }
  return out;
}

KnownRef reshaped(const Known& known, Shape shape) {
  if (element_count(shape) != static_cast<int64_t>(known.values.size())) return nullptr;
  return make(std::move(shape), known.dtype, known.values);
}

KnownRef cast(const Known& known, DType dtype) {
  if (dtype.is_storage()) return nullptr;
  Exprs values;
  for (const Expr& e : known.values) {
    Expr value = e;
    if (known.dtype.is_float() && dtype.is_float()) {
      if (e->kind == Kind::Float) value = real(e->fvalue, dtype);
    } else if (known.dtype.is_float()) {
      if (e->kind == Kind::Float) {
        double d = std::trunc(e->fvalue);
        if (!(std::abs(d) < 9e15)) return nullptr;
        value = scalar::imm(dtype.is_bool() ? e->fvalue != 0 : static_cast<int64_t>(d));
      } else {
        // Truncation is floor for non-negative values.
        value = dtype.is_bool() ? Expr() : rounded(e, false);
        if (!value || !not_negative(value)) return nullptr;
      }
    } else if (dtype.is_float()) {
      value = e->kind == Kind::Int ? real(static_cast<double>(e->ivalue), dtype) : scalar::cast(DType::float64(), e);
    } else if (dtype.is_bool() && !known.dtype.is_bool()) {
      std::optional<bool> zero = scalar::prove_equal(e, scalar::imm(0));
      if (!zero) return nullptr;
      value = scalar::imm(!*zero);
    }
    values.push_back(std::move(value));
  }
  return make(known.shape, dtype, std::move(values));
}

KnownRef picked(const Known& known, const std::vector<int64_t>& indices, Shape shape) {
  if (element_count(shape) != static_cast<int64_t>(indices.size()) || static_cast<int64_t>(indices.size()) > max_known)
    return nullptr;
  Exprs values;
  for (int64_t i : indices) {
    if (i < 0 || i >= static_cast<int64_t>(known.values.size())) return nullptr;
    values.push_back(known.values[static_cast<size_t>(i)]);
  }
  return make(std::move(shape), known.dtype, std::move(values));
}

// Row-major strides: the number of elements that a step along each axis passes.
static Shape steps_of(const Shape& shape) {
  Shape steps(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) steps[d - 1] = steps[d] * shape[d];
  return steps;
}

KnownRef transposed(const Known& known, const std::vector<int64_t>& axes) {
  const Shape from = steps_of(known.shape);
  Shape shape;
  for (int64_t axis : axes) shape.push_back(known.shape[static_cast<size_t>(axis)]);
  const Shape to = steps_of(shape);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < static_cast<int64_t>(known.values.size()); ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < shape.size(); ++d) at += i / to[d] % shape[d] * from[static_cast<size_t>(axes[d])];
    indices.push_back(at);
  }
  return picked(known, indices, std::move(shape));
}

KnownRef sliced(const Known& known, size_t axis, int64_t begin, int64_t end, int64_t step) {
  std::vector<int64_t> kept;
  for (int64_t i = begin; step > 0 ? i < end : i > end; i += step) {
    kept.push_back(i);
    if (step > max_known || step < -max_known) break;
  }
  Shape shape = known.shape;
  shape[axis] = static_cast<int64_t>(kept.size());
  const Shape from = steps_of(known.shape), to = steps_of(shape);
  std::vector<int64_t> indices;
  for (int64_t i = 0, count = element_count(shape).value_or(0); i < count; ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      const int64_t place = i / to[d] % shape[d];
      at += (d == axis ? kept[static_cast<size_t>(place)] : place) * from[d];
    }
    indices.push_back(at);
  }
  return picked(known, indices, std::move(shape));
}

// The shape of two or more broadcast together, and the place that each element of the result reads `from`.
static std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < out.size(); ++i) {
    int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  std::optional<int64_t> count = element_count(out);
  return count && *count <= max_known ? std::optional(out) : std::nullopt;
}
static size_t broadcast_index(const Shape& out, const Shape& from, size_t flat) {
  size_t index = 0, stride = 1;
  for (size_t i = 0; i < from.size(); ++i) {
    size_t extent = static_cast<size_t>(out[out.size() - 1 - i]), own = static_cast<size_t>(from[from.size() - 1 - i]);
    if (own != 1) index += flat % extent * stride;
    flat /= extent, stride *= own;
  }
  return index;
}

KnownRef binary(BinaryOp op, const Known& a, const Known& b) {
  if (a.dtype != b.dtype) return nullptr;
  std::optional<Shape> shape = broadcast(a.shape, b.shape);
  if (!shape) return nullptr;
  Exprs values;
  size_t count = static_cast<size_t>(*element_count(*shape));
  for (size_t i = 0; i < count; ++i) {
    Expr value = binary_element(op, a.values[broadcast_index(*shape, a.shape, i)],
                                b.values[broadcast_index(*shape, b.shape, i)], a.dtype);
    if (!value) return nullptr;
    values.push_back(std::move(value));
  }
  return make(*shape, scalar::is_comparison(op) ? DType::boolean() : a.dtype, std::move(values));
}

KnownRef unary(UnaryOp op, const Known& a) {
  Exprs values;
  for (const Expr& e : a.values) {
    Expr value;
    if (op == UnaryOp::Not && e->kind == Kind::Int)
      value = scalar::imm(!e->ivalue);
    else if (op == UnaryOp::Neg && !a.dtype.is_float())
      value = scalar::simplify(scalar::imm(0) - e);
    else if (op == UnaryOp::Abs && e->kind == Kind::Int)
      value = e->ivalue < 0 ? scalar::imm(0) - e : e;
    else if (e->kind == Kind::Float) {
      if (op == UnaryOp::Neg) value = real(-e->fvalue, a.dtype);
      if (op == UnaryOp::Abs) value = real(std::abs(e->fvalue), a.dtype);
      if (op == UnaryOp::Floor) value = real(std::floor(e->fvalue), a.dtype);
      if (op == UnaryOp::Ceil) value = real(std::ceil(e->fvalue), a.dtype);
      if (op == UnaryOp::Sqrt) value = real(std::sqrt(e->fvalue), a.dtype);
    } else if (a.dtype.is_float() && (op == UnaryOp::Floor || op == UnaryOp::Ceil)) {
      if (Expr integer = rounded(e, op == UnaryOp::Ceil)) value = scalar::cast(DType::float64(), integer);
    }
    if (!value) return nullptr;
    values.push_back(std::move(value));
  }
  return make(a.shape, a.dtype, std::move(values));
}

KnownRef where(const Known& condition, const Known& a, const Known& b) {
  if (a.dtype != b.dtype) return nullptr;
  std::optional<Shape> both = broadcast(a.shape, b.shape);
  std::optional<Shape> shape = both ? broadcast(*both, condition.shape) : std::nullopt;
  if (!shape) return nullptr;
  Exprs values;
  size_t count = static_cast<size_t>(*element_count(*shape));
  for (size_t i = 0; i < count; ++i) {
    const Expr& c = condition.values[broadcast_index(*shape, condition.shape, i)];
    if (c->kind != Kind::Int) return nullptr;
    values.push_back(c->ivalue ? a.values[broadcast_index(*shape, a.shape, i)]
                               : b.values[broadcast_index(*shape, b.shape, i)]);
  }
  return make(*shape, a.dtype, std::move(values));
}

KnownRef concat(const std::vector<KnownRef>& parts) {
  Exprs values;
  for (const KnownRef& part : parts) {
    if (!part || part->shape.size() != 1 || part->dtype != parts[0]->dtype) return nullptr;
    values.insert(values.end(), part->values.begin(), part->values.end());
    if (static_cast<int64_t>(values.size()) > max_known) return nullptr;
  }
  return make({static_cast<int64_t>(values.size())}, parts[0]->dtype, std::move(values));
}

KnownRef product(const Known& known) {
  if (known.dtype.is_float()) return nullptr;
  Expr value = scalar::imm(1);
  for (const Expr& e : known.values) value = value * e;
  return make({}, known.dtype, {scalar::simplify(value)});
}

}  // namespace relay::frontend
