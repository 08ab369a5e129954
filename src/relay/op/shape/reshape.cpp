// reshape: out has the elements of data in the same row-major order under another shape. In newshape, from left to
// right:
//
//    n   an extent (or a symbolic one)              0   the extent of data at this place (unless allowzero)
//   -1   whatever is left over, once                -2   all remaining axes of data
//   -3   the product of the next two axes of data   -4   the next axis of data, split into the next two values
//
// Example: data (2, 3, 4), newshape [-4, 1, 2, -2] gives (1, 2, 3, 4).
#include "relay/op/shape/reshape.h"

#include <algorithm>

#include "relay/op/gradient.h"

namespace relay::op::shape {

Exprs reshaped_indices(const Exprs& from, const Exprs& to, const Exprs& i) {
  std::vector<size_t> a, b;  // the axes whose extent is not 1
  for (size_t d = 0; d < from.size(); ++d)
    if (!scalar::is_int(from[d], 1)) a.push_back(d);
  for (size_t d = 0; d < to.size(); ++d)
    if (!scalar::is_int(to[d], 1)) b.push_back(d);
  auto product_of = [](const Exprs& shape, const std::vector<size_t>& axes, size_t begin, size_t end) {
    Expr p = dim(1);
    for (size_t k = begin; k < end; ++k) p = p * shape[axes[k]];
    return p;
  };
  Exprs out(from.size(), dim(0));
  size_t p = 0, q = 0;
  while (p < a.size() && q < b.size()) {
    // The shortest runs [p, p_end) and [q, q_end) with equal products; the whole remainder if none can be proved.
    size_t p_end = a.size(), q_end = b.size();
    bool found = false;
    for (size_t length = 2; !found && length <= (a.size() - p) + (b.size() - q); ++length)
      for (size_t m = 1; !found && m < length; ++m) {
        size_t n = length - m;
        if (m > a.size() - p || n > b.size() - q) continue;
        if (scalar::prove_equal(product_of(from, a, p, p + m), product_of(to, b, q, q + n)) != true) continue;
        p_end = p + m, q_end = q + n, found = true;
      }
    Expr flat = dim(0);
    for (size_t k = q; k < q_end; ++k) flat = flat * to[b[k]] + i[b[k]];
    for (size_t k = p_end; k-- > p;) {
      out[a[k]] = k == p ? flat : floormod(flat, from[a[k]]);
      if (k > p) flat = floordiv(flat, from[a[k]]);
    }
    p = p_end, q = q_end;
  }
  return out;
}

te::Tensor reshaped(const char* name, const te::Tensor& data, const Exprs& to) {
  return te::compute(name, to, [&](const Exprs& i) { return (*data)(reshaped_indices(data->shape, to, i)); });
}

}  // namespace relay::op::shape

namespace relay::ops {
namespace reshape_cpp {
namespace {

struct ReshapeAttrs {
  Dims newshape;
  bool allowzero = false;
  static constexpr auto fields = std::tuple{
      required_field("newshape", &ReshapeAttrs::newshape, "The new shape; 0 and -1 to -4 have the meanings above."),
      field("allowzero", &ReshapeAttrs::allowzero, "True if 0 means an extent of zero.")};
};

// The factors of the product of all dimensions: n * 2 and m are n, 2 and m.
Dims factors(Dims dims) {
  for (size_t i = 0; i < dims.size(); ++i)
    while (dims[i]->kind == scalar::Kind::Binary && dims[i]->binary == BinaryOp::Mul) {
      const Expr product = dims[i];
      dims[i] = product->args[0];
      dims.push_back(product->args[1]);
    }
  return dims;
}

// a / b for products, after cancelling common factors; nullopt if no quotient is known to be exact.
std::optional<Dim> quotient(const Dims& a, const Dims& b) {
  int64_t constant_a = 1, constant_b = 1;
  Dims rest_a, rest_b;
  bool overflow = false;
  for (const Dim& d : factors(a))
    if (scalar::is_int(d))
      overflow |= __builtin_mul_overflow(constant_a, d->ivalue, &constant_a);
    else
      rest_a.push_back(d);
  for (const Dim& d : factors(b)) {
    if (scalar::is_int(d)) {
      overflow |= __builtin_mul_overflow(constant_b, d->ivalue, &constant_b);
      continue;
    }
    Dims::iterator same =
        std::find_if(rest_a.begin(), rest_a.end(), [&](const Dim& x) { return scalar::prove_equal(x, d) == true; });
    if (same != rest_a.end())
      rest_a.erase(same);
    else
      rest_b.push_back(d);
  }
  if (constant_b == 0 || overflow) return {};
  if (rest_b.empty() && constant_a % constant_b == 0)
    return scalar::simplify(product(rest_a) * (constant_a / constant_b));
  Dim numerator = scalar::simplify(product(rest_a) * constant_a),
      denominator = scalar::simplify(product(rest_b) * constant_b);
  Dim q = scalar::simplify(floordiv(numerator, denominator));
  if (scalar::is_any(q)) return q;
  if (!divides(denominator, numerator)) return {};
  return q;
}

bool any_unknown(const Dims& shape) {
  return std::any_of(shape.begin(), shape.end(), [](const Dim& d) { return scalar::is_any(d); });
}

Result<Type> infer(const ReshapeAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  const Dims& from = data->shape;
  Dims out;
  size_t used = 0;                  // axes of data that newshape has consumed
  Dims source = from, others;       // the axes of data and of the result, except those kept by 0 and -2, and -1
  std::optional<size_t> left_over;  // the position of -1
  // (C1) The special values find the axes of data that they need, and -1 occurs at most once.
  auto missing = [&](int64_t value) {
    return constraint("C1", "{} in newshape needs more axes than data {} has", value, text(from));
  };
  auto wildcard = [&]() -> Status {
    if (left_over) return constraint("C1", "newshape has -1 twice");
    left_over = out.size();
    out.push_back(dim(-1));
    return ok();
  };
  auto keep = [&] { out.push_back(from[used]), source[used++] = dim(1); };
  auto made = [&](const Dim& d) { out.push_back(d), others.push_back(d); };
  for (size_t k = 0; k < a.newshape.size(); ++k) {
    const Dim& value = a.newshape[k];
    int64_t v = scalar::is_int(value) ? value->ivalue : 1;
    if (v > 0 || (v == 0 && a.allowzero)) {
      made(value);
      ++used;
    } else if (v == 0) {
      if (used >= from.size()) return missing(v);
      keep();
    } else if (v == -1) {
      RELAY_RETURN_IF_ERROR(wildcard());
      ++used;
    } else if (v == -2) {
      while (used < from.size()) keep();
    } else if (v == -3) {
      if (used + 2 > from.size()) return missing(v);
      made(scalar::simplify(from[used] * from[used + 1]));
      used += 2;
    } else if (v == -4) {
      if (used >= from.size() || k + 2 >= a.newshape.size()) return missing(v);
      Dim first = a.newshape[k + 1], second = a.newshape[k + 2];
      bool free_first = scalar::is_int(first, -1), free_second = scalar::is_int(second, -1);
      if (free_first && free_second) return constraint("C1", "-4 in newshape is followed by -1 twice");
      // (C2) The two values multiply to the axis that they split.
      std::optional<Dim> other = free_first    ? quotient({from[used]}, {second})
                                 : free_second ? quotient({from[used]}, {first})
                                               : std::optional(dim(0));
      if (free_first && other) first = *other;
      if (free_second && other) second = *other;
      if (!other || !agree(first * second, from[used]))
        return constraint("C2", "an axis of extent {} cannot be split into {} and {}", scalar::str(from[used]),
                          scalar::str(a.newshape[k + 1]), scalar::str(a.newshape[k + 2]));
      made(first), made(second);
      ++used, k += 2;
    } else {
      return constraint("C1", "newshape has {}, which is neither an extent nor one of 0, -1, -2, -3, -4", v);
    }
  }
  // (C3) The number of elements is unchanged.
  if (left_over) {
    std::optional<Dim> rest =
        any_unknown(others) || any_unknown(source) ? std::optional(scalar::any_dim()) : quotient(source, others);
    if (!rest)
      return constraint("C3", "data {} cannot be given the shape {}: -1 would not be a whole number", text(from),
                        text(a.newshape));
    out[*left_over] = *rest;
  } else if (!any_unknown(out) && !any_unknown(from) && !agree(product(from), product(out))) {
    return constraint("C3", "data {} has {} elements, but the shape {} has {}", text(from), scalar::str(product(from)),
                      text(out), scalar::str(product(out)));
  }
  return ir::tensor_type(simplified(std::move(out)), data->dtype);
}

// The same from right to left: reverses both shapes and the result.
Result<Type> infer_reverse(const ReshapeAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  ReshapeAttrs reversed = a;
  Dims from = data->shape;
  std::reverse(reversed.newshape.begin(), reversed.newshape.end());
  std::reverse(from.begin(), from.end());
  RELAY_ASSIGN(Type type, infer(reversed, {ir::tensor_type(std::move(from), data->dtype)}));
  Dims out = shape_of(type);
  std::reverse(out.begin(), out.end());
  return ir::tensor_type(std::move(out), data->dtype);
}

te::Tensors compute(const ReshapeAttrs&, const te::Tensors& in, const Type& out) {
  return {shape::reshaped("reshape", in[0], shape_of(out))};
}

Result<Type> infer_flatten(const NoAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) There is a first axis to keep.
  if (data->shape.empty()) return constraint("C1", "nn.batch_flatten needs at least one axis, but data is a scalar");
  return ir::tensor_type({data->shape[0], product(Dims(data->shape.begin() + 1, data->shape.end()))}, data->dtype);
}

te::Tensors compute_flatten(const NoAttrs&, const te::Tensors& in, const Type& out) {
  return {shape::reshaped("batch_flatten", in[0], shape_of(out))};
}

struct ReshapeLikeAttrs {
  int64_t lhs_begin = 0;
  OptInt lhs_end;
  int64_t rhs_begin = 0;
  OptInt rhs_end;
  static constexpr auto fields = std::tuple{
      field("lhs_begin", &ReshapeLikeAttrs::lhs_begin, "The first axis of data that is replaced."),
      field("lhs_end", &ReshapeLikeAttrs::lhs_end, "The axis of data after the last that is replaced; None: all axes."),
      field("rhs_begin", &ReshapeLikeAttrs::rhs_begin, "The first axis of shape_like that replaces it."),
      field("rhs_end", &ReshapeLikeAttrs::rhs_end, "The axis of shape_like after the last of these; None: all axes.")};
};

// (C1) Axes [begin, end) of a tensor; negative ones count from the end.
Result<std::pair<size_t, size_t>> axes_between(const char* name, int64_t begin, const OptInt& end, int64_t rank) {
  const int64_t first = positive_axis(begin, rank), last = positive_axis(end.value_or(rank), rank);
  if (first < 0 || first > last || last > rank)
    return constraint("C1", "axes {} to {} of {} are not in [0, {}]", begin, last, name, rank);
  return std::pair(static_cast<size_t>(first), static_cast<size_t>(last));
}

Result<Type> infer_like(const ReshapeLikeAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* like, tensor_input(in, 1, "shape_like"));
  RELAY_ASSIGN(auto own, axes_between("data", a.lhs_begin, a.lhs_end, rank(data)));
  RELAY_ASSIGN(auto other, axes_between("shape_like", a.rhs_begin, a.rhs_end, rank(like)));
  auto part = [](const Dims& shape, std::pair<size_t, size_t> axes) {
    return Dims(shape.begin() + static_cast<std::ptrdiff_t>(axes.first),
                shape.begin() + static_cast<std::ptrdiff_t>(axes.second));
  };
  // (C2) The number of elements is unchanged.
  const Dims from = part(data->shape, own), to = part(like->shape, other);
  if (!agree(product(from), product(to)))
    return constraint("C2", "{} of data {} and {} of shape_like {} have different numbers of elements", text(from),
                      text(data->shape), text(to), text(like->shape));
  Dims out = part(data->shape, {0, own.first});
  out.insert(out.end(), to.begin(), to.end());
  const Dims behind = part(data->shape, {own.second, data->shape.size()});
  out.insert(out.end(), behind.begin(), behind.end());
  return ir::tensor_type(std::move(out), data->dtype);
}

te::Tensors compute_like(const ReshapeLikeAttrs&, const te::Tensors& in, const Type& out) {
  return {shape::reshaped("reshape_like", in[0], shape_of(out))};
}

// The same elements under data's shape.
template <class A>
ir::Exprs gradient(const A&, const Adjoint& of) {
  ir::Exprs gradients(of.inputs.size());
  gradients[0] = grad::shaped_as(of.gradient, of.inputs[0]);
  return gradients;
}

}  // namespace
}  // namespace reshape_cpp

OpDef reshape() {
  using namespace reshape_cpp;
  return define<ReshapeAttrs>(
      {.name = "reshape",
       .doc = "Changes the shape of data; the elements stay in row-major order.",
       .inputs = {{"data", "any shape"}},
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute = compute,
       .gradient = gradient<ReshapeAttrs>,
       .accepts_storage_types = true,
       .oracle = "data.reshape(output_shape)",
       .examples = {{.inputs = {"(2, 3, 4)"}, .attrs = "newshape=[6, 4]", .symbolic = {}},
                    {.inputs = {"(2, 3, 4)"}, .attrs = "newshape=[0, -1]", .symbolic = {"(n, 3, m)"}},
                    {.inputs = {"(2, 3, 4)"}, .attrs = "newshape=[-1]", .symbolic = {"(n, m, 4)"}},
                    {.inputs = {"(6, 4)"}, .attrs = "newshape=[2, 3, 2, 2]"},
                    {.inputs = {"(4, 6)"}, .attrs = "newshape=[3, 8]"},
                    {.inputs = {"(2, 3, 4)"}, .attrs = "newshape=[-3, -2]", .symbolic = {"(n, m, 4)"}},
                    {.inputs = {"(2, 3, 4, 5)"}, .attrs = "newshape=[-4, 1, 2, -2]"},
                    {.inputs = {"(2, 12)"}, .attrs = "newshape=[0, -4, -1, 4]", .symbolic = {"(n, 12)"}},
                    {.inputs = {"(3, 1, 4)"}, .attrs = "newshape=[1, 3, 4, 1]", .symbolic = {}},
                    {.inputs = {"(2, 8, 12)"}, .attrs = "newshape=[0, 0, 3, 4]", .symbolic = {"(n, s, 12)"}},
                    {.inputs = {"(1,)"}, .attrs = "newshape=[]"}},
       .rejects = {{{"(2, 3)"}, "newshape=[-1, -1]", "C1"},
                   {{"(2, 3)"}, "newshape=[6, 1, 0]", "C1"},
                   {{"(2, 3)"}, "newshape=[-5]", "C1"},
                   {{"(2, 6)"}, "newshape=[0, -4, 4, -1]", "C2"},
                   {{"(2, 3)"}, "newshape=[7]", "C3"},
                   {{"(2, 3)"}, "newshape=[4, -1]", "C3"}}},
      "ReshapeAttrs");
}

OpDef contrib_reverse_reshape() {
  using namespace reshape_cpp;
  return define<ReshapeAttrs>(
      {.name = "contrib_reverse_reshape",
       .doc = "reshape with newshape read from right to left.",
       .inputs = {{"data", "any shape"}},
       .fusion = Fusion::Injective,
       .infer = infer_reverse,
       .compute = compute,
       .gradient = gradient<ReshapeAttrs>,
       .accepts_storage_types = true,
       .oracle = "data.reshape(output_shape)",
       .examples = {{.inputs = {"(10, 5, 4)"}, .attrs = "newshape=[-1, 0]", .symbolic = {"(n, m, 4)"}},
                    {.inputs = {"(2, 3, 4)"}, .attrs = "newshape=[-2, -3]"}},
       .rejects = {{{"(2, 3)"}, "newshape=[-1, -1]", "C1"},
                   {{"(2, 3)"}, "newshape=[0, 0, 0]", "C1"},
                   {{"(2, 6)"}, "newshape=[4, -1, -4]", "C2"},
                   {{"(2, 3)"}, "newshape=[7]", "C3"}}},
      "ReshapeAttrs");
}

OpDef reshape_like() {
  using namespace reshape_cpp;
  return define<ReshapeLikeAttrs>(
      {.name = "reshape_like",
       .doc = "Changes the shape of data, or of some of its axes, to that of another tensor.",
       .inputs = {{"data", "any shape"}, {"shape_like", "a tensor with the same number of elements"}},
       .fusion = Fusion::Injective,
       .infer = infer_like,
       .compute = compute_like,
       .gradient = gradient<ReshapeLikeAttrs>,
       .accepts_storage_types = true,
       .oracle = "data.reshape(output_shape)",
       .examples = {{.inputs = {"(2, 6)", "(3, 4)"}},
                    {.inputs = {"(2, 3, 4)", "(2, 12)"}, .symbolic = {"(n, 3, 4)", "(n, 12)"}},
                    {.inputs = {"(12, 5)", "(7, 3, 4)"},
                     .attrs = "lhs_end=1, rhs_begin=1",
                     .symbolic = {"(12, n)", "(m, 3, 4)"}},
                    {.inputs = {"(2, 3, 4, 5)", "(6, 2, 9)"},
                     .attrs = "lhs_begin=0, lhs_end=-2, rhs_begin=0, rhs_end=1"}},
       .rejects = {{{"(2, 3)", "(2, 3)"}, "lhs_begin=2, lhs_end=1", "C1"},
                   {{"(2, 3)", "(2, 3)"}, "rhs_end=3", "C1"},
                   {{"(2, 3)", "(7,)"}, "", "C2"}}},
      "ReshapeLikeAttrs");
}

OpDef nn_batch_flatten() {
  using namespace reshape_cpp;
  return define<NoAttrs>({.name = "nn.batch_flatten",
                          .doc = "Combines all axes but the first into one.",
                          .inputs = {{"data", "(N, ..)"}},
                          .fusion = Fusion::Injective,
                          .infer = infer_flatten,
                          .compute = compute_flatten,
                          .gradient = gradient<NoAttrs>,
                          .accepts_storage_types = true,
                          .oracle = "data.reshape(data.shape[0], -1)",
                          .examples = {{.inputs = {"(2, 3, 4, 5)"}, .symbolic = {"(n, 3, h, w)"}},
                                       {.inputs = {"(2, 3, 1, 1)"}, .symbolic = {"(n, c, 1, 1)"}},
                                       {.inputs = {"(4,)"}}},
                          .rejects = {{{"()"}, "", "C1"}}});
}

}  // namespace relay::ops
