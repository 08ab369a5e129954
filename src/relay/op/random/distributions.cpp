// Draws from the generator (threefry.h); each result is (the state after the draw, the numbers).
//
// random.uniform:     low + u * (high - low), where u is the upper 23 of 32 random bits (of float64 52 of 64)
// random.normal:      mean + scale * sqrt(-2 * log(1 - u)) * sin(2 * pi * v), with u the first half of the drawn
//                     numbers, v the second
// The variants with _like take the shape of an input.
// random.multinomial: the index k of the first of the running sums of probabilities (scaled to sum to one) above u
#include <cmath>
#include <numbers>

#include "relay/op/gradient.h"
#include "relay/op/loops.h"
#include "relay/op/random/threefry.h"
#include "relay/op/sort/radix.h"

namespace relay::ops {
namespace distributions_cpp {
namespace {

struct DistributionAttrs {
  Ints out_shape;
  OptDType out_dtype;
  static constexpr auto fields =
      std::tuple{required_field("out_shape", &DistributionAttrs::out_shape, "The shape of the result."),
                 field("out_dtype", &DistributionAttrs::out_dtype, "float32 or float64; None: float32.")};
};

struct LikeAttrs {
  OptDType out_dtype;
  static constexpr auto fields =
      std::tuple{field("out_dtype", &LikeAttrs::out_dtype, "float32 or float64; None: float32.")};
};

struct MultinomialAttrs {
  int64_t num_samples = 1;
  static constexpr auto fields =
      std::tuple{field("num_samples", &MultinomialAttrs::num_samples, "Number of draws per row.")};
};

// Number i of the drawn ones, in [0, 1).
Expr unit(const te::Tensor& bits, const Expr& i, DType dtype) {
  const int64_t fraction = dtype == DType::float64() ? 52 : 23;
  Expr all = (*bits)({i});
  Expr kept = scalar::binary(BinaryOp::Shr, all, imm(dtype == DType::float64() ? 12 : 9, DType::uint64()));
  // For float32 the lower 32 of the 64 bits are used.
  kept = scalar::binary(BinaryOp::BitAnd, kept, imm((int64_t{1} << fraction) - 1, DType::uint64()));
  return cast(dtype, cast(DType::int64(), kept)) * number(std::ldexp(1.0, static_cast<int>(-fraction)), dtype);
}

Expr flat(const Exprs& i, const Dims& shape) {
  Expr place = dim(0);
  for (size_t d = 0; d < i.size(); ++d) place = place * shape[d] + i[d];
  return place;
}

Result<Type> infer(const Dims& shape, OptDType out_dtype, const Types& in, const char* first, const char* second) {
  // (C1) The key is ten words.
  RELAY_RETURN_IF_ERROR(random::expect_key(in));
  // (C2) Both parameters are one float.
  for (size_t k : {1, 2}) {
    const char* name = k == 1 ? first : second;
    RELAY_ASSIGN(const TensorType* t, tensor_input(in, k, name));
    RELAY_RETURN_IF_ERROR(expect_rank("C2", t, 0, name));
    if (!t->dtype.is_float()) return constraint("C2", "{} must be a float, but is {}", name, t->dtype.str());
  }
  // (C3) The result is float32 or float64, and its extents are not negative.
  const DType dtype = out_dtype.value_or(DType::float32());
  if (dtype != DType::float32() && dtype != DType::float64())
    return constraint("C3", "out_dtype must be float32 or float64, but is {}", dtype.str());
  for (const Dim& extent : shape)
    if (scalar::is_int(extent) && extent->ivalue < 0)
      return constraint("C3", "out_shape {} has a negative extent", text(shape));
  return ir::tuple_type({random::key_type(), ir::tensor_type(shape, dtype)});
}

Result<Type> infer_like(const LikeAttrs& a, const Types& in, const char* first, const char* second) {
  RELAY_ASSIGN(const TensorType* like, tensor_input(in, 3, "like"));
  return infer(like->shape, a.out_dtype, in, first, second);
}

te::Tensors compute_uniform(const te::Tensors& in, const Type& out) {
  const Type& type = as<TupleType>(out)->fields[1];
  const DType dtype = dtype_of(type);
  const random::Drawn drawn = random::draw(in[0], product(shape_of(type)));
  return {drawn.key, te::compute("uniform", shape_of(type), [&](const Exprs& i) {
            Expr low = cast(dtype, (*in[1])({})), high = cast(dtype, (*in[2])({}));
            return unit(drawn.bits, flat(i, shape_of(type)), dtype) * (high - low) + low;
          })};
}

te::Tensors compute_normal(const te::Tensors& in, const Type& out) {
  const Type& type = as<TupleType>(out)->fields[1];
  const DType dtype = dtype_of(type);
  const Expr half = product(shape_of(type));
  const random::Drawn drawn = random::draw(in[0], scalar::simplify(half * 2));
  return {drawn.key, te::compute("normal", shape_of(type), [&](const Exprs& i) {
            const Expr place = flat(i, shape_of(type));
            Expr u = unit(drawn.bits, place, dtype), v = unit(drawn.bits, place + half, dtype);
            Expr reach = unary(UnaryOp::Sqrt, number(-2, dtype) * unary(UnaryOp::Log, number(1, dtype) - u));
            Expr angle = unary(UnaryOp::Sin, number(2 * std::numbers::pi, dtype) * v);
            return reach * angle * cast(dtype, (*in[2])({})) + cast(dtype, (*in[1])({}));
          })};
}

// For numbers low + u * (high - low), or mean + scale * z: redraws u or z from the same state, with `attrs`, and with
// `like` if that determines the shape.
ir::Exprs gradient(const Adjoint& of, const char* name, bool uniform, DType dtype, const AttrValues& attrs) {
  const ir::Expr dy = ir::get(of.gradient, 1);
  ir::Exprs again{of.inputs[0], ir::constant(0, dtype), ir::constant(1, dtype)};
  again.insert(again.end(), of.inputs.begin() + 3, of.inputs.end());
  const ir::Expr unit = ir::get(grad::call(name, std::move(again), attrs), 1);
  auto summed = [&](const ir::Expr& terms, size_t input) {
    const ir::Expr sum = grad::call("sum", {terms});
    const DType own = grad::tensor(of.inputs[input]).dtype;
    return own == dtype ? sum : grad::call("cast", {sum}, {{"dtype", own}});
  };
  ir::Exprs out(of.inputs.size());
  out[1] = summed(uniform ? grad::times(dy, grad::minus(ir::constant(1, dtype), unit)) : dy, 1);
  out[2] = summed(grad::times(dy, unit), 2);
  return out;
}

Result<Type> infer_multinomial(const MultinomialAttrs& a, const Types& in) {
  // (C1) The key is ten words.
  RELAY_RETURN_IF_ERROR(random::expect_key(in));
  RELAY_ASSIGN(const TensorType* probs, tensor_input(in, 1, "probs"));
  // (C2) Probabilities are floats with an axis, of known sizes; at least one sample is drawn.
  if (probs->shape.empty() || !probs->dtype.is_float())
    return constraint("C2", "probs must be floats with at least one axis, but is {}", ir::str(in[1]));
  if (a.num_samples < 1) return constraint("C2", "num_samples must be positive, but is {}", a.num_samples);
  Dims shape = probs->shape;
  shape.back() = dim(a.num_samples);
  return ir::tuple_type({random::key_type(), ir::tensor_type(std::move(shape), DType::int32())});
}

te::Tensors compute_multinomial(const MultinomialAttrs&, const te::Tensors& in, const Type& out) {
  const Type& type = as<TupleType>(out)->fields[1];
  const te::Tensor& probs = in[1];
  const DType dtype = DType::float32();
  const Expr& count = probs->shape.back();
  const random::Drawn drawn = random::draw(in[0], product(shape_of(type)));
  auto with = [](Exprs i, const Expr& last) { return i.back() = last, i; };
  auto weight = [&](const Exprs& i) { return max(cast(dtype, (*probs)(i)), number(0, dtype)); };
  Exprs rows(probs->shape.begin(), probs->shape.end() - 1);
  te::Tensor total = te::reduce("total", rows, {count}, Combiner::Sum, [&](Exprs i, const Exprs& r) {
    i.push_back(r[0]);
    return weight(i);
  });
  const size_t last = probs->shape.size() - 1;
  const te::Tensor running = te::program("running", probs->shape, dtype, axes_but(last + 1, {last}),
                                         [&](const Exprs& row, const BufferRef& r) {
                                           auto at = [&](const Expr& k) {
                                             Exprs i = row;
                                             i.push_back(k);
                                             return i;
                                           };
                                           return with_cell("sum", number(0, dtype), [&](const Cell& sum) {
                                             return each("k", count, [&](const Expr& k) {
                                               const Expr more = sum.get() + divide(weight(at(k)), (*total)(row));
                                               return loop::block({sum.set(more), loop::store(r, at(k), sum.get())});
                                             });
                                           });
                                         });
  // The index of the first running sum above a number is in [low, low + length].
  auto search = [&](const Exprs& i, const Expr& bits, const Expr& number, const BufferRef& result) {
    return with_cell("low", dim(0), [&](const Cell& low) {
      return with_cell("length", count, [&](const Cell& length) {
        const Stmt halve = each("step", bits, [&](const Expr&) {
          return let("half", floordiv(length.get(), 2), [&](const Expr& half) {
            const Expr behind = le((*running)(with(i, low.get() + half)), number);
            const Stmt move = let("behind", behind, [&](const Expr& b) {
              return loop::block({low.set(select(b, low.get() + half + 1, low.get())),
                                  length.set(select(b, length.get() - half - 1, half))});
            });
            return loop::if_(lt(dim(0), length.get()), move);
          });
        });
        return loop::block({halve, loop::store(result, i, low.get())});
      });
    });
  };
  const te::Tensor found = te::program("found", shape_of(type), DType::int64(), axes_but(last + 1, {}),
                                       [&](const Exprs& i, const BufferRef& r) {
                                         return with_bits_of(count, [&](const Expr& bits) {
                                           return let("number", unit(drawn.bits, flat(i, shape_of(type)), dtype),
                                                      [&](const Expr& number) { return search(i, bits, number, r); });
                                         });
                                       });
  return {drawn.key, elementwise("multinomial", found, [&](const Exprs& i) {
            return cast(DType::int32(), select(lt((*found)(i), count), (*found)(i), dim(0)));
          })};
}

// A distribution with two parameters; `like`: its name for the variant that takes the shape of an input.
struct Distribution {
  const char *name, *like, *doc;
  std::pair<const char*, const char*> first, second;  // the parameters, and their descriptions
  te::Tensors (*compute)(const te::Tensors& in, const Type& out);
  const char *oracle, *oracle_like;
  bool is_uniform;
};

constexpr Distribution uniform{"random.uniform",
                               "random.uniform_like",
                               "Draws numbers from a uniform distribution",
                               {"low", "(), the least"},
                               {"high", "(), the exclusive upper bound"},
                               compute_uniform,
                               "threefry.uniform(key, low, high, out_shape, out_dtype or 'float32')",
                               "threefry.uniform(key, low, high, like.shape, out_dtype or 'float32')",
                               true};
constexpr Distribution normal{"random.normal",
                              "random.normal_like",
                              "Draws numbers from a normal distribution",
                              {"mean", "(), the mean"},
                              {"scale", "(), the standard deviation"},
                              compute_normal,
                              "threefry.normal(key, mean, scale, out_shape, out_dtype or 'float32')",
                              "threefry.normal(key, mean, scale, like.shape, out_dtype or 'float32')",
                              false};

std::vector<std::pair<double, double>> drawn_from() { return {{0, 1e15}, {-2, -1}, {1, 2}}; }

OpDef shaped(const Distribution& d, const char* attrs_name) {
  return define<DistributionAttrs>(
      {.name = d.name,
       .doc = std::string(d.doc) + ".",
       .inputs = {{"key", "(10,) uint64: the state of the generator"},
                  {d.first.first, d.first.second},
                  {d.second.first, d.second.second}},
       .fusion = Fusion::Opaque,
       .infer = [&d](const DistributionAttrs& a, const Types& in) -> Result<Type> {
         Dims shape;
         for (int64_t extent : a.out_shape) shape.push_back(dim(extent));
         return infer(shape, a.out_dtype, in, d.first.first, d.second.first);
       },
       .compute = [&d](const DistributionAttrs&, const te::Tensors& in, const Type& out) { return d.compute(in, out); },
       .gradient =
           [&d](const DistributionAttrs& a, const Adjoint& of) {
             const DType dtype = a.out_dtype.value_or(DType::float32());
             return gradient(of, d.name, d.is_uniform, dtype, {{"out_shape", a.out_shape}, {"out_dtype", dtype}});
           },
       .oracle = d.oracle,
       .examples = {{.inputs = {"(10,) uint64", "()", "()"}, .attrs = "out_shape=[3, 8]", .ranges = drawn_from()},
                    {.inputs = {"(10,) uint64", "()", "()"},
                     .attrs = "out_shape=[5], out_dtype=\"float64\"",
                     .ranges = drawn_from()}},
       .rejects = {{{"(9,) uint64", "()", "()"}, "out_shape=[4]", "C1"},
                   {{"(10,) uint64", "(1,)", "()"}, "out_shape=[4]", "C2"},
                   {{"(10,) uint64", "()", "() int32"}, "out_shape=[4]", "C2"},
                   {{"(10,) uint64", "()", "()"}, "out_shape=[4], out_dtype=\"int32\"", "C3"},
                   {{"(10,) uint64", "()", "()"}, "out_shape=[-4]", "C3"}}},
      attrs_name);
}

std::vector<std::pair<double, double>> like_ranges() {
  std::vector<std::pair<double, double>> ranges = drawn_from();
  return ranges.push_back({0, 1}), ranges;
}

OpDef like(const Distribution& d, const char* attrs_name) {
  return define<LikeAttrs>(
      {.name = d.like,
       .doc = std::string(d.doc) + ", with the shape of an input.",
       .inputs = {{"key", "(10,) uint64: the state of the generator"},
                  {d.first.first, d.first.second},
                  {d.second.first, d.second.second},
                  {"like", "any tensor, with the shape of the result"}},
       .fusion = Fusion::Opaque,
       .infer = [&d](const LikeAttrs& a, const Types& in) { return infer_like(a, in, d.first.first, d.second.first); },
       .compute = [&d](const LikeAttrs&, const te::Tensors& in, const Type& out) { return d.compute(in, out); },
       .gradient =
           [&d](const LikeAttrs& a, const Adjoint& of) {
             const DType dtype = a.out_dtype.value_or(DType::float32());
             return gradient(of, d.like, d.is_uniform, dtype, {{"out_dtype", dtype}});
           },
       .is_extension = true,
       .oracle = d.oracle_like,
       .examples = {{.inputs = {"(10,) uint64", "()", "()", "(3, 8)"},
                     .symbolic = {"(10,) uint64", "()", "()", "(n, m)"},
                     .ranges = like_ranges()},
                    {.inputs = {"(10,) uint64", "()", "()", "(5,) int32"},
                     .attrs = "out_dtype=\"float64\"",
                     .ranges = like_ranges()}},
       .rejects = {{{"(9,) uint64", "()", "()", "(4,)"}, "", "C1"},
                   {{"(10,) uint64", "(1,)", "()", "(4,)"}, "", "C2"},
                   {{"(10,) uint64", "()", "()", "(4,)"}, "out_dtype=\"int32\"", "C3"}}},
      attrs_name);
}

}  // namespace
}  // namespace distributions_cpp

OpDef random_uniform() {
  using namespace distributions_cpp;
  return shaped(uniform, "UniformAttrs");
}
OpDef random_normal() {
  using namespace distributions_cpp;
  return shaped(normal, "NormalAttrs");
}
OpDef random_uniform_like() {
  using namespace distributions_cpp;
  return like(uniform, "UniformLikeAttrs");
}
OpDef random_normal_like() {
  using namespace distributions_cpp;
  return like(normal, "NormalLikeAttrs");
}

OpDef random_multinomial() {
  using namespace distributions_cpp;
  return define<MultinomialAttrs>(
      {.name = "random.multinomial",
       .doc = "Draws indices with given probabilities.",
       .inputs = {{"key", "(10,) uint64: the state of the generator"},
                  {"probs", "(.., indices); negative values count as 0"}},
       .fusion = Fusion::Opaque,
       .infer = infer_multinomial,
       .compute = compute_multinomial,
       .oracle = "threefry.multinomial(key, probs, num_samples)",
       .examples = {{.inputs = {"(10,) uint64", "(2, 5)"}, .attrs = "num_samples=8", .ranges = {{0, 1e15}, {-0.1, 1}}},
                    {.inputs = {"(10,) uint64", "(6,)"}, .ranges = {{0, 1e15}, {0, 1}}}},
       .rejects = {{{"(9,) uint64", "(2, 5)"}, "", "C1"},
                   {{"(10,) uint64", "()"}, "", "C2"},
                   {{"(10,) uint64", "(5,)"}, "num_samples=0", "C2"}}},
      "MultinomialAttrs");
}

}  // namespace relay::ops
