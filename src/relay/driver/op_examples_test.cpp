// Every operator's examples (op/op.h), each with sizes known and, where the example names its dimensions, with symbolic
// ones: compiled, run, and compared with the evaluator. One test an operator; a failure names the example.
// Their kernels are also compiled from C99, by gcc and clang.
//
//   relay_test_driver --gtest_filter='*nn_conv2d'
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "relay/driver/compile.h"
#include "relay/driver/targets.h"
#include "relay/driver/test_c_library.h"
#include "relay/eval/examples.h"
#include "relay/exec/build.h"
#include "relay/runtime/artifact.h"
#include "relay/typing/typing.h"

namespace relay::driver {
namespace {

using op::OpDef;
using Tensors = std::vector<Tensor>;

// This machine with all it has, and with shorter vectors and without masks.
const std::vector<std::pair<std::string, TargetDesc>>& targets() {
  static const std::vector<std::pair<std::string, TargetDesc>> all = [] {
    std::vector<std::pair<std::string, TargetDesc>> out;
    for (const char* text : {"native", "native,-avx512f"}) {
      Result<TargetDesc> target = find_target(text);
      if (!target)
        ADD_FAILURE() << render(target.errors());
      else if (out.empty() || target->vector_bytes != out[0].second.vector_bytes)
        out.emplace_back(text, *target);
    }
    return out;
  }();
  return all;
}

// The call alone, as no pass has touched it.
Result<exec::Built> build_call(const eval::ExampleCase& c, const TargetDesc& target) {
  ir::Module module;
  module.functions["main"] = eval::function(c);
  RELAY_ASSIGN(ir::Module typed, typing::infer(module));
  if (c.def->shape) {  // sizes that depend on values: no single kernel
    CompileOptions options;
    options.target = target, options.opt_level = 0;
    RELAY_ASSIGN(Compiled compiled, compile(typed, options));
    return compiled.built;
  }
  lower::LowerOptions options;
  options.target = target;
  RELAY_ASSIGN(lower::LoweredFunction lowered, lower::lower(typed.functions.at("main"), "main", options));
  return exec::build_program(lowered, {.target = target});
}

// One unit in the last place of the largest finite value.
double unit(const Tensor& t) {
  double largest = 0;
  for (int64_t i = 0; i < t.elements(); ++i)
    if (std::isfinite(t.at(i))) largest = std::max(largest, std::abs(t.at(i)));
  DType type = t.dtype();
  int bits = type == DType::float64() ? 52 : type == DType::float32() ? 23 : type == DType::float16() ? 10 : 7;
  return largest > 0 ? std::ldexp(1, std::ilogb(largest) - bits) : 0;
}

// Integers and whatever is not finite are equal; floats may be `ulps` units of the largest apart.
void expect_close(const Tensor& got, const Tensor& want, double ulps) {
  ASSERT_EQ(got.shape(), want.shape());
  ASSERT_EQ(got.dtype().str(), want.dtype().str());
  if (!want.dtype().is_float()) {
    for (int64_t i = 0; i < want.elements(); ++i) ASSERT_EQ(got.int_at(i), want.int_at(i)) << "at " << i;
    return;
  }
  double allowed = ulps * unit(want);
  for (int64_t i = 0; i < want.elements(); ++i) {
    double a = got.at(i), b = want.at(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    ASSERT_LE(std::abs(a - b), allowed) << format("at {}: {} for {}, {:.1f} units of the largest", i, a, b,
                                                  std::abs(a - b) / unit(want));
  }
}

void expect_equal(const Result<Tensors>& got, const Tensors& want, const char* what) {
  ASSERT_TRUE(got) << what << "\n" << render(got.errors());
  ASSERT_EQ(got->size(), want.size()) << what;
  for (size_t k = 0; k < want.size(); ++k) EXPECT_TRUE(equal((*got)[k], want[k])) << what << ": result " << k;
}

// The same program through a file.
void check_artifact(const exec::Built& built, const TargetDesc& target, const Tensors& inputs, const Tensors& want) {
  std::string path = format("{}relay_op_examples_{}.rart", testing::TempDir(), getpid());
  Status saved = exec::save(built, {.target = target}, {}, path);
  ASSERT_TRUE(saved) << render(saved.errors());
  Result<std::shared_ptr<runtime::Executable>> loaded = runtime::load_executable(path);
  std::remove(path.c_str());
  ASSERT_TRUE(loaded) << render(loaded.errors());
  expect_equal((*loaded)->run(inputs), want, "from a file");
}

// The same kernels from C.
void check_c(const exec::Built& built, const Tensors& inputs, const Tensors& want, double ulps, bool by_all) {
  for (const char* compiler : {"gcc", "clang-22"}) {
    if (!by_all && compiler != std::string("gcc")) continue;
    SCOPED_TRACE(format("kernels compiled by {}", compiler));
    std::shared_ptr<runtime::KernelLibrary> library = c_library(built.kernels, compiler);
    ASSERT_TRUE(library);
    Result<std::shared_ptr<runtime::Executable>> executable = runtime::Executable::create(built.program, library, {});
    ASSERT_TRUE(executable) << render(executable.errors());
    Result<Tensors> got = (*executable)->run(inputs);
    ASSERT_TRUE(got) << render(got.errors());
    ASSERT_EQ(got->size(), want.size());
    // The C library's exp and its kind are off by a unit more than ours are.
    for (size_t k = 0; k < want.size(); ++k) expect_close((*got)[k], want[k], ulps + 1);
  }
}

void check_case(const eval::ExampleCase& c, const TargetDesc& target, const Tensors& inputs, const Tensors& want,
                bool with_artifact, bool in_c) {
  Result<exec::Built> built = build_call(c, target);
  ASSERT_TRUE(built) << render(built.errors());
  Result<std::shared_ptr<runtime::Executable>> executable = exec::build(*built, {.target = target, .threads = 2});
  ASSERT_TRUE(executable) << render(executable.errors());
  Result<Tensors> got = (*executable)->run(inputs, {.threads = 1});
  ASSERT_TRUE(got) << render(got.errors());
  ASSERT_EQ(got->size(), want.size());
  for (size_t k = 0; k < want.size(); ++k) {
    SCOPED_TRACE(format("result {}", k));
    expect_close((*got)[k], want[k], c.example->ulps);
  }
  expect_equal((*executable)->run(inputs, {.threads = 2}), *got, "with 2 threads");
  if (with_artifact) check_artifact(*built, target, inputs, *got);
  if (in_c) check_c(*built, inputs, want, c.example->ulps, with_artifact);
}

class OpExamples : public testing::TestWithParam<const OpDef*> {};

TEST_P(OpExamples, RunAsEvaluated) {
  const OpDef& def = *GetParam();
  for (size_t i = 0; i < def.examples.size(); ++i) {
    if (def.examples[i].bench) continue;  // too large for the evaluator
    std::vector<eval::ExampleCase> forms;
    Result<eval::ExampleCase> fixed = eval::example_case(def, i);
    ASSERT_TRUE(fixed) << render(fixed.errors());
    forms.push_back(*fixed);
    if (!def.examples[i].symbolic.empty()) {
      Result<eval::ExampleCase> symbolic = eval::symbolic_case(def, i);
      ASSERT_TRUE(symbolic) << render(symbolic.errors());
      forms.push_back(*symbolic);
    }
    Tensors inputs = eval::example_inputs(*fixed);
    Result<Tensors> want = eval::evaluate_case(*fixed, inputs);
    ASSERT_TRUE(want) << fixed->name << "\n" << render(want.errors());
    for (const auto& [name, target] : targets())
      for (const eval::ExampleCase& form : forms) {
        SCOPED_TRACE(
            format("{}{}, target {}", form.name, def.examples[i].attrs.empty() ? "" : " " + form.example->attrs, name));
        const bool first = &target == &targets()[0].second;
        check_case(form, target, inputs, *want, first && i == 0, first);
      }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OpExamples, testing::ValuesIn(op::all()),
                         [](const testing::TestParamInfo<const OpDef*>& info) {
                           std::string name = info.param->name;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace relay::driver
