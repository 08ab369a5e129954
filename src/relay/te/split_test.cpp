#include "relay/te/split.h"

#include <gtest/gtest.h>

namespace relay::te {
namespace {

using scalar::imm;

Tensor matrix(const char* name, int64_t rows, int64_t columns) {
  return placeholder(name, {imm(rows), imm(columns)}, DType::float32());
}

// C[i, j] = sum(k) A[i, k] * B[k, j]
Tensor product(const Tensor& a, const Tensor& b) {
  return reduce("C", {a->shape[0], b->shape[1]}, {a->shape[1]}, Combiner::Sum,
                [&](const Exprs& i, const Exprs& k) { return (*a)({i[0], k[0]}) * (*b)({k[0], i[1]}); });
}

TEST(Split, ProductsAreDividedInThreeWays) {
  const Tensor a = matrix("A", 4, 8), b = matrix("B", 8, 6);
  const std::vector<Split> found = splits({a, b}, {product(a, b)}, 2);
  const std::vector<Split> expected = {{{0, Split::whole}, {0}, Combiner::None},
                                       {{Split::whole, 1}, {1}, Combiner::None},
                                       {{1, 0}, {Split::partial}, Combiner::Sum}};
  EXPECT_EQ(found, expected);
  EXPECT_EQ(splits({a, b}, {product(a, b)}, 3).size(), 1u);  // 3 divides 6 only
}

TEST(Split, APartIsProvedToBeOne) {
  const Tensor a = matrix("A", 4, 8), b = matrix("B", 8, 6), part = matrix("A", 2, 8), half = matrix("A", 4, 4);
  const Split rows{{0, Split::whole}, {0}, Combiner::None};
  EXPECT_TRUE(computes_part({a, b}, {product(a, b)}, {part, b}, {product(part, b)}, rows, 2));
  // Not with other parts, and not in another order of the inputs.
  EXPECT_FALSE(computes_part({a, b}, {product(a, b)}, {part, b}, {product(part, b)}, rows, 4));
  const Tensor c = matrix("C", 2, 8), d = matrix("D", 8, 8), e = matrix("E", 8, 8);
  const Tensor whole = matrix("A", 4, 8);
  EXPECT_FALSE(computes_part({whole, d, e}, {product(whole, d)}, {c, d, e}, {product(c, e)},
                             {{0, Split::whole, Split::whole}, {0}, Combiner::None}, 2));
}

TEST(Split, AMeanOfAPartIsNoPartOfAMean) {
  auto mean = [](const Tensor& x) {
    const Tensor sum = reduce("sum", {}, {x->shape[0]}, Combiner::Sum,
                              [&](const Exprs&, const Exprs& k) { return (*x)({k[0], imm(0)}); });
    return compute("mean", {}, [&](const Exprs&) {
      return scalar::binary(scalar::BinaryOp::Div, (*sum)({}), scalar::cast(DType::float32(), x->shape[0]));
    });
  };
  const Tensor x = matrix("x", 4, 1), part = matrix("x", 2, 1);
  EXPECT_TRUE(splits({x}, {mean(x)}, 2).empty());
  EXPECT_FALSE(computes_part({x}, {mean(x)}, {part}, {mean(part)}, {{0}, {Split::partial}, Combiner::Sum}, 2));
}

TEST(Split, NormalisedRowsStayWhole) {
  auto normalised = [](const Tensor& x) {
    const Tensor most = reduce("max", {x->shape[0]}, {x->shape[1]}, Combiner::Max,
                               [&](const Exprs& i, const Exprs& k) { return (*x)({i[0], k[0]}); });
    return compute("out", x->shape, [&](const Exprs& i) { return (*x)(i) - (*most)({i[0]}); });
  };
  const Tensor x = matrix("x", 4, 4), rows = matrix("x", 2, 4), columns = matrix("x", 4, 2);
  EXPECT_TRUE(computes_part({x}, {normalised(x)}, {rows}, {normalised(rows)}, {{0}, {0}, Combiner::None}, 2));
  EXPECT_FALSE(computes_part({x}, {normalised(x)}, {columns}, {normalised(columns)}, {{1}, {1}, Combiner::None}, 2));
}

TEST(Split, GuardsThatDependOnThePlaceAreNotDivided) {
  auto padded = [](const Tensor& x) {
    return compute("out", x->shape, [&](const Exprs& i) {
      return scalar::select(scalar::lt(i[0], imm(1)), scalar::fimm(0), (*x)({i[0] - 1, i[1]}));
    });
  };
  const Tensor x = matrix("x", 4, 4), part = matrix("x", 2, 4);
  EXPECT_FALSE(computes_part({x}, {padded(x)}, {part}, {padded(part)}, {{0}, {0}, Combiner::None}, 2));
}

}  // namespace
}  // namespace relay::te
