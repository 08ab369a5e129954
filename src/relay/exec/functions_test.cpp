// Functions as machine code: the requirements of the VM's tests on all executors, and the failures that only machine
// code can have.
#include "relay/exec/test_functions.h"
#include "relay/runtime/functions/function_tests.h"

namespace relay::runtime {

static std::shared_ptr<const KernelLibrary> compiled(const Program& program,
                                                     std::shared_ptr<const KernelLibrary> kernels) {
  Result<std::shared_ptr<const KernelLibrary>> library = with_functions(program, std::move(kernels));
  if (!library) throw CompileError(library.errors());
  return *library;
}
INSTANTIATE_TEST_SUITE_P(Aot, Functions, testing::Values(FunctionRunner{"aot", compiled}), name_of_runner);

namespace {

// --- operations that fail --------------------------------------------------------------------------------------------

// The runtime's operations; the one at which `fails_at` reaches zero fails, as if out of memory.
int fails_at = -1;
bool fails() { return fails_at >= 0 && fails_at-- == 0; }
relay_operations failing_operations() {
  relay_operations op = native_operations;
  op.segment = [](relay_run* run, uint32_t site, relay_object* const* args, relay_object** results) {
    return fails() ? 0 : native_operations.segment(run, site, args, results);
  };
  op.tuple = [](relay_run* run, relay_object* const* fields, uint32_t count) {
    return fails() ? nullptr : native_operations.tuple(run, fields, count);
  };
  op.data = [](relay_run* run, uint32_t type, uint16_t tag, relay_object* const* fields, uint32_t count) {
    return fails() ? nullptr : native_operations.data(run, type, tag, fields, count);
  };
  op.closure = [](relay_run* run, uint32_t function, relay_object* const* captures, uint32_t count) {
    return fails() ? nullptr : native_operations.closure(run, function, captures, count);
  };
  op.tensor_of_shape = [](relay_run* run, uint32_t function, uint32_t instruction, relay_object* const* args) {
    return fails() ? nullptr : native_operations.tensor_of_shape(run, function, instruction, args);
  };
  op.reference = [](relay_run* run, relay_object* content) {
    return fails() ? nullptr : native_operations.reference(run, content);
  };
  op.read = [](relay_run* run, relay_object* reference) {
    return fails() ? nullptr : native_operations.read(run, reference);
  };
  op.write = [](relay_run* run, relay_object* reference, relay_object* content) {
    return fails() ? 0 : native_operations.write(run, reference, content);
  };
  return op;
}

TEST(Aot, WhateverFailsNothingLeaks) {
  std::shared_ptr<Program> p = every_instruction_program();
  Result<LinkedProgram> linked = link(p, compiled(*p, hand_library()));
  ASSERT_TRUE(linked);
  RunContext context(*linked);
  NativeFunctions functions(context, *linked->native, 1000);
  relay_operations failing = failing_operations();
  functions.run().operations = &failing;
  ThreadPool::Session session(ThreadPool::global(), 1);
  Value x = scalar(3);
  size_t before = 0;
  int ways = 0;
  for (int turn = 0; turn < 100; ++turn) {
    for (fails_at = ways = 0;; fails_at = ++ways) {
      Object* args[] = {Value(x).detach()};
      context.begin(session, nullptr);
      Object* result = functions.call(0, args);
      bool done = fails_at >= 0;  // there were fewer operations
      EXPECT_EQ(result != nullptr, done) << "operation " << ways;
      if (result) release(result);
      context.end();
      EXPECT_TRUE(is_unique(x.get())) << "operation " << ways;
      EXPECT_EQ(context.references().live(), 0u);
      if (done) break;
    }
    if (turn == 50) before = heap_bytes();
  }
  EXPECT_EQ(ways, 12);
  EXPECT_LT(heap_bytes(), before + 1000);
}

TEST(Aot, AnExceptionPassesByTheCode) {
  std::shared_ptr<Program> p = sum_program();
  std::shared_ptr<const KernelLibrary> throws = std::make_shared<HandLibrary>(std::map<std::string, KernelFn>{
      {"add_one", add_one},
      {"add", [](void* const*, const int64_t*, int64_t, int64_t, void*) { throw std::bad_alloc(); }},
      {"less", less},
      {"reverse_rows", reverse_rows}});
  Result<LinkedProgram> linked = link(p, compiled(*p, throws));
  ASSERT_TRUE(linked);
  RunContext context(*linked);
  NativeFunctions functions(context, *linked->native, 1000);
  ThreadPool::Session session(ThreadPool::global(), 1);
  context.begin(session, nullptr);
  Value list = list_of(3);
  Object* args[] = {Value(list).detach()};
  EXPECT_THROW(functions.call(0, args), std::bad_alloc);
  EXPECT_TRUE(is_unique(list.get()));
  context.end();
}

// --- code and runtime ------------------------------------------------------------------------------------------------

TEST(Aot, TheCodeMustBeForThisProgramAndRuntime) {
  class Other : public KernelLibrary {
   public:
    relay_functions table{RELAY_NATIVE_VERSION, 2, nullptr};
    KernelFn find(const std::string& name) const override { return hand_library()->find(name); }
    const relay_functions* functions() const override { return &table; }
  };
  std::shared_ptr<Other> other = std::make_shared<Other>();
  other->table.version = RELAY_NATIVE_VERSION + 1;
  EXPECT_EQ(Executable::create(sum_program(), other).errors()[0].message,
            format("the code of the functions is for version {} of the runtime's interface, and this is {}",
                   RELAY_NATIVE_VERSION + 1, RELAY_NATIVE_VERSION));
  other->table.version = RELAY_NATIVE_VERSION;
  EXPECT_EQ(Executable::create(push_program(), other).errors()[0].message,
            "the functions of the code do not match those of the program");
  EXPECT_EQ(Executable::create(sum_program(), hand_library(), {.executor = Executor::Aot}).errors()[0].message,
            "the program's functions are not machine code");
  EXPECT_EQ(Executable::create(sum_program(), hand_library(), {.executor = Executor::Graph}).errors()[0].message,
            "the program has branches or calls, which the graph executor cannot run");
  // A graph has no functions; the VM also runs programs with machine code.
  Result<std::shared_ptr<Executable>> graph =
      Executable::create(chain_program(2), hand_library(), {.executor = Executor::Aot});
  ASSERT_TRUE(graph);
  EXPECT_EQ((*graph)->executor(), Executor::Graph);
  std::shared_ptr<Program> p = sum_program();
  Result<std::shared_ptr<Executable>> vm =
      Executable::create(p, compiled(*p, hand_library()), {.executor = Executor::Vm});
  ASSERT_TRUE(vm);
  EXPECT_EQ((*vm)->executor(), Executor::Vm);
  EXPECT_EQ(number(call(*vm, {list_of(4)})), 6);
}

TEST(Aot, TailCallsAreJumps) {
  std::shared_ptr<Program> p = sum_program();
  Result<std::string> text = codegen::llvm_text(*p, any_machine());
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("musttail call tailcc ptr @\"1 sum\""), std::string::npos) << *text;  // of main
  EXPECT_EQ(text->find("call tailcc ptr @\"1 sum\""), text->rfind("call tailcc ptr @\"1 sum\""))
      << *text;  // none of sum
  Result<std::string> assembly = codegen::assembly_text(*p, any_machine());
  ASSERT_TRUE(assembly);
  EXPECT_NE(assembly->find("relay.functions:"), std::string::npos) << *assembly;
}

}  // namespace
}  // namespace relay::runtime
