#include "relay/frontend/common/scopes.h"

#include <gtest/gtest.h>

#include "relay/frontend/common/shape_variables.h"

namespace relay::frontend {
namespace {

int64_t number(const Value* v) { return v && v->known ? v->known->values[0]->ivalue : -1; }
Value of(int64_t n) { return known_scalar(scalar::imm(n), DType::int64()); }

TEST(Scopes, InnerOnesSeeOuterOnesAndHideThem) {
  Scopes scopes;
  EXPECT_TRUE(scopes.define("x", of(1)));
  EXPECT_FALSE(scopes.define("x", of(2)));
  {
    Scopes::Inner body(scopes);
    EXPECT_EQ(number(scopes.lookup("x")), 1);
    EXPECT_FALSE(scopes.is_defined_here("x"));
    EXPECT_TRUE(scopes.define("x", of(3)));
    EXPECT_TRUE(scopes.define("y", of(4)));
    EXPECT_EQ(number(scopes.lookup("x")), 3);
  }
  EXPECT_EQ(number(scopes.lookup("x")), 1);
  EXPECT_EQ(scopes.lookup("y"), nullptr);
}

TEST(Scopes, LazyValuesAreMadeOnceAndWhenUsed) {
  Scopes scopes;
  int made = 0;
  EXPECT_TRUE(scopes.define_lazily("w", [&] { return of(++made); }));
  EXPECT_FALSE(scopes.define("w", of(9)));
  EXPECT_EQ(made, 0);
  Scopes::Inner body(scopes);
  EXPECT_EQ(number(scopes.lookup("w")), 1);
  EXPECT_EQ(number(scopes.lookup("w")), 1);
  EXPECT_EQ(made, 1);
}

// Defined, by a node that failed: different from undefined.
TEST(Scopes, FailedValuesAreDefined) {
  Scopes scopes;
  scopes.define("x", Value());
  ASSERT_TRUE(scopes.lookup("x"));
  EXPECT_FALSE(*scopes.lookup("x"));
}

TEST(UniqueNames, ReadableAndOnce) {
  UniqueNames names("d");
  EXPECT_EQ(names("seq length"), "seq_length");
  EXPECT_EQ(names("seq.length"), "seq_length_2");
  EXPECT_EQ(names("seq_length_2"), "seq_length_2_2");
  EXPECT_EQ(names("3"), "d3");
  EXPECT_EQ(names(""), "d");
}

TEST(ShapeVariables, OneForEachName) {
  ShapeVariables sizes;
  sizes.bind("batch", 4);
  EXPECT_EQ(sizes.named("batch")->ivalue, 4);
  EXPECT_EQ(sizes.named("n"), sizes.named("n"));
  EXPECT_NE(sizes.fresh("n")->name, sizes.named("n")->name);
  EXPECT_FALSE(sizes.value("n"));
  // A variable that occurs in no parameter cannot be read at run time.
  EXPECT_FALSE(sizes.expression(sizes.named("n") + 1, {}, DType::float32()));
  ir::Type type = ir::tensor_type({scalar::imm(3), sizes.named("n")}, DType::float32());
  ir::VarRef x = ir::var("x", type);
  x->type = type;
  sizes.add_parameter(x);
  ir::Expr value = sizes.expression(sizes.named("n") * 2 + 1, {}, DType::float32());
  ASSERT_TRUE(value);
  EXPECT_EQ(ir::str(value->type), "int64");
  // Floats in it, such as a scale of two sizes, have the requested type.
  const scalar::Expr size = scalar::cast(DType::float64(), sizes.named("n"));
  const scalar::Expr half = scalar::binary(scalar::BinaryOp::Div, size, scalar::fimm(2, DType::float64()));
  value = sizes.expression(half, {}, DType::float32());
  ASSERT_TRUE(value);
  EXPECT_EQ(ir::str(value->type), "float32");
}

}  // namespace
}  // namespace relay::frontend
