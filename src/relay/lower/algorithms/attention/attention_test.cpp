// Attention in blocks. Its results are tested by test/python/lowering/test_attention.py and by the fuzzer.
#include "relay/lower/algorithms/attention/attention.h"

#include <gtest/gtest.h>

#include "relay/lower/nest/nest.h"
#include "relay/lower/rules/rules.h"
#include "relay/lower/schedule/test_target.h"

namespace relay::lower {
namespace {

using scalar::imm;

const DType f32 = DType::float32();

// The scores of a long row are never stored in an array, not even those of a block of rows.
TEST(Attention, ScoresHaveNoArray) {
  const int64_t length = 4096;
  te::Tensor q = te::placeholder("q", {imm(length), imm(64)}, f32), k = te::placeholder("k", q->shape, f32),
             v = te::placeholder("v", q->shape, f32);
  const Exprs square{imm(length), imm(length)}, row{imm(length)};
  te::Tensor score = te::reduce("score", square, {imm(64)}, te::Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
    return (*q)({i[0], r[0]}) * (*k)({i[1], r[0]});
  });
  te::Tensor max = te::reduce("max", row, {imm(length)}, te::Combiner::Max,
                              [&](const Exprs& i, const Exprs& r) { return (*score)({i[0], r[0]}); });
  te::Tensor exp = te::compute(
      "exp", square, [&](const Exprs& i) { return scalar::unary(scalar::UnaryOp::Exp, (*score)(i) - (*max)({i[0]})); });
  te::Tensor sum = te::reduce("sum", row, {imm(length)}, te::Combiner::Sum,
                              [&](const Exprs& i, const Exprs& r) { return (*exp)({i[0], r[0]}); });
  te::Tensor out = te::reduce("out", v->shape, {imm(length)}, te::Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
    const Expr weight = scalar::binary(scalar::BinaryOp::Div, (*exp)({i[0], r[0]}), (*sum)({i[0]}));
    return weight * (*v)({r[0], i[1]});
  });
  const TargetDesc target = wide();
  ScheduleDraft plan;
  te::Tensors outputs{out};
  plan.target = &target;
  const std::optional<Attention> stages = rewrite_attention(outputs, target);
  plan.set_outputs(outputs);
  ASSERT_TRUE(stages);
  plan.form = {.schedule = &attention_schedule, .stages = *stages};
  apply_rules(plan);
  Result<std::vector<BuiltKernel>> kernels =
      build_kernels(plan.stages(), plan.schedule, plan.layouts, target, "attention");
  ASSERT_TRUE(kernels) << render(kernels.errors());
  ASSERT_EQ(kernels->size(), 2u);  // one packs the keys, one does the rest
  for (const BuiltKernel& b : *kernels)
    loop::visit(
        b.kernel.body,
        [&](const loop::Stmt& s) {
          if (!s->buffer) return;
          int64_t elements = 1;
          for (const Expr& e : s->buffer->shape) elements *= e->ivalue;
          const bool whole = s->buffer->scope == loop::Scope::Param;  // queries, keys, values, results
          EXPECT_LE(elements, whole ? length * 64 : 64 * 512) << s->buffer->name;
        },
        [](const Expr&) {});
}

}  // namespace
}  // namespace relay::lower
