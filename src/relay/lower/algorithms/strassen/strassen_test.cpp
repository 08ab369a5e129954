// Strassen's product: its matrices, and the rewrite. Its results are tested by test/python/lowering/test_numerics.py and by the
// fuzzer.
#include "relay/lower/algorithms/strassen/strassen.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "relay/lower/group/group.h"
#include "relay/lower/schedule/test_target.h"

namespace relay::lower {
namespace {

using scalar::imm;

const DType f32 = DType::float32();

// Each quarter of C is the sum of the right two products of quarters, for every pair of non-zero quarters.
TEST(Strassen, MatricesGiveTheProduct) {
  for (const QuarterProducts* s : {&strassen_products(), &direct_products()})
    for (size_t a = 0; a < 4; ++a)
      for (size_t b = 0; b < 4; ++b)
        for (size_t c = 0; c < 4; ++c) {
          double sum = 0;
          for (size_t p = 0; p < s->left.size(); ++p) {
            const size_t sums = static_cast<size_t>(s->of_sums), other = (p - sums) % 4;
            sum += s->out[c][p] * s->left[p][a] *
                   (p < sums ? weight_sums()[p][b] : quarter_order()[other] == static_cast<int64_t>(b));
          }
          const bool wanted = a % 2 == b / 2 && c / 2 == a / 2 && c % 2 == b % 2;
          EXPECT_EQ(sum, wanted ? 1 : 0) << a << " " << b << " " << c;
        }
}

// An infinity in one row or column must not reach another.
TEST(Strassen, DirectFormSumsNoQuarters) {
  auto one_each = [](const std::vector<double>& row) {
    return std::count(row.begin(), row.end(), 1) == 1 && std::count(row.begin(), row.end(), 0) == 3;
  };
  const QuarterProducts& direct = direct_products();
  for (const std::vector<double>& row : direct.left) EXPECT_TRUE(one_each(row));
  EXPECT_EQ(direct.of_sums, 0);
  EXPECT_EQ(std::set<int64_t>(quarter_order().begin(), quarter_order().end()), (std::set<int64_t>{0, 1, 2, 3}));
}

struct Dense {
  Expr rows = imm(128);
  int64_t terms = 768, columns = 768;
  bool transposed = false, constant = true;

  bool rewritten() const {
    te::Tensor x = te::placeholder("x", {imm(1), rows, imm(terms)}, f32);
    te::Tensor w =
        te::placeholder("w", transposed ? Exprs{imm(columns), imm(terms)} : Exprs{imm(terms), imm(columns)}, f32);
    te::Tensor dense = te::reduce(
        "dense", {imm(1), rows, imm(columns)}, {imm(terms)}, te::Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
          return (*x)({i[0], i[1], r[0]}) * (transposed ? (*w)({i[2], r[0]}) : (*w)({r[0], i[2]}));
        });
    te::Tensors outputs = unique_names(
        {te::compute("relu", dense->shape, [&](const Exprs& i) { return scalar::max((*dense)(i), scalar::fimm(0)); })});
    const std::set<std::string> constants = constant ? std::set<std::string>{"w"} : std::set<std::string>{};
    const std::optional<Product> product = match_strassen(outputs, constants, wide());
    return product && estimate_strassen(*product, wide());
  }
};

TEST(Strassen, RewritesLargeProductsWithConstantWeights) {
  EXPECT_TRUE(Dense{}.rewritten());
  EXPECT_TRUE(Dense{.transposed = true}.rewritten());
  EXPECT_TRUE(Dense{.rows = imm(197)}.rewritten());
  EXPECT_FALSE(Dense{.rows = scalar::var("n")}.rewritten());
  EXPECT_FALSE(Dense{.rows = imm(1)}.rewritten());
  EXPECT_FALSE(Dense{.terms = 767}.rewritten());
  EXPECT_FALSE(Dense{.terms = 32}.rewritten()) << "the sums of quarters would cost more than is saved";
  EXPECT_FALSE(Dense{.columns = 100}.rewritten());
  EXPECT_FALSE(Dense{.constant = false}.rewritten());
}

}  // namespace
}  // namespace relay::lower
