#include "relay/exec/build.h"

#include <gtest/gtest.h>

#include "relay/exec/sizes.h"
#include "relay/lower/plan/views.h"
#include "relay/runtime/artifacts/artifact.h"
#include "relay/runtime/program/program_builder.h"
#include "relay/runtime/relay_c.h"

namespace relay::exec {
namespace {

using lower::Array;
using lower::Layout;
using lower::LoweredFunction;
using lower::Step;
using scalar::Expr;
using scalar::Exprs;
using scalar::imm;
using scalar::load;
using scalar::var;

const DType f32 = DType::float32();

TargetDesc here() {
  TargetDesc t;
#if defined(__x86_64__)
  t.triple = "x86_64-unknown-linux-gnu", t.cpu = "x86-64";
#elif defined(__aarch64__)
  t.triple = "aarch64-unknown-linux-gnu", t.cpu = "generic";
#endif
  return t;
}

loop::BufferRef param(const std::string& name, Exprs shape) {
  return loop::buffer(name, f32, std::move(shape), loop::Scope::Param);
}

// out[i] = f(i) for each task i < n.
loop::Kernel elementwise(const std::string& name, std::vector<loop::BufferRef> params, Exprs shape_vars, Expr n,
                         Expr task, Exprs at, Expr value) {
  loop::Kernel k;
  k.name = name, k.params = params, k.shape_vars = std::move(shape_vars), k.task = task, k.tasks = std::move(n);
  k.body = loop::store(params.back(), std::move(at), std::move(value));
  return k;
}

Array array(Array::Kind kind, std::string name, Exprs shape, uint32_t index = 0) {
  Array a;
  a.kind = kind, a.name = std::move(name), a.dtype = f32, a.layout = Layout::row_major(static_cast<int>(shape.size()));
  a.shape = std::move(shape), a.index = index;
  return a;
}

Step step(uint32_t kernel, std::vector<int> reads, int write, bool constant = false) {
  Step s;
  s.kernel = kernel, s.reads = reads, s.writes = {write}, s.constant = constant;
  s.args = std::move(reads);
  s.args.push_back(write);
  return s;
}

// The function with the sizes that lowering sets.
LoweredFunction with_sizes(LoweredFunction f) {
  lower::set_sizes(f);
  return f;
}

// fn (x) { (x + (w + w), x, w) }: w + w is a step on constants; another step is dead, with the constant that it reads.
LoweredFunction folded() {
  LoweredFunction f;
  f.name = "folded";
  f.input_types = {ir::tensor_type({4}, f32)};
  f.input_names = {"x"};
  Expr i = var("i"), n = imm(4);
  loop::BufferRef a = param("a", {n}), b = param("b", {n}), c = param("c", {n});
  f.kernels = {elementwise("add", {a, b, c}, {}, n, i, {i}, load(a, {i}) + load(b, {i}))};
  f.arrays = {array(Array::Kind::Input, "x", {n}, 0),      array(Array::Kind::Constant, "w", {n}),
              array(Array::Kind::Temporary, "w2", {n}),    array(Array::Kind::Output, "y", {n}, 0),
              array(Array::Kind::Output, "same", {n}, 1),  array(Array::Kind::Output, "weight", {n}, 2),
              array(Array::Kind::Constant, "unused", {n}), array(Array::Kind::Temporary, "dead", {n})};
  f.arrays[1].value = Tensor::from_doubles({4}, f32, std::vector<double>{1, 2, 3, 4});
  f.arrays[6].value = Tensor::full({4}, f32, 9);
  f.arrays[4].alias = 0;
  f.arrays[5].alias = 1;
  Step add_to_itself = step(0, {1}, 2, true);
  add_to_itself.args = {1, 1, 2};
  f.steps = {add_to_itself, step(0, {0, 6}, 7), step(0, {0, 2}, 3)};
  return with_sizes(f);
}

void expect_folded(runtime::Executable& e) {
  std::vector<Tensor> in = {Tensor::from_doubles({4}, f32, std::vector<double>{10, 20, 30, 40})};
  Result<std::vector<Tensor>> out = e.run(in);
  ASSERT_TRUE(out) << render(out.errors());
  EXPECT_EQ((*out)[0].to_doubles(), (std::vector<double>{12, 24, 36, 48}));
  EXPECT_EQ((*out)[1].to_doubles(), in[0].to_doubles());
  EXPECT_EQ((*out)[2].to_doubles(), (std::vector<double>{1, 2, 3, 4}));
}

TEST(Build, RunsWorkOnConstantsOnceAndDropsWhatIsDead) {
  Result<Built> built = build_program(folded(), {.target = here()});
  ASSERT_TRUE(built) << render(built.errors());
  EXPECT_EQ(built->constant_steps, 1);
  EXPECT_EQ(built->constant_bytes, 32);  // w, which is returned, and w + w
  EXPECT_EQ(built->kernels.size(), 1u);
  EXPECT_EQ(runtime::str(*built->program), R"(segment folded(x: float32[4]) {
  output y: float32[4], 16 bytes
  constant w: float32[4], 16 bytes
  constant w2: float32[4], 16 bytes
  kernel add(x, w2, y) tasks 4
  return (y, x, w)
}
)");
  Result<std::shared_ptr<runtime::Executable>> e = build(*built, {.target = here()});
  ASSERT_TRUE(e) << render(e.errors());
  EXPECT_EQ((*e)->outputs()[1].name, "same");
  expect_folded(**e);
}

// All kernels on a device: the input is copied there, and the result back; results that no kernel writes stay.
TEST(Build, RunsAllKernelsOnOneDevice) {
  const BuildOptions options{.target = here(), .all_on = DeviceName{"cpu", 1}};
  Result<Built> built = build_program(folded(), options);
  ASSERT_TRUE(built) << render(built.errors());
  const runtime::Segment& f = built->program->graph();
  ASSERT_EQ(f.steps.size(), 3u) << runtime::str(*built->program);
  EXPECT_TRUE(f.is_transfer(f.steps[0]));
  EXPECT_EQ(f.device_of(f.steps[1]), 1u);
  EXPECT_TRUE(f.is_transfer(f.steps[2]));
  EXPECT_EQ(built->lowered_steps[0], (std::vector<int>{-1, 2, -1}));
  Result<std::shared_ptr<runtime::Executable>> e = build(*built, options);
  ASSERT_TRUE(e) << render(e.errors());
  expect_folded(**e);
}

TEST(Build, SavesAndLoads) {
  Result<Built> built = build_program(folded(), {.target = here()});
  ASSERT_TRUE(built) << render(built.errors());
  std::string path = testing::TempDir() + "folded.rly";
  Status saved = save(*built, {.target = here()}, {}, path);
  ASSERT_TRUE(saved) << render(saved.errors());
  for (int turn = 0; turn < 2; ++turn) {
    Result<std::shared_ptr<runtime::Executable>> e = runtime::load_executable(path);
    ASSERT_TRUE(e) << render(e.errors());
    expect_folded(**e);
  }

  // The same file through the C interface.
  relay_model* model = nullptr;
  ASSERT_EQ(relay_model_load(path.c_str(), nullptr, &model), RELAY_OK) << relay_last_error();
  EXPECT_EQ(relay_model_input_count(model), 1u);
  EXPECT_EQ(relay_model_output_count(model), 3u);
  relay_port port;
  ASSERT_EQ(relay_model_input(model, 0, &port), RELAY_OK);
  EXPECT_STREQ(port.name, "x");
  EXPECT_EQ(port.rank, 1);
  EXPECT_EQ(port.dims[0], 4);
  EXPECT_STREQ(port.dim_texts[0], "4");
  EXPECT_EQ(relay_model_input(model, 1, &port), RELAY_BAD_ARGUMENT);
  float x[4] = {10, 20, 30, 40}, y[4] = {};
  int64_t shape[1] = {4}, wrong[1] = {3};
  relay_tensor in = {x, shape, 1, RELAY_FLOAT32, nullptr}, bad = {x, wrong, 1, RELAY_FLOAT32, nullptr};
  relay_tensor out[3] = {{y, shape, 1, RELAY_FLOAT32, nullptr}, {}, {}};
  ASSERT_EQ(relay_model_run(model, &in, 1, out, 3), RELAY_OK) << relay_last_error();
  EXPECT_EQ(y[3], 48);
  EXPECT_EQ(static_cast<const float*>(out[2].data)[1], 2);
  relay_tensor_release(&out[1]);
  relay_tensor_release(&out[2]);
  EXPECT_EQ(relay_model_run(model, &bad, 1, out, 3), RELAY_WRONG_INPUT);
  EXPECT_NE(std::string(relay_last_error()).find("dimension 0 is 3, but it must be 4"), std::string::npos);
  relay_model_free(model);
}

// fn main(list) { (map(list), fn(list) { map(list) }) }; fn map(list) { match (list) { Nil => Nil, Cons(x, rest) =>
// Cons(x + (w + w), map(rest)) } }
Result<Built> mapping() {
  using runtime::last;
  using runtime::use;
  Result<Built> built = build_program(folded(), {.target = here()});
  if (!built) return built;
  runtime::Program program = *built->program;
  program.types = {{"List", {{"Nil", 0}, {"Cons", 2}}}};
  program.signature.inputs = {{"list", "List[Tensor[(4,), float32]]", false, {}, {}, runtime::ObjectKind::Data, 0}};
  program.signature.outputs = {{"mapped", "List[Tensor[(4,), float32]]"}, {"map", "fn (List) -> List"}};
  runtime::FunctionBuilder main("main", 1), map("map", 1);
  uint32_t mapped = main.call(1, {last(0)}), closure = main.closure(1, {});
  main.ret(last(main.tuple({last(mapped), last(closure)})));
  runtime::FunctionBuilder::Label empty = map.label(), more = map.label();
  map.switch_tag(use(0), 0, {empty, more});
  map.place(empty);
  map.ret(last(0));
  map.place(more);
  uint32_t x = map.field(use(0), 0), rest = map.field(last(0), 1);
  std::vector<uint32_t> sums = map.segment(0, {last(x)}, 3);
  map.drop(sums[1]);
  map.drop(sums[2]);
  uint32_t tail = map.call(1, {last(rest)});
  map.ret(last(map.data(0, 1, {last(sums[0]), last(tail)})));
  program.functions = {main.finish(), map.finish()};
  built->program = std::make_shared<const runtime::Program>(std::move(program));
  return built;
}

// From a file, through the C interface.
TEST(Build, ProgramsOverValuesThroughTheCInterface) {
  Result<Built> built = mapping();
  ASSERT_TRUE(built) << render(built.errors());
  std::string path = testing::TempDir() + "mapped.rly";
  Status saved = save(*built, {.target = here()}, {}, path);
  ASSERT_TRUE(saved) << render(saved.errors());

  relay_model* model = nullptr;
  ASSERT_EQ(relay_model_load(path.c_str(), nullptr, &model), RELAY_OK) << relay_last_error();
  relay_port port;
  ASSERT_EQ(relay_model_input(model, 0, &port), RELAY_OK);
  EXPECT_EQ(port.rank, -1);
  EXPECT_STREQ(relay_model_input_type(model, 0), "List[Tensor[(4,), float32]]");
  EXPECT_STREQ(relay_model_output_type(model, 1), "fn (List) -> List");
  EXPECT_EQ(relay_model_output_type(model, 2), nullptr);

  std::vector<float> data(32, 1);
  int released = 0;
  int64_t shape[2] = {4};
  relay_tensor tensor = {data.data(), shape, 1, RELAY_FLOAT32, nullptr};
  relay_value *element = nullptr, *list = nullptr, *result = nullptr;
  ASSERT_EQ(relay_value_from_tensor(&tensor, nullptr, nullptr, &element), RELAY_OK) << relay_last_error();
  ASSERT_EQ(relay_value_data(model, "List", "Nil", nullptr, 0, &list), RELAY_OK) << relay_last_error();
  for (int i = 0; i < 3; ++i) {
    relay_value *fields[2] = {element, list}, *longer = nullptr;
    ASSERT_EQ(relay_value_data(model, "List", "Cons", fields, 2, &longer), RELAY_OK) << relay_last_error();
    relay_value_free(list);
    list = longer;
  }
  ASSERT_EQ(relay_model_call(model, &list, 1, &result), RELAY_OK) << relay_last_error();
  EXPECT_EQ(relay_value_kind(result), RELAY_TUPLE);
  relay_value *mapped_list = nullptr, *function = nullptr, *again = nullptr, *first = nullptr;
  ASSERT_EQ(relay_value_field(result, 0, &mapped_list), RELAY_OK);
  ASSERT_EQ(relay_value_field(result, 1, &function), RELAY_OK);
  EXPECT_STREQ(relay_value_type(mapped_list), "List");
  EXPECT_STREQ(relay_value_constructor(mapped_list), "Cons");
  EXPECT_EQ(relay_value_field_count(mapped_list), 2u);
  ASSERT_EQ(relay_value_call(model, function, &mapped_list, 1, &again), RELAY_OK) << relay_last_error();
  ASSERT_EQ(relay_value_field(again, 0, &first), RELAY_OK);
  relay_tensor out;
  ASSERT_EQ(relay_value_as_tensor(first, &out), RELAY_OK) << relay_last_error();
  EXPECT_EQ(static_cast<const float*>(out.data)[3], 17);  // 1 + 2 * 8
  char text[16];
  EXPECT_GT(relay_value_text(again, text, sizeof(text)), sizeof(text));
  EXPECT_EQ(std::string(text), "Cons(Tensor[(4)");

  // Errors are reported.
  relay_value* bad = nullptr;
  EXPECT_EQ(relay_value_data(model, "Tree", "Leaf", nullptr, 0, &bad), RELAY_WRONG_INPUT);
  EXPECT_NE(std::string(relay_last_error()).find("no data type `Tree`\n  help: its data types are: List"),
            std::string::npos);
  EXPECT_EQ(relay_value_data(model, "List", "Cons", &element, 1, &bad), RELAY_WRONG_INPUT);
  EXPECT_NE(std::string(relay_last_error()).find("`Cons` of type List takes 2 fields, but 1 was given"),
            std::string::npos);
  EXPECT_EQ(relay_value_data(model, "List", "Node", nullptr, 0, &bad), RELAY_WRONG_INPUT);
  EXPECT_EQ(relay_model_call(model, &element, 1, &bad), RELAY_WRONG_INPUT);
  EXPECT_NE(std::string(relay_last_error()).find("is a tensor of float32, but it must be List"), std::string::npos);
  EXPECT_EQ(relay_value_call(model, list, nullptr, 0, &bad), RELAY_WRONG_INPUT);
  EXPECT_EQ(relay_value_field(list, 2, &bad), RELAY_BAD_ARGUMENT);
  EXPECT_EQ(relay_value_as_tensor(list, &out), RELAY_BAD_ARGUMENT);
  EXPECT_EQ(relay_value_tuple(nullptr, 1, &bad), RELAY_BAD_ARGUMENT);
  EXPECT_EQ(bad, nullptr);

  // Memory that is used in place is released with its last value.
  shape[0] = 32;
  relay_value *shared = nullptr, *reference = nullptr, *content = nullptr;
  ASSERT_EQ(
      relay_value_from_tensor(&tensor, [](void* count) { ++*static_cast<int*>(count); }, &released, &shared), RELAY_OK);
  ASSERT_EQ(relay_value_reference(shared, &reference), RELAY_OK);
  ASSERT_EQ(relay_value_field(reference, 0, &content), RELAY_OK);
  relay_value_free(shared);
  ASSERT_EQ(relay_value_as_tensor(content, &out), RELAY_OK);
  EXPECT_EQ(out.data, data.data());
  relay_value_free(content);
  EXPECT_EQ(released, 0);
  relay_value_free(reference);
  EXPECT_EQ(released, 1);
  for (relay_value* v : {element, list, result, mapped_list, function, again, first}) relay_value_free(v);
  relay_model_free(model);
}

// y[i, j] = x[i, j] + bias[j] for any m rows; x is (m * 2, 3).
TEST(Build, SymbolicShapes) {
  LoweredFunction f;
  f.name = "symbolic";
  Expr m = var("m"), rows = m * 2, i = var("i"), j = var("j"), k = var("rows");
  f.shape_vars = {m};
  f.input_types = {ir::tensor_type({rows, imm(3)}, f32)};
  f.input_names = {"x"};
  loop::BufferRef a = param("a", {k, imm(3)}), b = param("b", {imm(3)}), c = param("c", {k, imm(3)});
  loop::Kernel kernel = elementwise("add", {a, b, c}, {k}, k, i, {i, j}, load(a, {i, j}) + load(b, {j}));
  kernel.body = loop::for_(j, imm(0), imm(3), loop::ForKind::Serial, kernel.body);
  f.kernels = {kernel};
  f.arrays = {array(Array::Kind::Input, "x", {rows, imm(3)}, 0), array(Array::Kind::Constant, "bias", {imm(3)}),
              array(Array::Kind::Output, "y", {rows, imm(3)}, 0)};
  f.arrays[1].value = Tensor::from_doubles({3}, f32, std::vector<double>{100, 200, 300});
  f.steps = {step(0, {0, 1}, 2)};
  f.steps[0].sizes = {rows};
  for (bool vm : {false, true}) {
    Result<std::shared_ptr<runtime::Executable>> e =
        build(with_sizes(f), {.target = here(), .executor = vm ? std::optional(runtime::Executor::Vm) : std::nullopt});
    ASSERT_TRUE(e) << render(e.errors());
    for (int64_t n : {2, 4, 100}) {
      std::vector<Tensor> in = {Tensor::full({n, 3}, f32, 1)};
      Result<std::vector<Tensor>> out = (*e)->run(in);
      ASSERT_TRUE(out) << render(out.errors());
      ASSERT_EQ((*out)[0].shape(), (Shape{n, 3}));
      for (int64_t at = 0; at < n * 3; ++at) EXPECT_EQ((*out)[0].at(at), 101 + 100 * static_cast<double>(at % 3));
    }
    std::vector<Tensor> odd = {Tensor::full({5, 3}, f32, 1)};
    EXPECT_EQ((*e)->run(odd).errors()[0].message, "input `x`: dimension 0 is 5, which is not of the form `m * 2`");
  }
}

// A temporary with a halo: out[i] = t[i - 1] + t[i + 1], where t is x and 0.5 outside.
TEST(Build, BordersArePartOfAnArraysSize) {
  LoweredFunction f;
  f.input_types = {ir::tensor_type({4}, f32)};
  f.input_names = {"x"};
  Expr i = var("i"), n = imm(4);
  loop::BufferRef x = param("x", {n}), t = param("t", {imm(6)}), y = param("y", {n});
  loop::Kernel edge = elementwise("edge", {t}, {}, imm(2), i, {i * 5}, scalar::fimm(0.5));
  f.kernels = {elementwise("inside", {x, t}, {}, n, i, {i + 1}, load(x, {i})), edge,
               elementwise("around", {t, y}, {}, n, i, {i}, load(t, {i}) + load(t, {i + 2}))};
  f.arrays = {array(Array::Kind::Input, "x", {n}, 0), array(Array::Kind::Temporary, "t", {n}),
              array(Array::Kind::Output, "y", {n}, 0)};
  f.arrays[1].layout.low = f.arrays[1].layout.high = {1};
  f.steps = {step(0, {0}, 1), step(1, {}, 1), step(2, {1}, 2)};
  Result<std::shared_ptr<runtime::Executable>> e = build(with_sizes(f), {.target = here()});
  ASSERT_TRUE(e) << render(e.errors());
  std::vector<Tensor> in = {Tensor::from_doubles({4}, f32, std::vector<double>{1, 2, 3, 4})};
  runtime::Report report;
  Result<std::vector<Tensor>> out = (*e)->run(in, {.report = &report});
  ASSERT_TRUE(out) << render(out.errors());
  EXPECT_EQ((*out)[0].to_doubles(), (std::vector<double>{2.5, 4, 6, 3.5}));
  EXPECT_EQ(report.arena_bytes, 64);
  EXPECT_EQ(report.kernel_calls, 3);
}

TEST(Build, SaysWhichVariableCannotBeFound) {
  LoweredFunction f;
  Expr m = var("m"), n = var("n");
  f.shape_vars = {m, n};
  f.input_types = {ir::tensor_type({m + n}, f32)};
  f.input_names = {"x"};
  f.arrays = {array(Array::Kind::Input, "x", {m + n}, 0), array(Array::Kind::Output, "y", {m + n}, 0)};
  f.arrays[1].alias = 0;
  Result<Built> built = build_program(with_sizes(f), {.target = here()});
  ASSERT_FALSE(built);
  EXPECT_EQ(built.errors()[0].message, "the shape variable `m` cannot be derived from the shapes of the inputs");
}

TEST(Build, UnusedInputsAndReturnedInputsAreFine) {
  LoweredFunction f;
  Expr n = imm(2);
  f.input_types = {ir::tensor_type({2}, f32), ir::tensor_type({3}, f32)};
  f.input_names = {"x", "unused"};
  f.arrays = {array(Array::Kind::Input, "x", {n}, 0), array(Array::Kind::Output, "y", {n}, 0),
              array(Array::Kind::Input, "unused", {imm(3)}, 1)};
  f.arrays[1].alias = 0;
  Result<std::shared_ptr<runtime::Executable>> e = build(with_sizes(f), {.target = here()});
  ASSERT_TRUE(e) << render(e.errors());
  ASSERT_EQ((*e)->inputs().size(), 2u);
  std::vector<Tensor> in = {Tensor::full({2}, f32, 3), Tensor::full({3}, f32, 4)};
  Result<std::vector<Tensor>> out = (*e)->run(in);
  ASSERT_TRUE(out) << render(out.errors());
  EXPECT_EQ((*out)[0].to_doubles(), in[0].to_doubles());
}

TEST(Sizes, TranslateAsWritten) {
  Expr m = var("m"), n = var("n");
  SizeTranslator translate({m, n});
  std::vector<int64_t> values = {7, 3};
  std::vector<std::string> names = {"m", "n"};
  for (const Expr& e :
       {m * 224 + n, scalar::floordiv(m + 1, int64_t{2}), scalar::min(m, n), scalar::floormod(m, int64_t{4}),
        scalar::select(scalar::lt(m, n), m, n), scalar::max(m - n, imm(5))}) {
    Result<runtime::SizeExpr> size = translate(e);
    ASSERT_TRUE(size) << render(size.errors());
    EXPECT_EQ(runtime::evaluate(*size, values), scalar::evaluate(e, {{m, 7}, {n, 3}})) << scalar::str(e);
  }
  EXPECT_FALSE(translate(scalar::any_dim()));
  EXPECT_FALSE(translate(var("k")));
}

}  // namespace
}  // namespace relay::exec
