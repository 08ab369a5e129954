#include "relay/runtime/devices/devices.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "relay/runtime/artifacts/artifact.h"
#include "relay/runtime/artifacts/artifact_format.h"
#include "relay/runtime/test_programs.h"

namespace relay::runtime {
namespace {

const DType f32 = DType::float32();

// fn main(x: float32[n]) { (x + 1) + 10 + 1 }, where the middle sum is computed on cpu:1, with the constant there.
std::shared_ptr<Program> transfer_program() {
  std::shared_ptr<Program> p = hand_program();
  p->devices.push_back({"cpu", 1});
  p->constants = {Tensor::full({8}, f32, 10)};
  SegmentBuilder b("main");
  const SizeExpr n = b.variable("n");
  const uint32_t x = b.input("x", f32, {n}), out = b.output("out", f32, {n}), first = b.temporary("", f32, {n}),
                 there = b.temporary_like(first, 1), ten = b.constant("ten", 0, p->constants[0]),
                 sum = b.temporary_like(first, 1), back = b.temporary("", f32, {n});
  b.bind(0, 0, 0);
  b.set_memory(ten, 1);
  b.kernel(AddOne, {x, first}, {}, n);
  b.copy(first, there);
  b.kernel(Add, {there, ten, sum}, {}, n);
  b.copy(sum, back);
  b.kernel(AddOne, {back, out}, {}, n);
  p->segments.push_back(b.finish());
  return p;
}

std::shared_ptr<Executable> executable(std::shared_ptr<Program> p, std::optional<Executor> executor = {}) {
  Result<std::shared_ptr<Executable>> made = Executable::create(std::move(p), hand_library(), {.executor = executor});
  EXPECT_TRUE(made) << render(made.errors());
  return made ? *made : nullptr;
}

TEST(Devices, AProgramOnTwoMemories) {
  for (const Executor executor : {Executor::Graph, Executor::Vm}) {
    const std::shared_ptr<Executable> e = executable(transfer_program(), executor);
    ASSERT_TRUE(e);
    for (int64_t n : {8, 3, 8, 0}) {
      Report report;
      const Result<std::vector<Tensor>> out = e->run(std::vector<Tensor>{iota({n})}, {.report = &report});
      ASSERT_TRUE(out) << render(out.errors());
      for (int64_t i = 0; i < n; ++i) EXPECT_EQ((*out)[0].at(i), static_cast<double>(i) + 12);
      EXPECT_EQ(report.transfers, n > 0 ? 2 : 0);
      EXPECT_EQ(report.transferred_bytes, n * 8);
      EXPECT_EQ(report.kernel_calls, n > 0 ? 3 : 0);
    }
  }
}

TEST(Devices, TheTextAndTheTimesTellThePlaces) {
  const std::shared_ptr<Program> p = transfer_program();
  EXPECT_EQ(str(*p),
            "segment main(x: float32[n]) {\n"
            "  output out: float32[n], n * 4 bytes\n"
            "  temporary %2: float32[n], n * 4 bytes\n"
            "  temporary %3: float32[n], n * 4 bytes on cpu:1\n"
            "  constant ten: float32[8], 32 bytes on cpu:1\n"
            "  temporary %5: float32[n], n * 4 bytes on cpu:1\n"
            "  temporary %6: float32[n], n * 4 bytes\n"
            "  kernel add_one(x, %2) tasks n\n"
            "  copy %2 to %3, cpu:0 to cpu:1\n"
            "  kernel add(%3, ten, %5) tasks n on cpu:1\n"
            "  copy %5 to %6, cpu:1 to cpu:0\n"
            "  kernel add_one(%6, out) tasks n\n"
            "  return (out)\n"
            "}\n");
  Report report;
  report.time_steps = true;
  ASSERT_TRUE(executable(p)->run(std::vector<Tensor>{iota({8})}, {.report = &report}));
  std::string steps;
  for (const StepTime& step : report.steps) steps += step.kernel + " on " + step.device + "\n";
  EXPECT_EQ(steps,
            "add_one on cpu:0\ncopy cpu:0 to cpu:1 on cpu:1\nadd on cpu:1\ncopy cpu:1 to cpu:0 on cpu:0\nadd_one on "
            "cpu:0\n");
}

// Without its copy, the step finds its arrays in two memories, whatever the program says about them.
TEST(Devices, AMissingCopyIsRefused) {
  std::shared_ptr<Program> p = transfer_program();
  Segment& f = p->segments[0];
  f.operands[f.steps[2].args.begin] = f.operands[f.steps[0].args.begin + 1];
  const Status missing = validate(*p);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.errors()[0].message.find("an array of `add` is not in the memory of its device"), std::string::npos)
      << missing.errors()[0].message;
  // An input of a graph is the caller's.
  p = transfer_program();
  p->segments[0].arrays[0].memory = 1;
  EXPECT_FALSE(validate(*p));
  p = transfer_program();
  p->segments[0].arrays[3].memory = 2;
  EXPECT_FALSE(validate(*p));
  p = transfer_program();
  p->devices.push_back({"cpu", 1});
  EXPECT_FALSE(validate(*p));
}

TEST(Devices, AKernelOfADeviceCannotReadAnotherMemory) {
  Result<uint32_t> number = device_number({"cpu", 1});
  ASSERT_TRUE(number);
  Device& d = device(*number);
  const std::shared_ptr<const DeviceKernel> kernel = *d.load(hand_library(), "add_one");
  ThreadPool::Session session(ThreadPool::global(), 1);
  std::vector<float> here(4, 1.0f);
  void* there = d.allocate(16);
  void* arrays[] = {here.data(), there};
  const int64_t bytes[] = {16, 16};
  const Status refused = d.launch(*kernel, {arrays, bytes, {}, 4, 0, session});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.errors()[0].message, "an array of a kernel of cpu:1 is not in the memory of that device");
  EXPECT_FALSE(d.upload(here.data(), here.data(), 16));
  EXPECT_FALSE(d.download(here.data(), static_cast<char*>(there) + 8192, 16));
  EXPECT_TRUE(d.upload(there, here.data(), 16));
  arrays[0] = there;
  EXPECT_TRUE(d.launch(*kernel, {arrays, bytes, {}, 4, 0, session}));
  EXPECT_TRUE(d.download(here.data(), there, 16));
  EXPECT_EQ(here[3], 2.0f);
  d.free(there);
}

TEST(Devices, OneThatIsNotThere) {
  const Result<uint32_t> missing = device_number({"abacus", 0});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.errors()[0].kind, DiagnosticKind::not_supported);
  EXPECT_EQ(*device_number({}), host_device);
}

// The host cannot touch the memory of a guarded device: what reads it without a copy ends the process.
TEST(DevicesDeathTest, GuardedMemoryIsOnlyForItsDevice) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  setenv("RELAY_GUARD_DEVICES", "1", 1);
  const uint32_t number = *device_number({"cpu", 7});
  Device& d = device(number);
  std::vector<float> values(4, 3.0f);
  void* there = d.allocate(16);
  EXPECT_TRUE(d.upload(there, values.data(), 16));
  EXPECT_TRUE(d.download(values.data(), there, 16));
  EXPECT_EQ(values[0], 3.0f);
  EXPECT_EXIT(*static_cast<volatile float*>(there) = 1, testing::KilledBySignal(SIGSEGV), "");
  d.free(there);
  EXPECT_EXIT(std::exit(static_cast<int>(*static_cast<volatile float*>(there))), testing::KilledBySignal(SIGSEGV), "");
}

// Programs run the same if the memories are guarded.
TEST(DevicesDeathTest, ProgramsRunInGuardedMemory) {
  setenv("RELAY_GUARD_DEVICES", "1", 1);
  std::shared_ptr<Program> p = transfer_program();
  p->devices[1] = {"cpu", 6};
  const Result<std::vector<Tensor>> out = executable(p)->run(std::vector<Tensor>{iota({5})}, {});
  ASSERT_TRUE(out) << render(out.errors());
  EXPECT_EQ((*out)[0].at(4), 16);
}

// fn main(x) { let y = add_one_there(x); (twice the same value on cpu:1) join(y, y) }: values in registers are in the
// memory of the device, and a segment that expects them elsewhere refuses them.
TEST(Devices, ValuesOnADevice) {
  std::shared_ptr<Program> p = hand_program();
  p->devices.push_back({"cpu", 1});
  auto segment = [&](const char* name, MemorySpace in, MemorySpace out) {
    SegmentBuilder b(name);
    const SizeExpr n = b.variable("n");
    const uint32_t x = b.input("x", f32, {n}), y = b.output("y", f32, {n});
    b.bind(0, 0, 0);
    b.set_memory(x, in), b.set_memory(y, out);
    if (in == out) {
      b.kernel(AddOne, {x, y}, {}, n);
    } else {
      b.copy(x, y);
    }
    p->segments.push_back(b.finish());
  };
  segment("there", 0, 1);
  segment("add", 1, 1);
  segment("back", 1, 0);
  FunctionBuilder f("main", 1);
  const uint32_t there = f.segment(0, {last(0)}, 1)[0];
  const uint32_t once = f.segment(1, {last(there)}, 1)[0], twice = f.segment(1, {last(once)}, 1)[0];
  f.ret(last(f.segment(2, {last(twice)}, 1)[0]));
  p->functions = {f.finish()};
  p->signature.inputs = p->signature.outputs = {{"x", "Tensor[(n), float32]", true, f32, {SizeExpr::variable(0)}}};
  p->signature.variables = {"n"}, p->signature.bindings = {{0, 0, 0}};
  const std::shared_ptr<Executable> e = executable(p);
  ASSERT_TRUE(e);
  Report report;
  Result<std::vector<Tensor>> out = e->run(std::vector<Tensor>{iota({1000})}, {.report = &report});
  ASSERT_TRUE(out) << render(out.errors());
  EXPECT_EQ((*out)[0].at(999), 1001);
  EXPECT_EQ(report.transfers, 2);
  // The same without the copy back returns a copy of a value on the device, and without the copy there it is refused.
  std::shared_ptr<Program> wrong = std::make_shared<Program>(*p);
  FunctionBuilder g("main", 1);
  g.ret(last(g.segment(1, {last(0)}, 1)[0]));
  wrong->functions = {g.finish()};
  out = executable(wrong)->run(std::vector<Tensor>{iota({4})}, {});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.errors()[0].message,
            "input `x` of segment add is a tensor of float32, but it must be a tensor of float32 on cpu:1");
}

TEST(Devices, AnArtifactKeepsThem) {
  Artifact a;
  a.producer = "relay test";
  a.executor = Executor::Graph;
  a.program = transfer_program();
  std::string bytes = write_artifact(a);
  auto read = [](const std::string& file) {
    std::shared_ptr<char> copy(static_cast<char*>(std::aligned_alloc(64, (file.size() + 63) / 64 * 64)),
                               [](char* p) { std::free(p); });
    std::memcpy(copy.get(), file.data(), file.size());
    return read_artifact({copy.get(), file.size()}, copy, "test");
  };
  const Result<Artifact> back = read(bytes);
  ASSERT_TRUE(back) << render(back.errors());
  EXPECT_EQ(back->program->devices, a.program->devices);
  EXPECT_EQ(str(*back->program), str(*a.program));
  Header h;
  std::memcpy(&h, bytes.data(), sizeof(h));
  h.version = 10;  // without devices
  std::memcpy(bytes.data(), &h, sizeof(h));
  const Result<Artifact> old = read(bytes);
  ASSERT_FALSE(old);
  EXPECT_EQ(old.errors()[0].kind, DiagnosticKind::incompatible_artifact);
}

}  // namespace
}  // namespace relay::runtime
