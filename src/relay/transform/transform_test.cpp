#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "relay/base/sanitizer.h"
#include "relay/ir/call_of.h"
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/text/text.h"
#include "relay/transform/group/dataflow.h"
#include "relay/transform/partition/devices.h"
#include "relay/transform/pass.h"
#include "relay/transform/well_formed.h"
#include "relay/typing/count.h"
#include "relay/typing/typing.h"

namespace relay::transform {
namespace {

using namespace ir;

Type f32(std::initializer_list<int64_t> shape) { return tensor_type(shape, DType::float32()); }

Module module_of(std::vector<VarRef> params, Expr body) {
  Module m;
  m.functions["main"] = function(std::move(params), std::move(body));
  return m;
}

Module run(const Module& m, const std::vector<std::string>& passes) {
  PassContext context;
  Result<Module> r = run_passes(m, passes, context);
  EXPECT_TRUE(r) << (r ? "" : render(r.errors()));
  return r ? *r : m;
}

// The operators of each primitive function, "nn.conv2d add nn.relu", sorted.
std::vector<std::string> groups(const Module& m) {
  std::vector<std::string> result;
  visit(m.functions.at("main"), [&](const Expr& e) {
    if (!is_closed(e)) return;
    std::string text;
    visit(as<Function>(e)->body, [&](const Expr& n) {
      if (const Call* c = as<Call>(n)) text += (text.empty() ? "" : " ") + as<Op>(c->callee)->name;
    });
    result.push_back(text);
  });
  std::sort(result.begin(), result.end());
  return result;
}
using Groups = std::vector<std::string>;

Expr relu(Expr x) { return op::make("nn.relu", {std::move(x)}); }
Expr add(Expr a, Expr b) { return op::make("add", {std::move(a), std::move(b)}); }
Expr conv(Expr x, Expr w) { return op::make("nn.conv2d", {std::move(x), std::move(w)}, {{"padding", Ints{1, 1}}}); }

TEST(FuseOps, a_residual_block) {
  VarRef x = var("x", f32({1, 8, 8, 8})), w1 = var("w1", f32({8, 8, 3, 3})), w2 = var("w2", f32({8, 8, 3, 3})),
         b = var("b", f32({8, 1, 1}));
  Expr first = relu(add(conv(x, w1), b));
  Expr second = relu(add(conv(first, w2), x));
  Module m = run(module_of({x, w1, w2, b}, second), {"fuse_ops"});
  EXPECT_EQ(groups(m), (Groups{"nn.conv2d add nn.relu", "nn.conv2d add nn.relu"}));
}

TEST(FuseOps, two_heavy_nodes_stay_apart) {
  VarRef x = var("x", f32({1, 8, 8, 8})), w1 = var("w1", f32({8, 8, 3, 3})), w2 = var("w2", f32({8, 8, 3, 3}));
  Module m = run(module_of({x, w1, w2}, relu(add(conv(x, w1), conv(x, w2)))), {"fuse_ops"});
  EXPECT_EQ(groups(m).size(), 2u);
}

TEST(FuseOps, diamond_of_elementwise) {
  VarRef x = var("x", f32({4, 4}));
  Expr e = op::make("exp", {x});
  Expr d = add(relu(e), op::make("sqrt", {e}));
  EXPECT_EQ(groups(run(module_of({x}, d), {"fuse_ops"})), (Groups{"exp nn.relu sqrt add"}));
}

TEST(FuseOps, a_value_that_is_returned_is_a_result_of_its_group) {
  VarRef x = var("x", f32({4, 4}));
  Expr e = op::make("exp", {x});
  Module m = run(module_of({x}, tuple({e, relu(e)})), {"fuse_ops"});
  EXPECT_EQ(groups(m), (Groups{"exp nn.relu"}));
}

TEST(FuseOps, reductions_take_their_producers) {
  VarRef x = var("x", f32({4, 4}));
  Module m =
      run(module_of({x}, relu(op::make("sum", {op::make("exp", {relu(x)})}, {{"axis", Ints{1}}}))), {"fuse_ops"});
  EXPECT_EQ(groups(m), (Groups{"nn.relu", "nn.relu exp sum"}));
}

TEST(FuseOps, branches_stay_apart) {
  VarRef x = var("x", f32({4})), c = var("c", scalar_type(DType::boolean()));
  Expr e = op::make("exp", {x});
  Module m = run(module_of({x, c}, if_(c, relu(relu(e)), op::make("sqrt", {e}))), {"fuse_ops"});
  EXPECT_EQ(groups(m).size(), 3u);
}

TEST(FuseOps, groups_are_limited) {
  VarRef x = var("x", f32({4}));
  Expr e = x;
  for (int i = 0; i < 1000; ++i) e = relu(e);
  EXPECT_EQ(groups(run(module_of({x}, e), {"fuse_ops"})).size(), 4u);
}

TEST(CommonSubexpr, merges_within_scope) {
  VarRef x = var("x", f32({4})), c = var("c", scalar_type(DType::boolean()));
  Module m = run(module_of({x}, add(relu(x), relu(x))), {"common_subexpr"});
  VarRef y = var("y", f32({4}));
  Expr shared = relu(y);
  EXPECT_TRUE(equal(m.functions["main"], run(module_of({y}, add(shared, shared)), {}).functions["main"]));
  Module branches = module_of({x, c}, if_(c, relu(x), relu(x)));
  EXPECT_TRUE(equal(run(branches, {"common_subexpr"}), run(branches, {})));
}

TEST(DeadCode, drops_unused_lets) {
  VarRef x = var("x", f32({4})), a = var("a", f32({4})), b = var("b", f32({4}));
  Module m = run(module_of({x}, let(a, relu(x), let(b, relu(a), x))), {"dead_code"});
  EXPECT_EQ(m.functions["main"]->body, x);
}

TEST(DeadCode, keeps_writes) {
  VarRef x = var("x", f32({})), r = var("r"), a = var("a");
  Expr program = let(r, make<RefCreate>(x), let(a, make<RefWrite>(r, x), make<RefRead>(r)));
  Module m = module_of({x}, program);
  PassContext context;
  for (const PassInfo& pass : all_passes())  // by itself: run_passes makes typed functions
    if (pass.name == std::string_view("dead_code")) {
      Result<Module> result = pass.run(m, context);
      ASSERT_TRUE(result);
      EXPECT_EQ(result->functions["main"], m.functions["main"]);
    }
}

TEST(SimplifyExpr, rules) {
  VarRef x = var("x", f32({4, 2}));
  Expr e = op::make("subtract", {op::make("multiply", {x, constant(1)}), constant(0)});
  EXPECT_EQ(run(module_of({x}, e), {"simplify_expr"}).functions["main"]->body, x);
  VarRef one = var("one", f32({1}));
  Expr kept = op::make("subtract", {one, constant(Tensor::full({4, 2}, DType::float32(), 0))});
  EXPECT_EQ(run(module_of({one}, kept), {"simplify_expr"}).functions["main"]->body, kept);
}

TEST(FoldConstant, evaluates) {
  VarRef x = var("x", f32({2}));
  Tensor two = Tensor::full({2}, DType::float32(), 2);
  Expr e = add(
      x, op::make("multiply", {constant(two), op::make("sqrt", {constant(Tensor::full({}, DType::float32(), 9))})}));
  Module m = run(module_of({x}, e), {"fold_constant"});
  const Call* sum = as<Call>(m.functions["main"]->body);
  ASSERT_TRUE(sum && as<Constant>(sum->args[1]));
  EXPECT_TRUE(equal(as<Constant>(sum->args[1])->value, Tensor::full({2}, DType::float32(), 6)));
  VarRef y = var("y", f32({2}));
  Expr choice = if_(constant(1, DType::boolean()), x, y);
  EXPECT_EQ(run(module_of({x, y}, choice), {"fold_constant"}).functions["main"]->body, x);
}

// A product of 128 x 128 takes two million values of the 16 million that any module may evaluate.
TEST(FoldConstant, WorkIsBoundedByBytes) {
  const Expr c = constant(Tensor::full({128, 128}, DType::float32(), 1.0 / 128));
  VarRef x = var("x", f32({128, 128})), y = var("y", f32({1 << 20}));
  Expr product = c;
  for (int i = 0; i < 12; ++i) product = op::make("nn.matmul", {product, c});
  auto products_left = [](const Module& m) {
    int count = 0;
    visit(m.functions.at("main"), [&](const Expr& e) {
      const Call* call = as<Call>(e);
      count += call && as<Op>(call->callee) && as<Op>(call->callee)->name == "nn.matmul";
    });
    return count;
  };
  const int left = products_left(run(module_of({x}, add(x, product)), {"fold_constant"}));
  EXPECT_GT(left, 2);
  EXPECT_LT(left, 6);
  const Expr stored = constant(Tensor::full({1 << 20}, DType::float32(), 1));  // 4 MiB
  const Expr both = tuple({add(x, product), add(y, stored)});
  EXPECT_EQ(products_left(run(module_of({x, y}, both), {"fold_constant"})), 0);
}

TEST(SimplifyInference, batch_norm_folds_to_multiply_and_add) {
  VarRef x = var("x", f32({1, 3, 4, 4}));
  auto vector = [](double v) { return constant(Tensor::full({3}, DType::float32(), v)); };
  Expr norm = op::make("nn.batch_norm", {x, vector(2), vector(1), vector(3), vector(4)}, {{"epsilon", 0.0}});
  Expr out = get(op::make("nn.dropout", {get(norm, 0)}), 0);
  Module m = run(module_of({x}, out), {"simplify_inference", "fold_constant"});
  Expr scale = constant(Tensor::full({3, 1, 1}, DType::float32(), 1)),
       shift = constant(Tensor::full({3, 1, 1}, DType::float32(), -2));
  EXPECT_TRUE(equal(m.functions["main"]->body, add(op::make("multiply", {x, scale}), shift)));
}

TEST(Passes, unknown_names_are_diagnostics) {
  PassContext context;
  Result<Module> r = run_passes({}, {"fuse_op"}, context);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.errors()[0].kind, DiagnosticKind::unknown_pass);
  EXPECT_EQ(r.errors()[0].help, "did you mean 'fuse_ops'?");
  context.options["fuse_ops.max_grop"] = int64_t{3};
  Result<Module> o = run_passes({}, {}, context);
  ASSERT_FALSE(o);
  EXPECT_EQ(o.errors()[0].help, "did you mean 'fuse_ops.max_group'?");
}

// @f39 would be 2^39 calls of exp.
TEST(InlineCalls, doubling_is_bounded) {
  Module m;
  for (int i = 0; i < 40; ++i) {
    VarRef x = var("x", f32({}));
    Expr before = global(format("f{}", i - 1));
    Expr body = i == 0 ? op::make("exp", {x}) : add(call(before, {x}), call(before, {x}));
    m.functions[format("f{}", i)] = function({x}, body, f32({}), {}, {{"Inline", int64_t{1}}});
  }
  VarRef x = var("x", f32({}));
  m.functions["main"] = function({x}, call(global("f39"), {x}), f32({}));
  PassContext context;
  context.verify = false;
  Result<Module> r = run_passes(m, {"inline_calls"}, context);
  ASSERT_TRUE(r) << render(r.errors());
  ASSERT_FALSE(context.warnings.all().empty());
  EXPECT_NE(context.warnings.all()[0].message.find("inlining has added"), std::string::npos);
}

// A function that meets another of its type but for a size is refused with both types.
TEST(Defunctionalization, sizes_of_function_types_agree) {
  const ir::Module module = *text::parse(R"(#[version = "0.0.5"]
def @main(%b: bool, %x: Tensor[(3), float32]) {
  let %f = fn (%y: Tensor[(?), float32]) -> Tensor[(?), float32] { exp(%y) };
  let %g = if (%b) { %f } else { fn (%y: Tensor[(3), float32]) -> Tensor[(3), float32] { tanh(%y) } };
  %g(%x)
}
)");
  PassContext context;
  const Result<ir::Module> made = run_passes(module, {"defunctionalization"}, context);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.errors()[0].kind, DiagnosticKind::not_supported);
  EXPECT_TRUE(made.errors()[0].span);
  EXPECT_NE(render(made.errors()).find("fn (Tensor[(3), float32]) -> Tensor[(3), float32]"), std::string::npos);
}

// exp and tanh are of a device that has no float64.
TEST(PlaceOnDevices, calls_that_a_device_refuses_are_on_the_host) {
  const Result<Module> read = text::parse(R"(#[version = "0.0.5"]
def @main(%x: Tensor[(4), float32]) { tanh(tanh(cast(exp(%x), dtype="float64"))) })");
  ASSERT_TRUE(read) << render(read.errors());
  const Result<Module> typed = typing::infer(*read);
  ASSERT_TRUE(typed) << render(typed.errors());
  const DeviceName away{"cpu", 1};
  DevicePlacement placement{.operators = {{"exp", away}, {"tanh", away}}};
  auto copies = [&](std::vector<LeftToHost>& left) {
    const Result<Module> placed = place_on_devices(*typed, placement, &left);
    EXPECT_TRUE(placed) << (placed ? "" : render(placed.errors()));
    int count = 0;
    if (placed)
      visit(placed->functions.at("main"), [&](const Expr& e) { count += call_of(e, "device_copy") != nullptr; });
    return count;
  };
  std::vector<LeftToHost> left;
  EXPECT_EQ(copies(left), 4);
  EXPECT_TRUE(left.empty());
  placement.refusal = [](const Call& call, const DeviceName& device) -> std::string {
    EXPECT_EQ(device, (DeviceName{"cpu", 1}));
    return as<TensorType>(call.type)->dtype == DType::float64() ? "it has no float64" : "";
  };
  EXPECT_EQ(copies(left), 2);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].name, "tanh");
  EXPECT_EQ(left[0].device, away);
  EXPECT_EQ(left[0].reason, "it has no float64");
  EXPECT_EQ(left[0].calls, 2);
}

TEST(WellFormed, mistakes) {
  VarRef x = var("x"), y = var("y");
  EXPECT_TRUE(well_formed(function({x}, x)).empty());
  EXPECT_EQ(well_formed(function({x}, y))[0].kind, DiagnosticKind::unknown_variable);
  EXPECT_EQ(well_formed(function({x, x}, x))[0].kind, DiagnosticKind::duplicate_definition);
  EXPECT_EQ(well_formed(tuple({let(x, constant(1), x), x}))[0].kind, DiagnosticKind::unknown_variable);
  EXPECT_EQ(well_formed(let(x, x, x))[0].kind, DiagnosticKind::unknown_variable);
  Module m;
  m.functions["main"] = function({}, call(global("mian"), {}));
  EXPECT_EQ(well_formed(m)[0].help, "did you mean @main?");
}

// Sanitizers slow every access down; the test detects quadratic time, thousands of times as much.
constexpr double slower = has_address_sanitizer || has_thread_sanitizer ? 8 : 1;

// Processor time, so that other work on the machine does not count: of the pass, and of inference before and after.
double seconds_of(const std::string& pass, const Module& m) {
  PassContext context;
  context.verify = false;
  const std::clock_t begin = std::clock();
  Result<Module> r = run_passes(m, {pass}, context);
  EXPECT_TRUE(r) << (r ? "" : render(r.errors()));
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

// The same. A host that other machines share may slow one run down: a time beyond the limit is measured twice.
double seconds_below(double limit, const std::string& pass, const Module& m) {
  const double seconds = seconds_of(pass, m);
  return seconds < limit ? seconds : std::min(seconds, seconds_of(pass, m));
}

Module chain(int n) {
  VarRef x = var("x", f32({4}));
  Expr e = x;
  for (int i = 0; i < n; ++i) e = i % 3 ? relu(e) : add(e, x);
  return module_of({x}, e);
}
// Each value is used by its neighbour and by the far end, in the order that makes walks along the tree longest.
Module ladder(int n) {
  VarRef x = var("x", f32({4}));
  Exprs up{x};
  for (int i = 0; i < n; ++i) up.push_back(i % 2 ? relu(up.back()) : op::make("nn.softmax", {up.back()}));
  Expr e = up.back();
  for (int i = n; i-- > 0;) e = add(e, up[static_cast<size_t>(i)]);
  return module_of({x}, e);
}

// if (x < 1) { x + 1 } else { if (x < 2) { x + 2 } else { ... } }
Module nested_ifs(int depth) {
  VarRef x = var("x", f32({}));
  Expr e = x;
  for (int i = 0; i < depth; ++i) e = if_(op::make("less", {x, constant(1.0 * i)}), add(x, constant(2.0 * i)), e);
  return module_of({x}, e);
}

// A single call of ten thousand changes: types are written only into new nodes.
TEST(Passes, types_again_only_of_what_changed) {
  constexpr int calls = 10'000;
  const Expr zero = constant(Tensor::scalar(0, DType::float32()));
  for (int place : {0, calls / 2, calls - 1}) {
    const VarRef x = var("x", f32({2, 3}));
    Expr e = x;
    for (int i = 0; i < calls; ++i)
      e = i == place ? op::make("subtract", {e, zero}) : op::make(i % 2 ? "exp" : "nn.relu", {e});
    int64_t before = typing::types_written();
    Result<Module> typed = typing::infer(module_of({x}, e));
    ASSERT_TRUE(typed);
    EXPECT_GE(typing::types_written() - before, calls);
    before = typing::types_written();
    PassContext context;
    context.verify = false;  // because it visits everything
    const Module after = *run_passes(*typed, {"simplify_expr"}, context);
    EXPECT_FALSE(equal(*typed, after));
    EXPECT_LT(typing::types_written() - before, 20) << "of the call number " << place;
    before = typing::types_written();
    EXPECT_TRUE(
        equal(*run_passes(after, {"simplify_expr", "fold_constant", "common_subexpr", "dead_code"}, context), after));
    EXPECT_EQ(typing::types_written() - before, 0) << "where no pass had anything to do";
  }
}

// Runs each pass on programs of about `n` calls, and checks that the greatest takes less than `limit` seconds.
void expect_linear(int n, double limit) {
  for (const PassInfo& pass : all_passes()) {
    for (const Module& m : {chain(n), ladder(n / 2), nested_ifs(n / 5)})
      EXPECT_LT(seconds_below(limit * slower, pass.name, m), limit * slower) << pass.name;
  }
}

// `n` calls one in the other: no pass may recurse for each.
void expect_depth(int n, double limit) {
  const Module m = chain(n);
  for (const PassInfo& pass : all_passes()) {
    const double seconds = seconds_below(limit * slower, pass.name, m);
    EXPECT_LT(seconds, limit * slower) << pass.name;
    std::printf("%-24s %.2f s\n", pass.name, seconds);
  }
}

TEST(Passes, none_is_quadratic) { expect_linear(20'000, 1); }
TEST(Passes, sixty_thousand_calls_deep) { expect_depth(60'000, 3); }

// The long forms, for `make test-long`.
TEST(DISABLED_LongPasses, none_is_quadratic) { expect_linear(100'000, 3); }
TEST(DISABLED_LongPasses, three_hundred_thousand_calls_deep) { expect_depth(300'000, 10); }

}  // namespace
}  // namespace relay::transform
