#include "relay/runtime/artifacts/artifact.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <random>

#include "relay/base/tile_permission.h"
#include "relay/runtime/relay_c.h"
#include "relay/runtime/test_programs.h"

namespace relay::runtime {
namespace {

Artifact sample() {
  Artifact a;
  a.producer = "relay test";
  a.target = {"generic", "", "", {}};
  // A program with all constructs: symbolic sizes, a loop, a call, constants.
  std::shared_ptr<Program> p = loop_program(), chain = chain_program(3), parts = parts_program();
  p->constants.push_back(iota({5, 7}));
  p->segments.push_back(chain->segments[0]);
  p->segments.push_back(parts->segments[0]);
  p->segments.back().checks.push_back({SizeExpr::constant(1), "always"});
  p->keeps_subnormals = true;
  a.executor = Executor::Vm;
  a.program = p;
  a.code = "not really code";
  return a;
}

Artifact tuple_sample() {
  Artifact a = sample();
  a.program = tuple_program();
  return a;
}

Result<Artifact> read(const std::string& bytes) {
  std::shared_ptr<char> aligned(static_cast<char*>(std::aligned_alloc(64, (bytes.size() + 127) / 64 * 64)),
                                [](char* p) { std::free(p); });
  std::memcpy(aligned.get(), bytes.data(), bytes.size());
  return read_artifact({aligned.get(), bytes.size()}, aligned, "test");
}

// A sample without backward jumps in its functions, so that it terminates whatever is changed.
Artifact forward_sample() {
  Artifact a = sample();
  a.program = every_instruction_program();
  return a;
}

// x + made, where made, the second constant, is the first plus one, computed by a kernel when the program is loaded.
Artifact prepared_sample() {
  std::shared_ptr<Program> p = hand_program();
  p->constants = {iota({64}), Tensor::view(nullptr, {64}, DType::float32(), nullptr)};
  p->preparations = {{.kernel = AddOne, .args = {0, 1}, .result = 1, .sizes = {}, .tasks = 64}};
  SegmentBuilder b("main");
  const SizeExpr all = SizeExpr::constant(64);
  const uint32_t x = b.input("x", DType::float32(), {all}), made = b.constant("made", 1, p->constants[1]),
                 out = b.output("out", DType::float32(), {all});
  b.kernel(Add, {x, made, out}, {}, all);
  p->segments.push_back(b.finish());
  Artifact a = sample();
  a.program = p, a.executor = Executor::Graph;
  return a;
}

TEST(Artifact, ReadsEveryInstruction) {
  for (const Artifact& sound : {forward_sample(), tuple_sample()}) {
    std::string bytes = write_artifact(sound);
    Result<Artifact> b = read(bytes);
    ASSERT_TRUE(b) << render(b.errors());
    EXPECT_EQ(str(*b->program), str(*sound.program));
    EXPECT_EQ(write_artifact(*b), bytes);
  }
}

TEST(Artifact, SignaturesThatLieAreDiagnostics) {
  const std::pair<void (*)(Signature&), const char*> lies[] = {
      {[](Signature& s) { s.fields[0].of = 1; }, "a field's tuple stands behind it"},
      {[](Signature& s) { s.fields[1].of = 1; }, "a field is in no tuple"},
      {[](Signature& s) { s.fields[1].index = 2; }, "a field is in no tuple"},
      {[](Signature& s) { s.inputs[0].kind.reset(); }, "a field is in no tuple"},
      {[](Signature& s) { s.bindings[0].input = 3; }, "a shape variable is bound from nothing"},
      {[](Signature& s) { s.bindings[0].dim = 2; }, "a shape variable is bound from a missing dimension"}};
  for (const auto& [change, said] : lies) {
    std::shared_ptr<Program> p = tuple_program();
    change(p->signature);
    Status status = validate(*p);
    ASSERT_FALSE(status) << said;
    EXPECT_NE(status.errors()[0].message.find(said), std::string::npos) << status.errors()[0].message;
  }
}

TEST(Artifact, ReadsChecksOfIndices) {
  Artifact a = sample();
  a.program = check_program();
  a.executor = Executor::Graph;
  const std::string bytes = write_artifact(a);
  Result<Artifact> b = read(bytes);
  ASSERT_TRUE(b) << render(b.errors());
  EXPECT_EQ(str(*b->program), str(*a.program));
  EXPECT_EQ(write_artifact(*b), bytes);
}

TEST(Artifact, ReadsWhatItWrote) {
  Artifact a = sample();
  std::string bytes = write_artifact(a);
  EXPECT_EQ(bytes, write_artifact(a));
  Result<Artifact> b = read(bytes);
  ASSERT_TRUE(b) << render(b.errors());
  EXPECT_EQ(str(*b->program), str(*a.program));
  EXPECT_EQ(b->code, a.code);
  EXPECT_EQ(b->producer, a.producer);
  EXPECT_EQ(b->executor, Executor::Vm);
  ASSERT_EQ(b->program->constants.size(), 2u);
  EXPECT_TRUE(equal(b->program->constants[1], a.program->constants[1]));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b->program->constants[1].data()) % 64, 0u);
  EXPECT_EQ(write_artifact(*b), bytes);
}

TEST(Artifact, TheExecutorIsForTheProgram) {
  Artifact a = sample();
  a.executor = Executor::Aot;
  Result<Artifact> b = read(write_artifact(a));
  ASSERT_TRUE(b) << render(b.errors());
  EXPECT_EQ(b->executor, Executor::Aot);
  a.executor = Executor::Graph;
  EXPECT_EQ(read(write_artifact(a)).errors()[0].message,
            "`test` is not a valid artifact: the executor graph does not match its program");
}

TEST(Artifact, EveryTruncationIsADiagnostic) {
  std::string bytes = write_artifact(sample());
  for (size_t n = 0; n < bytes.size(); n += 64) EXPECT_FALSE(read(bytes.substr(0, n))) << n;
  EXPECT_FALSE(read(bytes + "x"));
  // With a header that matches the file's size.
  for (uint64_t n = 64; n < bytes.size(); n += 64) {
    std::string cut = bytes.substr(0, n);
    std::memcpy(cut.data() + 16, &n, 8);
    EXPECT_FALSE(read(cut)) << n;
  }
}

// True without backward jumps: a changed jump or call may loop for ever.
bool ends(const Program& p) {
  for (uint32_t i = 0; i < p.functions.size(); ++i)
    for (uint32_t at = 0; at < p.functions[i].code.size(); ++at) {
      const Function& f = p.functions[i];
      const Instruction& in = f.code[at];
      if (in.op == Op::MakeClosure && in.index <= i) return false;
      bool jump = in.op == Op::Jump || in.op == Op::BranchIfFalse, call = in.op == Op::Call || in.op == Op::TailCall;
      if ((jump && in.index <= at) || (call && in.index <= i)) return false;
      for (uint32_t t = 0; in.op == Op::SwitchTag && t < in.list.count; ++t)
        if (f.lists[in.list.begin + t] <= at) return false;
    }
  return true;
}

// Exercises everything except running code: the kernels do nothing.
void exercise(const Artifact& artifact) {
  class Nothing : public KernelLibrary {
   public:
    KernelFn find(const std::string&) const override {
      return [](void* const*, const int64_t*, int64_t, int64_t, void*) {};
    }
  };
  Result<std::shared_ptr<Executable>> e =
      Executable::create(artifact.program, std::make_shared<Nothing>(), {.threads = 1});
  if (!e) return;
  str(*artifact.program);
  std::vector<Tensor> in;
  for (const PortInfo& port : (*e)->inputs()) {
    Shape shape;
    for (int64_t d : port.dims) shape.push_back(d < 0 || d > 1000 ? 4 : d);
    std::optional<int64_t> elements = element_count(shape);
    if (!elements || *elements > 1000000) return;
    in.push_back(Tensor::full(shape, port.dtype, 0));
  }
  std::vector<Shape> given;
  for (const Tensor& t : in) given.push_back(t.shape());
  Result<std::vector<Shape>> shapes = (*e)->output_shapes(given);
  if (!shapes) return;
  for (const Shape& s : *shapes) {
    std::optional<int64_t> elements = element_count(s);
    if (!elements || *elements > 1000000) return;
  }
  if (!artifact.program->is_graph()) {
    if (ends(*artifact.program)) (void)(*e)->run(in, {.threads = 1});
    return;
  }
  Result<std::vector<int64_t>> variables = bind_variables(artifact.program->graph(), given);
  if (!variables) return;
  Result<Plan> planned = plan(*artifact.program, artifact.program->graph(), *variables);
  if (!planned || planned->arena_bytes > (64 << 20) || planned->scratch_bytes > (64 << 20)) return;
  (void)(*e)->run(in);
}

TEST(Artifact, ByteFlipsGiveADiagnosticOrAValidProgram) {
  std::string samples[] = {write_artifact(sample()), write_artifact(forward_sample()),
                           write_artifact(prepared_sample()), write_artifact(tuple_sample())};
  std::mt19937 random(20261121);
  int read_anyway = 0;
  for (int turn = 0; turn < 6000; ++turn) {
    std::string bytes = samples[turn % 4];
    int flips = 1 + random() % 3;
    for (int i = 0; i < flips; ++i) bytes[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
    if (turn % 4 != 0) reseal_artifact(bytes);  // otherwise the checksum reports the change
    Result<Artifact> a = read(bytes);
    if (!a) continue;
    ++read_anyway;
    exercise(*a);
  }
  EXPECT_GT(read_anyway, 100);
}

TEST(Artifact, HostileCountsAskForNoMemory) {
  // Every aligned and unaligned 32-bit field of the description, set to large values.
  for (const std::string& sound :
       {write_artifact(sample()), write_artifact(prepared_sample()), write_artifact(tuple_sample())})
    for (size_t at = 64; at + 4 < sound.size(); ++at)
      for (uint32_t value : {0xffffffffu, 0x7fffffffu, 0x00ffffffu}) {
        std::string bytes = sound;
        std::memcpy(bytes.data() + at, &value, 4);
        reseal_artifact(bytes);
        Result<Artifact> a = read(bytes);
        if (a && value == 0xffffffffu) exercise(*a);
      }
}

TEST(Artifact, ConstantsAreMadeWhenItIsLoaded) {
  const Artifact a = prepared_sample();
  const std::string bytes = write_artifact(a);
  Result<Artifact> b = read(bytes);
  ASSERT_TRUE(b) << render(b.errors());
  EXPECT_EQ(b->program->preparations, a.program->preparations);
  EXPECT_EQ(write_artifact(*b), bytes);
  for (const std::shared_ptr<const Program>& program : {a.program, b->program}) {
    Result<std::shared_ptr<Executable>> e = Executable::create(program, hand_library());
    ASSERT_TRUE(e) << render(e.errors());
    Result<std::vector<Tensor>> out = (*e)->run(std::vector<Tensor>{iota({64})});
    ASSERT_TRUE(out) << render(out.errors());
    for (int64_t i = 0; i < 64; ++i) EXPECT_EQ((*out)[0].at(i), 2 * static_cast<double>(i) + 1);
  }
}

// Constants are computed in order of dependency; each kernel call sees all constants that it reads.
TEST(Artifact, ConstantsAreMadeOfOthers) {
  const Artifact a = prepared_sample();
  std::shared_ptr<Program> p = std::make_shared<Program>(*a.program);
  for (uint32_t i = 2; i < 9; ++i) {
    p->constants.push_back(Tensor::view(nullptr, {64}, DType::float32(), nullptr));
    p->preparations.push_back({.kernel = Add, .args = {i - 1, i - 2, i}, .result = 2, .sizes = {}, .tasks = 64});
  }
  for (Array& array : p->segments[0].arrays)
    if (array.kind == Array::Kind::Constant) array.index = 8;
  Result<std::shared_ptr<Executable>> e = Executable::create(p, hand_library());
  ASSERT_TRUE(e) << render(e.errors());
  Result<std::vector<Tensor>> out = (*e)->run(std::vector<Tensor>{iota({64})});
  ASSERT_TRUE(out) << render(out.errors());
  EXPECT_EQ((*out)[0].at(5), 5 + 13 * 5 + 21 * 6) << "Fibonacci's numbers of 5 and 6";
}

// Invalid preparations are refused before anything is allocated or called.
TEST(Artifact, PreparationsThatLieAreDiagnostics) {
  struct Lie {
    const char* name;
    void (*change)(Program& p);
    const char* said;
  };
  constexpr int64_t huge = int64_t{1} << 50;
  const char *missing = "reads what is not there, or makes it twice", *nothing = "writes nothing",
             *much = "too much of little", *tasks = "task count is out of range";
  const Lie lies[] = {
      {"kernel", [](Program& p) { p.preparations[0].kernel = 99; }, "kernel does not exist"},
      {"no argument", [](Program& p) { p.preparations[0].args.clear(); }, nothing},
      {"result behind the arguments", [](Program& p) { p.preparations[0].result = 2; }, nothing},
      {"many arguments", [](Program& p) { p.preparations[0].args.resize(33); }, nothing},
      {"many sizes", [](Program& p) { p.preparations[0].sizes.resize(4097); }, nothing},
      {"constant", [](Program& p) { p.preparations[0].args[0] = 7; }, "does not exist"},
      {"negative tasks", [](Program& p) { p.preparations[0].tasks = -1; }, tasks},
      {"many tasks", [](Program& p) { p.preparations[0].tasks = huge; }, tasks},
      {"writes what the file has", [](Program& p) { p.preparations[0].result = 0; }, missing},
      {"reads what it makes", [](Program& p) { p.preparations[0].args[0] = 1; }, missing},
      {"twice", [](Program& p) { p.preparations.push_back(p.preparations[0]); }, missing},
      {"never", [](Program& p) { p.preparations.clear(); }, "a constant has no data"},
      {"a large result",
       [](Program& p) { p.constants[1] = Tensor::view(nullptr, {int64_t{1} << 40}, DType::float32(), nullptr); }, much},
      {"many large results",
       [](Program& p) {
         p.constants[1] = Tensor::view(nullptr, {64, 64}, DType::float32(), nullptr);
         for (uint32_t i = 2; i < 1000; ++i) {
           p.constants.push_back(p.constants[1]);
           p.preparations.push_back({.kernel = AddOne, .args = {0, i}, .result = 1, .sizes = {}, .tasks = 64});
         }
       },
       much},
      {"a chain of large results",
       [](Program& p) {
         for (uint32_t i = 2; i < 8; ++i) {
           p.constants.push_back(Tensor::view(nullptr, {int64_t{64} << 6 * (i - 1)}, DType::float32(), nullptr));
           p.preparations.push_back({.kernel = AddOne, .args = {i - 1, i}, .result = 1, .sizes = {}, .tasks = 64});
         }
       },
       much},
  };
  class Counting : public KernelLibrary {
   public:
    KernelFn find(const std::string& name) const override { return ++asked, hand_library()->find(name); }
    mutable int asked = 0;
  };
  for (const Lie& lie : lies) {
    SCOPED_TRACE(lie.name);
    Artifact a = prepared_sample();
    std::shared_ptr<Program> p = std::make_shared<Program>(*a.program);
    lie.change(*p);
    a.program = p;
    Result<Artifact> b = read(write_artifact(a));
    ASSERT_FALSE(b);
    EXPECT_NE(b.errors()[0].message.find(lie.said), std::string::npos) << b.errors()[0].message;
    std::shared_ptr<Counting> library = std::make_shared<Counting>();
    EXPECT_FALSE(Executable::create(p, library));
    EXPECT_EQ(library->asked, 0);
  }
}

TEST(Artifact, RefusesAnotherMachine) {
  EXPECT_TRUE(check_machine({"generic", "", "", {}}));
  Status other = check_machine({"board", "mips64-unknown-linux-gnu", "", {}});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.errors()[0].kind, DiagnosticKind::incompatible_artifact);
  EXPECT_TRUE(check_machine({"here", "", "", {"+fast-gather", "-avx512f", "some-tuning"}}));
#if defined(__x86_64__)
  EXPECT_TRUE(check_machine({"here", "x86_64-unknown-linux-gnu", "", {"+sse3"}}));
  std::ifstream file("/proc/cpuinfo");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (text.find("amx_fp16") == std::string::npos) {
    Status lacking = check_machine({"granite", "x86_64-unknown-linux-gnu", "", {"+avx2", "+amx-fp16"}});
    ASSERT_FALSE(lacking);
    EXPECT_EQ(lacking.errors()[0].message, "the model is compiled for granite, but this machine lacks amx-fp16");
  }
  // The processor needs tiles, and the system must allow them.
  const Status tiles = check_machine({"sapphirerapids", "x86_64-unknown-linux-gnu", "", {"+avx2", "+amx-tile"}});
  EXPECT_EQ(static_cast<bool>(tiles), tile_permission().granted);
  if (!tiles) EXPECT_NE(tiles.errors()[0].help, "");
#endif
}

TEST(Artifact, BrokenCodeIsADiagnostic) {
  EXPECT_FALSE(load_code(""));
  EXPECT_FALSE(load_code(std::string(1000, 'x')));
  EXPECT_FALSE(load_code(std::string("\x7f"
                                     "ELF\x02\x01\x01",
                                     7) +
                         std::string(57, '\0')));
}

TEST(CApi, SaysWhatIsWrong) {
  relay_model* model = nullptr;
  EXPECT_EQ(relay_c_version(), static_cast<uint32_t>(RELAY_C_VERSION));
  EXPECT_EQ(relay_model_load(nullptr, nullptr, &model), RELAY_BAD_ARGUMENT);
  EXPECT_EQ(relay_model_load("/no/such/file", nullptr, &model), RELAY_BAD_FILE);
  EXPECT_NE(std::string(relay_last_error()).find("/no/such/file"), std::string::npos);
  std::string path = testing::TempDir() + "broken.rly";
  ASSERT_TRUE(save_artifact(sample(), path));
  EXPECT_EQ(relay_model_load(path.c_str(), nullptr, &model), RELAY_BAD_FILE);  // its code is not a shared object
  EXPECT_NE(std::string(relay_last_error()).find("code"), std::string::npos);
  EXPECT_EQ(model, nullptr);
  EXPECT_EQ(relay_model_run(nullptr, nullptr, 0, nullptr, 0), RELAY_BAD_ARGUMENT);
  int64_t calls, runs;
  EXPECT_EQ(relay_model_batching(nullptr, &calls, &runs), RELAY_BAD_ARGUMENT);
  relay_model_free(nullptr);
  relay_tensor_release(nullptr);
}

}  // namespace
}  // namespace relay::runtime
