// random.threefry_generate: (the state after the draw, random words)
// random.threefry_split:    two states that draw different numbers
#include "relay/op/random/threefry.h"

namespace relay::op::random {

namespace {

const DType u64 = DType::uint64();

Expr plain(BinaryOp op, const Expr& a, const Expr& b) { return scalar::binary(op, a, b); }

Expr at(const te::Tensor& t, int64_t k) { return (*t)({dim(k)}); }

}  // namespace

Expr word(uint64_t value) { return imm(static_cast<int64_t>(value), u64); }

Type key_type() { return ir::tensor_type({dim(10)}, u64); }

Status expect_key(const Types& in) {
  RELAY_ASSIGN(const TensorType* key, tensor_input(in, 0, "key"));
  if (key->dtype == u64 && agree(key->shape, Dims{dim(10)})) return ok();
  return constraint("C1", "key must be uint64[10], but is {}", ir::str(in[0]));
}

te::Tensor threefry(const te::Tensor& key, const Expr& n,
                    const std::function<Expr(const Expr& block, const Expr& word)>& counter) {
  // The key with a fifth word that makes the xor of all words a constant.
  te::Tensor full = te::compute("full_key", {dim(5)}, [&](const Exprs& i) {
    Expr last = word(0x1BD11BDAA9FC1A22);
    for (int64_t k = 0; k < 4; ++k) last = plain(BinaryOp::BitXor, last, at(key, k));
    return select(lt(i[0], dim(4)), (*key)({min(i[0], dim(3))}), last);
  });
  te::Tensor state = te::compute("counter", {n, dim(4)}, [&](const Exprs& i) { return counter(i[0], i[1]); });
  const int64_t rotations[8][2] = {{14, 16}, {52, 57}, {23, 40}, {5, 37}, {25, 33}, {46, 12}, {58, 22}, {32, 32}};
  for (int64_t round = 0; round < 20; ++round) {
    const te::Tensor before = state;
    const int64_t turn = round / 4;
    state = te::compute("round", {n, dim(4)}, [&](const Exprs& i) {
      auto value = [&](int64_t k) {
        Expr x = (*before)({i[0], dim(k)});
        if (round % 4) return x;
        x = x + at(full, (turn + k) % 5);
        return k == 3 ? x + word(static_cast<uint64_t>(turn)) : x;
      };
      auto sum = [&](int64_t pair) { return value(2 * pair) + value(2 * pair + 1); };
      auto mixed = [&](int64_t pair) {
        const int64_t by = rotations[round % 8][pair];
        Expr x = value(2 * pair + 1);
        Expr rotated =
            plain(BinaryOp::BitOr, plain(BinaryOp::Shl, x, imm(by, u64)), plain(BinaryOp::Shr, x, imm(64 - by, u64)));
        return plain(BinaryOp::BitXor, sum(pair), rotated);
      };
      return one_of(i[1], {sum(0), mixed(1), sum(1), mixed(0)});
    });
  }
  return state;
}

// If the counter would overflow, the generator takes the next step of its path, or at the path's end a new key.
Drawn draw(const te::Tensor& key, const Expr& n) {
  const Expr drawn = cast(u64, n), none = word(0);
  Expr room = lt(at(key, 7), word(~uint64_t{0}) - drawn);
  Expr ended = logical_and(eq(at(key, 8), none), eq(at(key, 9), none));
  te::Tensor fresh = threefry(key, dim(1), [](const Expr&, const Expr&) { return word(~uint64_t{0}); });
  te::Tensor state = te::compute("state", {dim(10)}, [&](const Exprs& i) {
    auto stepped = [&](int64_t k) { return plain(BinaryOp::BitOr, at(key, k), at(key, k + 4)); };
    Expr high = at(key, 8), low = at(key, 9), top = word(uint64_t{1} << 63), one = word(1);
    Expr next_high = select(eq(high, one), none, plain(BinaryOp::Shr, high, one));
    Expr next_low = select(eq(high, one), top, select(eq(high, none), plain(BinaryOp::Shr, low, one), none));
    Expr same_key = (*key)({min(i[0], dim(3))}), new_key = (*fresh)({dim(0), min(i[0], dim(3))});
    Expr step =
        one_of(i[0], {same_key, same_key, same_key, same_key, stepped(4), stepped(5), none, none, next_high, next_low});
    Expr renewed = one_of(i[0], {new_key, new_key, new_key, new_key, none, none, none, none, top, none});
    return select(room, (*key)(i), select(ended, renewed, step));
  });
  // Blocks of four words; the remainder has a separate block, whose counter follows the words drawn before it.
  const Expr whole = floordiv(n, 4), blocks = scalar::simplify(floordiv(n + 3, 4));
  te::Tensor words = threefry(state, blocks, [&](const Expr& block, const Expr& k) {
    Expr start = (*state)({k + 4});
    Expr left_over = start + select(eq(k, dim(3)), cast(u64, whole * 4), none);
    return select(lt(block, whole), start + cast(u64, block), left_over);
  });
  Drawn out;
  out.bits = te::compute("bits", {n}, [&](const Exprs& i) { return (*words)({floordiv(i[0], 4), floormod(i[0], 4)}); });
  out.key = te::compute("key", {dim(10)}, [&](const Exprs& i) {
    Expr value = (*state)(i);
    return select(eq(i[0], dim(6)), none, select(eq(i[0], dim(7)), value + cast(u64, blocks * 4), value));
  });
  return out;
}

}  // namespace relay::op::random

namespace relay::ops {
namespace {

struct ThreefryGenerateAttrs {
  Ints out_shape;
  static constexpr auto fields =
      std::tuple{required_field("out_shape", &ThreefryGenerateAttrs::out_shape, "The shape of the result.")};
};

Result<Type> infer(const ThreefryGenerateAttrs& a, const Types& in) {
  // (C1) The key is ten words.
  RELAY_RETURN_IF_ERROR(random::expect_key(in));
  // (C2) Extents are not negative.
  Dims shape;
  for (int64_t extent : a.out_shape) {
    if (extent < 0) return constraint("C2", "out_shape {} has a negative extent", text(a.out_shape));
    shape.push_back(dim(extent));
  }
  return ir::tuple_type({random::key_type(), ir::tensor_type(std::move(shape), DType::uint64())});
}

te::Tensors compute(const ThreefryGenerateAttrs&, const te::Tensors& in, const Type& out) {
  const Dims& shape = shape_of(as<TupleType>(out)->fields[1]);
  const random::Drawn drawn = random::draw(in[0], product(shape));
  return {drawn.key, te::compute("generate", shape, [&](const Exprs& i) {
            Expr flat = dim(0);
            for (size_t d = 0; d < i.size(); ++d) flat = flat * shape[d] + i[d];
            return (*drawn.bits)({flat});
          })};
}

te::Tensors compute_split(const NoAttrs&, const te::Tensors& in, const Type&) {
  const te::Tensor& key = in[0];
  auto at = [&](int64_t k) { return (*key)({dim(k)}); };
  auto plain = [](BinaryOp op, const Expr& a, const Expr& b) { return scalar::binary(op, a, b); };
  const Expr none = random::word(0), one = random::word(1), top = random::word(uint64_t{1} << 63);
  te::Tensor fresh = random::threefry(key, dim(1), [&](const Expr&, const Expr& k) { return (*key)({k + 4}); });
  Expr ended = logical_and(eq(at(8), none), eq(at(9), none));
  auto side = [&](const char* name, bool right) {
    return te::compute(name, {dim(10)}, [&](const Exprs& i) {
      auto is = [&](int64_t k) { return eq(i[0], dim(k)); };
      // The path is extended by a bit, which is set on the right.
      Expr step = (*key)(i);
      if (right)
        for (int64_t k : {4, 5}) step = select(is(k), plain(BinaryOp::BitOr, at(k), at(k + 4)), step);
      Expr next_high = select(eq(at(8), one), none, plain(BinaryOp::Shr, at(8), one));
      Expr next_low = select(eq(at(8), one), top, select(eq(at(8), none), plain(BinaryOp::Shr, at(9), one), none));
      step = select(is(8), next_high, select(is(9), next_low, step));
      Expr renewed = select(lt(i[0], dim(4)), (*fresh)({dim(0), min(i[0], dim(3))}),
                            select(is(8), random::word(uint64_t{1} << 62), none));
      if (right) renewed = select(is(4), top, renewed);
      return select(ended, renewed, step);
    });
  };
  return {side("left", false), side("right", true)};
}

}  // namespace

OpDef random_threefry_generate() {
  return define<ThreefryGenerateAttrs>(
      {.name = "random.threefry_generate",
       .doc = "Draws random words. Returns the new state of the generator and the words.",
       .inputs = {{"key", "(10,) uint64: the state of the generator"}},
       .fusion = Fusion::Opaque,
       .infer = infer,
       .compute = compute,
       .oracle = "threefry.generate(key, out_shape)",
       .examples = {{.inputs = {"(10,) uint64"}, .attrs = "out_shape=[3, 4]", .low = 0, .high = 1e15, .ulps = 0},
                    {.inputs = {"(10,) uint64"}, .attrs = "out_shape=[7]", .low = 0, .high = 1e15, .ulps = 0}},
       .rejects = {{{"(9,) uint64"}, "out_shape=[4]", "C1"},
                   {{"(10,) int64"}, "out_shape=[4]", "C1"},
                   {{"(10,) uint64"}, "out_shape=[-4]", "C2"}}},
      "ThreefryGenerateAttrs");
}

OpDef random_threefry_split() {
  return define<NoAttrs>({.name = "random.threefry_split",
                          .doc = "Splits a generator into two whose numbers are independent.",
                          .inputs = {{"key", "(10,) uint64: the state of the generator"}},
                          .fusion = Fusion::Opaque,
                          .infer = [](const NoAttrs&, const Types& in) -> Result<Type> {
                            // (C1) The key is ten words.
                            RELAY_RETURN_IF_ERROR(random::expect_key(in));
                            return ir::tuple_type({random::key_type(), random::key_type()});
                          },
                          .compute = compute_split,
                          .oracle = "threefry.split(key)",
                          .examples = {{.inputs = {"(10,) uint64"}, .low = 0, .high = 1e15, .ulps = 0},
                                       {.inputs = {"(10,) uint64"}, .low = 0, .high = 0, .ulps = 0}},
                          .rejects = {{{"(9,) uint64"}, "", "C1"}}});
}

}  // namespace relay::ops
