// Tests each operation of native.h, and the stack that functions run on. For the code compiled to them see
// exec/functions_test.cpp.
#include "relay/runtime/functions/native.h"

#include <gtest/gtest.h>

#include "relay/runtime/functions/native_functions.h"
#include "relay/runtime/test_programs.h"

namespace relay::runtime {
namespace {

relay_object* to_c(Value v) { return reinterpret_cast<relay_object*>(v.detach()); }
Object* from_c(relay_object* o) { return reinterpret_cast<Object*>(o); }

relay_object* every_operation(relay_run* run, relay_object** args) {
  const relay_operations& op = *run->operations;
  relay_object* pair[2] = {to_c(Value::share(from_c(args[0]))), args[0]};
  relay_object* content = op.tuple(run, pair, 2);
  relay_object* reference = op.reference(run, content);
  relay_object* empty = op.data(run, 0, nil, nullptr, 0);
  EXPECT_EQ(op.tag(run, empty, 0), nil);
  relay_object* captured[1] = {op.read(run, reference)};
  EXPECT_EQ(op.write(run, reference, empty), 1);
  EXPECT_EQ(op.write(run, captured[0], empty), 0);  // not a reference
  EXPECT_EQ(op.read(run, captured[0]), nullptr);
  EXPECT_EQ(op.tag(run, captured[0], 0), -1);
  EXPECT_EQ(op.is_true(run, captured[0]), -1);
  relay_object* field = op.field(run, captured[0], 1, 0);
  EXPECT_EQ(op.field(run, field, 0, 1), nullptr);  // a tensor has no fields
  relay_object *both[2] = {field, field}, *sum[1] = {}, *none[1] = {};
  EXPECT_EQ(op.segment(run, 0, both, sum), 1);
  EXPECT_EQ(Value::share(from_c(sum[0])).tensor().at(0), 2);
  both[1] = captured[0];
  EXPECT_EQ(op.segment(run, 0, both, none), 0);  // not a tensor
  relay_object* closure = op.closure(run, 1, captured, 1);
  EXPECT_EQ(op.closure_function(run, closure, 2), -1);
  EXPECT_EQ(op.closure_function(run, closure, 1), 1);
  EXPECT_EQ(op.more_stack(run, 0), 1);  // the run's kept part has ended, the stack has not ...
  EXPECT_EQ(op.more_stack(run, 0), 0);  // ... and now it has
  op.fail(run, 0, 0);
  return op.unwind(run, 0, 5, field, nullptr, reference, closure, sum[0]);
}

TEST(Native, HasEveryOperation) {
  std::shared_ptr<Program> p = sum_program();
  p->functions[0].messages = {"the message"};
  std::shared_ptr<const Program> program = p;
  Result<LinkedProgram> linked = link(program, hand_library());
  ASSERT_TRUE(linked);
  relay_function first = every_operation;
  relay_functions code{RELAY_NATIVE_VERSION, 1, &first};
  RunContext context(*linked);
  NativeFunctions functions(context, code, 1000);
  ThreadPool::Session session(ThreadPool::global(), 1);
  Value x = scalar(1);
  Object* args[] = {Value(x).detach()};
  context.begin(session, nullptr);
  EXPECT_EQ(functions.call(0, args), nullptr);
  EXPECT_TRUE(is_unique(x.get()));
  EXPECT_EQ(context.references().live(), 0u);
  EXPECT_EQ(render(context.errors()),
            "error[R0402]: the program is not well typed: a value that is not a reference is used as one\n"
            "  note: in `main`\n"
            "  help: compile the model again, and give values of the declared types\n");
  context.end();
  args[0] = Value(x).detach();
  context.begin(session, nullptr);
  EXPECT_EQ(functions.call(1, args), nullptr);
  EXPECT_TRUE(is_unique(x.get()));
  EXPECT_EQ(context.errors()[0].message, "the code lacks a function that is called");
  context.end();
}

// Recurses as deep as the stack allows.
struct Deep {
  const char* end;
  int64_t depth;
};
__attribute__((noinline)) int64_t descend(Deep& deep, volatile char* above) {
  volatile char here[100];
  here[0] = *above;
  if (const_cast<char*>(here) < deep.end) return 0;
  return 1 + descend(deep, here) + here[0];
}

TEST(Native, TheStackIsAsLargeAsAsked) {
  MachineStack stack;
  ASSERT_TRUE(stack.reserve(size_t{64} << 20));
  EXPECT_EQ(stack.bytes(), size_t{64} << 20);
  for (int turn = 0; turn < 2; ++turn) {
    Deep deep{stack.end(), 0};
    EXPECT_EQ(stack.call(
                  [](void* given) -> void* {
                    Deep& d = *static_cast<Deep*>(given);
                    volatile char first = 0;
                    d.depth = descend(d, &first);
                    return given;
                  },
                  &deep),
              &deep);
    EXPECT_GT(deep.depth, 50000);
    EXPECT_LT(deep.depth, 64 << 20);
    stack.trim(1 << 20);
  }
  MachineStack none;
  EXPECT_FALSE(none.reserve(size_t{1} << 63) && none.bytes() == size_t{1} << 63);
}

}  // namespace
}  // namespace relay::runtime
