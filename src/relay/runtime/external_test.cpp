#include "relay/runtime/external.h"

#include <gtest/gtest.h>

#include <cstring>

#include "relay/runtime/artifacts/artifact.h"
#include "relay/runtime/relay_c.h"
#include "relay/runtime/test_programs.h"

namespace relay::runtime {
namespace {

// "scale": multiplies by the number in its payload and adds its constant; refuses arrays of one row.
void* load(const relay_external_source* source, relay_external_error* error) {
  if (source->payload_bytes != 1 || source->constant_count != 1) {
    std::strcpy(error->text, "one byte and one constant are needed");
    return nullptr;
  }
  return new std::pair<float, float>(static_cast<const char*>(source->payload)[0] - '0',
                                     *static_cast<const float*>(source->constants[0].data));
}
int run(void* function, const relay_external_array* in, int32_t inputs, const relay_external_array* out,
        int32_t outputs, int32_t threads, relay_external_error* error) {
  const auto& [factor, added] = *static_cast<std::pair<float, float>*>(function);
  EXPECT_EQ(inputs, 1);
  EXPECT_EQ(outputs, 2);
  EXPECT_GE(threads, 1);
  EXPECT_EQ(in[0].rank, 2);
  EXPECT_EQ(in[0].type_code, 2);
  EXPECT_EQ(in[0].type_bits, 32);
  for (const void* data : {in[0].data, out[0].data, out[1].data}) EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0);
  if (in[0].shape[0] == 1) {
    std::strcpy(error->text, "one row is too few");
    return 7;
  }
  for (int64_t i = 0; i < in[0].shape[0] * in[0].shape[1]; ++i) {
    static_cast<float*>(out[0].data)[i] = static_cast<const float*>(in[0].data)[i] * factor + added;
    static_cast<float*>(out[1].data)[i] = -1;
  }
  return 0;
}
void unload(void* function) { delete static_cast<std::pair<float, float>*>(function); }
constexpr relay_external_library scale{RELAY_EXTERNAL_VERSION, "scale", load, run, unload};

// Computes (x + 1) * 3 + 10 + 1, and the other output.
std::shared_ptr<Program> external_program(const std::string& library = "scale") {
  relay_external_register(&scale);
  std::shared_ptr<Program> p = hand_program();
  p->constants = {Tensor::full({1}, DType::float32(), 10)};
  p->externals = {{library, "triple", "3", {0}, 1, 2}};
  SegmentBuilder b("main");
  const SizeExpr m = b.variable("m"), n = b.variable("n"), all = apply(SizeOp::Mul, m, n);
  const DType f32 = DType::float32();
  const uint32_t x = b.input("x", f32, {m, n}), sum = b.temporary("", f32, {m, n}),
                 product = b.temporary("", f32, {m, n}), out = b.output("out", f32, {m, n}),
                 other = b.output("other", f32, {m, n});
  b.bind(0, 0, 0);
  b.bind(1, 0, 1);
  b.kernel(AddOne, {x, sum}, {}, all);
  b.external(0, {sum, product, other});
  b.kernel(AddOne, {product, out}, {}, all);
  p->segments.push_back(b.finish());
  return p;
}

TEST(External, RunsOnEveryExecutor) {
  const std::shared_ptr<Program> p = external_program();
  ASSERT_TRUE(validate(*p));
  EXPECT_NE(str(*p).find("external triple of scale (%1) to (%2, other)"), std::string::npos) << str(*p);
  for (Executor how : {Executor::Graph, Executor::Vm}) {
    Result<std::shared_ptr<Executable>> e = Executable::create(p, hand_library(), {.threads = 2, .executor = how});
    ASSERT_TRUE(e) << render(e.errors());
    for (Shape shape : {Shape{3, 4}, {5, 7}, {2, 0}, {3, 4}}) {
      std::vector<Tensor> in = {iota(shape)};
      Report report;
      report.time_steps = true;
      Result<std::vector<Tensor>> out = (*e)->run(in, {.report = &report});
      ASSERT_TRUE(out) << render(out.errors());
      for (int64_t i = 0; i < in[0].elements(); ++i) {
        ASSERT_EQ((*out)[0].at(i), (static_cast<double>(i) + 1) * 3 + 11);
        ASSERT_EQ((*out)[1].at(i), -1);
      }
      if (in[0].elements() == 0) continue;
      ASSERT_EQ(report.steps.size(), 3);
      EXPECT_EQ(report.steps[1].kernel, "triple");
    }
    // A failure ends the run, and the next one succeeds.
    for (int64_t rows : {1, 2}) {
      std::vector<Tensor> in = {iota({rows, 3})};
      Result<std::vector<Tensor>> out = (*e)->run(in);
      ASSERT_EQ(static_cast<bool>(out), rows > 1);
      if (!out) EXPECT_EQ(out.errors()[0].message, "`triple` of the library 'scale' failed: one row is too few");
    }
  }
}

TEST(External, ArraysThatAreNotAlignedAreCopied) {
  std::shared_ptr<Program> p = hand_program();
  relay_external_register(&scale);
  p->constants = {Tensor::full({1}, DType::float32(), 10)};
  p->externals = {{"scale", "triple", "3", {0}, 1, 2}};
  SegmentBuilder b("main");
  const SizeExpr two = SizeExpr::constant(2);
  const uint32_t x = b.input("x", DType::float32(), {two, two}), y = b.output("y", DType::float32(), {two, two}),
                 z = b.output("z", DType::float32(), {two, two});
  b.external(0, {x, y, z});
  p->segments.push_back(b.finish());
  Result<std::shared_ptr<Executable>> e = Executable::create(p, hand_library(), {});
  ASSERT_TRUE(e) << render(e.errors());
  Tensor memory = iota({32});
  auto place = [&](int64_t at) {
    return Tensor::view(static_cast<float*>(memory.mutable_data()) + at, {2, 2}, DType::float32(), nullptr);
  };
  std::vector<Tensor> in = {place(1)}, out = {place(6), place(11)};
  ASSERT_TRUE((*e)->run_into(in, out));
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(memory.at(6 + i), (1.0 + static_cast<double>(i)) * 3 + 10);
    EXPECT_EQ(memory.at(11 + i), -1);
  }
  EXPECT_EQ(memory.at(10), 10);
  EXPECT_EQ(memory.at(15), 15);
}

TEST(External, WhatIsMissingIsNamed) {
  Result<std::shared_ptr<Executable>> e = Executable::create(external_program("nothing"), hand_library(), {});
  ASSERT_FALSE(e);
  EXPECT_EQ(e.errors()[0].kind, DiagnosticKind::incompatible_artifact);
  EXPECT_EQ(e.errors()[0].message, "the program calls `triple` of the library 'nothing', which was not found");
  EXPECT_FALSE(e.errors()[0].help.empty());
  e = Executable::create(external_program("../../evil"), hand_library(), {});
  ASSERT_FALSE(e);
  EXPECT_TRUE(e.errors()[0].notes.empty());  // nothing was opened
  std::shared_ptr<Program> p = external_program();
  p->externals[0].payload = "33";
  e = Executable::create(p, hand_library(), {});
  ASSERT_FALSE(e);
  EXPECT_EQ(e.errors()[0].message, "the library 'scale' cannot load `triple`: one byte and one constant are needed");
  EXPECT_EQ(relay_external_register(nullptr), -1);
  relay_external_library later = scale;
  later.version = RELAY_EXTERNAL_VERSION + 1;
  EXPECT_EQ(relay_external_register(&later), -1);
}

TEST(External, ProgramsAreChecked) {
  auto refused = [](const std::function<void(Program&)>& change) {
    std::shared_ptr<Program> p = external_program();
    change(*p);
    return !validate(*p);
  };
  EXPECT_FALSE(refused([](Program&) {}));
  EXPECT_TRUE(refused([](Program& p) { p.externals.clear(); }));
  EXPECT_TRUE(refused([](Program& p) { p.externals[0].inputs = 2; }));
  EXPECT_TRUE(refused([](Program& p) { p.externals[0].inputs = UINT32_MAX; }));
  EXPECT_TRUE(refused([](Program& p) { p.externals[0].constants = {5}; }));
  EXPECT_TRUE(refused([](Program& p) { p.externals[0].symbol = ""; }));
  EXPECT_TRUE(refused([](Program& p) { p.externals[0].library = std::string("a\0b", 3); }));
  EXPECT_TRUE(refused([](Program& p) { p.segments[0].operands[p.segments[0].steps[1].args.begin + 1] = 0; }));
  // Arrays that are stored with gaps between rows are detected when sizes are known.
  std::shared_ptr<Program> p = external_program();
  p->segments[0].arrays[2].bytes = SizeExpr::constant(1 << 20);
  Result<Plan> plan = runtime::plan(*p, p->segments[0], {3, 4});
  ASSERT_FALSE(plan);
}

TEST(External, GoesThroughAnArtifact) {
  Artifact a;
  a.producer = "relay test", a.target = {"generic", "", "", {}}, a.code = "not really code";
  a.program = external_program();
  const std::string bytes = write_artifact(a);
  std::shared_ptr<char> aligned(static_cast<char*>(std::aligned_alloc(64, (bytes.size() + 127) / 64 * 64)), std::free);
  std::memcpy(aligned.get(), bytes.data(), bytes.size());
  Result<Artifact> read = read_artifact({aligned.get(), bytes.size()}, aligned, "test");
  ASSERT_TRUE(read) << render(read.errors());
  ASSERT_EQ(read->program->externals.size(), 1);
  EXPECT_EQ(read->program->externals[0].payload, "3");
  EXPECT_EQ(str(*read->program), str(*a.program));
  Result<std::shared_ptr<Executable>> e = Executable::create(read->program, hand_library(), {});
  ASSERT_TRUE(e) << render(e.errors());
  std::vector<Tensor> in = {iota({2, 2})};
  EXPECT_EQ((*(*e)->run(in))[0].at(3), (3.0 + 1) * 3 + 11);
}

TEST(External, AnElfPayloadMustBeOne) {
  std::shared_ptr<Program> p = external_program("elf");
  Result<std::shared_ptr<Executable>> e = Executable::create(p, hand_library(), {});
  ASSERT_FALSE(e);
  EXPECT_NE(e.errors()[0].message.find("the library 'elf' cannot load `triple`"), std::string::npos);
}

}  // namespace
}  // namespace relay::runtime
