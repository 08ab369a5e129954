#include "relay/frontend/common/known.h"

#include <algorithm>
#include <cmath>

#include "relay/scalar/eval.h"
#include "relay/scalar/parts.h"
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

bool is_number(const Expr& e) { return e->kind == Kind::Int || e->kind == Kind::Float; }

// True if arithmetic on sizes surely stays within its type: it has no factors and terms that sizes do not have. In
// int32 and float32, which is exact up to 2^24, they are smaller.
bool is_of_sizes(const Expr& root, DType dtype) {
  const int64_t most = int64_t{1} << (dtype.bits == 64 ? 32 : dtype.is_float() ? 14 : 16);
  bool fits = true;
  scalar::visit(root, [&](const Expr& e) {
    if (e->kind != Kind::Binary ||
        (e->binary != BinaryOp::Add && e->binary != BinaryOp::Sub && e->binary != BinaryOp::Mul))
      return;
    for (const Expr& a : e->args) fits &= a->kind != Kind::Int || (a->ivalue <= most && a->ivalue >= -most);
  });
  return fits;
}

// The types in which exporters compute sizes; in others a size may wrap around or be rounded.
bool holds_sizes(DType t) {
  return t == DType::int64() || t == DType::int32() || t == DType::float32() || t == DType::float64();
}

// Expressions that grow without bound (a model that squares a size a hundred times) are not known.
KnownRef make(Shape shape, DType dtype, Exprs values) {
  constexpr size_t limit = 200;
  for (const Expr& e : values)
    if (!is_number(e) && (!holds_sizes(dtype) || tree_size(e, limit) >= limit || !is_of_sizes(e, dtype)))
      return nullptr;
  return std::make_shared<const Known>(Known{std::move(shape), dtype, std::move(values)});
}

// A number as the evaluator has it, of the tensor's type; and back.
scalar::Value value_of(const Expr& e, DType dtype) {
  return dtype.is_float() ? scalar::float_value(e->fvalue, dtype) : scalar::int_value(e->ivalue, dtype);
}
Expr element_of(const scalar::Value& v) {
  return v.dtype.is_float() ? scalar::fimm(v.f, DType::float64()) : scalar::imm(v.i);
}

bool not_negative(const Expr& e) {
  scalar::Interval range = scalar::interval(e);
  return range.min && *range.min >= 0;
}

// A float expression over sizes as numerator / denominator: h * 0.5 is h / 2.
struct Ratio {
  Expr numerator;
  int64_t denominator;
  int64_t factor = 1;  // by which constants may have multiplied a size in the numerator
};

// True if float32 holds the ratio without rounding, so that it may be an operand: sizes have at most 14 bits then, and
// n / 7 * 7 may be less than n.
bool is_exact(const Ratio& r) { return (r.denominator & (r.denominator - 1)) == 0 && r.factor <= 1024; }

std::optional<Ratio> as_ratio(const Expr& e) {
  if (e->kind == Kind::Float) {
    // p / 2^s, exactly.
    double value = e->fvalue;
    for (int64_t denominator = 1; denominator <= (1 << 20); denominator *= 2)
      if (double p = value * static_cast<double>(denominator); std::abs(p) < 1e15 && p == std::floor(p))
        return Ratio{scalar::imm(static_cast<int64_t>(p)), denominator, std::abs(static_cast<int64_t>(p))};
    return std::nullopt;
  }
  if (e->kind == Kind::Cast) return Ratio{e->args[0], 1};
  if (e->kind != Kind::Binary) return std::nullopt;
  std::optional<Ratio> a = as_ratio(e->args[0]), b = as_ratio(e->args[1]);
  if (!a || !b || !is_exact(*a) || !is_exact(*b)) return std::nullopt;
  int64_t denominator = 0;
  switch (e->binary) {
    case BinaryOp::Mul:
      if (__builtin_mul_overflow(a->denominator, b->denominator, &denominator) || denominator > (1 << 30))
        return std::nullopt;
      return Ratio{a->numerator * b->numerator, denominator, a->factor * b->factor};
    case BinaryOp::Div:
      if (!is_int(b->numerator) || b->numerator->ivalue <= 0) return std::nullopt;
      if (__builtin_mul_overflow(a->denominator, b->numerator->ivalue, &denominator) || denominator > (1 << 30))
        return std::nullopt;
      return Ratio{a->numerator * b->denominator, denominator, a->factor * b->denominator};
    case BinaryOp::Add:
    case BinaryOp::Sub: {
      const int64_t common = std::max(a->denominator, b->denominator);  // both are powers of two
      for (Ratio* r : {&*a, &*b}) {
        const int64_t times = common / r->denominator;
        r->numerator = r->numerator * times, r->factor *= times;
      }
      return Ratio{e->binary == BinaryOp::Add ? a->numerator + b->numerator : a->numerator - b->numerator, common,
                   a->factor + b->factor};
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

// Null if it is left to the run.
Expr binary_number(BinaryOp op, const scalar::Value& a, const scalar::Value& b) {
  if (!a.dtype.is_float()) {
    if (op == BinaryOp::Div) op = BinaryOp::TruncDiv;
    const bool divides = op == BinaryOp::TruncDiv || op == BinaryOp::FloorMod || op == BinaryOp::TruncMod;
    if ((divides && b.i == 0) || (op == BinaryOp::Pow && b.i < 0)) return {};
  }
  return element_of(scalar::apply(op, a, b));
}

Expr binary_element(BinaryOp op, const Expr& a, const Expr& b, DType dtype) {
  if (is_number(a) && is_number(b)) return binary_number(op, value_of(a, dtype), value_of(b, dtype));
  if (!holds_sizes(dtype)) return {};
  constexpr int64_t most = scalar::max_size_parts / 2;
  if (scalar::count_parts(a, most) >= most || scalar::count_parts(b, most) >= most) return {};  // computed at run time
  if (dtype.is_float())
    return op == BinaryOp::Add || op == BinaryOp::Sub || op == BinaryOp::Mul || op == BinaryOp::Div
               ? scalar::binary(op, a, b)
               : Expr();
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
  if (!scalar::is_comparison(op)) return scalar::simplify(value);
  std::optional<bool> proven = is_of_sizes(value, dtype) ? scalar::prove(value) : std::nullopt;
  return proven ? scalar::imm(*proven) : Expr();
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

// An element that is an expression over sizes, in another type; null if it is not known.
static Expr cast_size(const Expr& e, DType from, DType to) {
  if (to.is_bool()) {
    std::optional<bool> zero = from.is_float() ? std::nullopt : scalar::prove_equal(e, scalar::imm(0));
    return zero ? scalar::imm(!*zero) : Expr();
  }
  if (!from.is_float()) return to.is_float() ? scalar::cast(DType::float64(), e) : e;
  if (to.is_float()) return e;
  const Expr whole = rounded(e, false);  // truncation is floor for non-negative values
  return whole && not_negative(whole) ? whole : Expr();
}

KnownRef cast(const Known& known, DType dtype) {
  if (dtype.is_storage()) return nullptr;
  Exprs values;
  for (const Expr& e : known.values) {
    values.push_back(is_number(e) ? element_of(scalar::convert(dtype, value_of(e, known.dtype)))
                                  : cast_size(e, known.dtype, dtype));
    if (!values.back()) return nullptr;
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
  if (a.dtype != b.dtype || (a.dtype.is_bool() && !scalar::is_comparison(op))) return nullptr;
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

static Expr unary_size(UnaryOp op, const Expr& e, DType dtype) {
  if (!dtype.is_float()) return op == UnaryOp::Neg ? scalar::simplify(scalar::imm(0) - e) : Expr();
  if (op != UnaryOp::Floor && op != UnaryOp::Ceil) return {};
  const Expr whole = rounded(e, op == UnaryOp::Ceil);
  return whole ? scalar::cast(DType::float64(), whole) : Expr();
}

KnownRef unary(UnaryOp op, const Known& a) {
  if (op == UnaryOp::Sqrt && !a.dtype.is_float()) return nullptr;
  Exprs values;
  for (const Expr& e : a.values) {
    values.push_back(is_number(e) ? element_of(scalar::apply(op, value_of(e, a.dtype))) : unary_size(op, e, a.dtype));
    if (!values.back()) return nullptr;
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
  for (const Expr& e : known.values)
    if (!(value = binary_element(BinaryOp::Mul, value, e, known.dtype))) return nullptr;
  return make({}, known.dtype, {value});
}

}  // namespace relay::frontend
