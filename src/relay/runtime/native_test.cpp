// A function as machine code would be, beside the same function on the VM.
#include "relay/runtime/native.h"

#include <gtest/gtest.h>

#include "relay/runtime/test_programs.h"

namespace relay::runtime {
namespace {

// sum_program()'s functions: the second is of a list and an accumulator.
relay_object* native_sum(relay_run* run, relay_object** args) {
  for (;;) {
    int64_t tag = relay_native_tag(run, args[0], 0);
    if (tag <= 0) {
      relay_native_release(args[0]);
      if (tag == 0) return args[1];
      relay_native_release(args[1]);
      return nullptr;
    }
    relay_object* added[2] = {args[1], relay_native_field(run, args[0], 0, 0)};
    args[0] = relay_native_field(run, args[0], 1, 1);
    int done = relay_native_segment(run, 0, added, &args[1]);
    relay_native_release(added[0]);
    relay_native_release(added[1]);
    if (!done) {
      relay_native_release(args[0]);
      return nullptr;
    }
  }
}
relay_object* native_main(relay_run* run, relay_object** args) {
  relay_object* both[2] = {args[0], relay_native_constant(run, 0)};
  return native_sum(run, both);
}

class NativeFunctions : public FunctionExecutor {
 public:
  explicit NativeFunctions(RunContext& context) : context_(context) {}
  Object* call(uint32_t function, std::span<Object* const> args) override {
    static constexpr relay_function functions[] = {native_main, native_sum};
    std::vector<Object*> given(args.begin(), args.end());
    return reinterpret_cast<Object*>(
        functions[function](reinterpret_cast<relay_run*>(&context_), reinterpret_cast<relay_object**>(given.data())));
  }

 private:
  RunContext& context_;
};

TEST(Native, RunsWhereTheVmDoes) {
  Result<std::shared_ptr<Executable>> made =
      Executable::create(sum_program(), hand_library(), {},
                         [](RunContext& context, const ExecutableOptions&) -> std::unique_ptr<FunctionExecutor> {
                           return std::make_unique<NativeFunctions>(context);
                         });
  ASSERT_TRUE(made) << render(made.errors());
  Executable& e = **made;
  for (int count : {0, 1, 1000}) {
    Result<Value> out = e.call(std::vector<Value>{list_of(count)});
    ASSERT_TRUE(out) << render(out.errors());
    EXPECT_EQ(out->tensor().at(0), count * (count - 1) / 2);
  }
  Value tree = Value::data(intern_type({"Tree", {{"Leaf", 0}}}), 0, {});
  EXPECT_EQ(e.call(std::vector<Value>{tree}).errors()[0].message,
            "the program is not well typed: a value of another type is matched");
  Value ints = Value::data(intern_type(list_type()), cons, {Value::tuple({}), list_of(2)});
  EXPECT_EQ(e.call(std::vector<Value>{ints}).errors()[0].message,
            "input `a1` of segment add is a tuple, but it must be a tensor of float32");
}

// Each operation of the header, one after the other.
relay_object* every_operation(relay_run* run, relay_object** args) {
  relay_object* pair[2] = {relay_native_retain(args[0]), args[0]};
  relay_object* content = relay_native_tuple(run, pair, 2);
  relay_object* reference = relay_native_reference(run, content);
  relay_object* empty = relay_native_data(run, 0, nil, nullptr, 0);
  relay_object* captured[1] = {relay_native_read(run, reference)};
  EXPECT_EQ(relay_native_write(run, reference, empty), 1);
  EXPECT_EQ(relay_native_write(run, captured[0], empty), 0);  // not a reference
  relay_object* closure = relay_native_closure(run, 1, captured, 1);
  EXPECT_EQ(relay_native_closure_function(run, closure, 2), -1);
  EXPECT_EQ(relay_native_closure_function(run, closure, 1), 1);
  relay_object* given[2];
  EXPECT_EQ(relay_native_open_closure(run, closure, given), 1u);
  EXPECT_EQ(relay_native_is_true(run, given[0]), -1);
  relay_object* field = relay_native_field(run, given[0], 1, 1);
  EXPECT_EQ(relay_native_field(run, field, 0, 1), nullptr);  // a tensor has none
  relay_native_release(field);
  relay_native_release(reference);
  relay_native_fail(run, 0, 0);
  return nullptr;
}

TEST(Native, HasEveryOperation) {
  std::shared_ptr<Program> p = sum_program();
  p->functions[0].messages = {"the message"};
  std::shared_ptr<const Program> program = p;
  Result<LinkedProgram> linked = link(program, hand_library());
  ASSERT_TRUE(linked);
  RunContext context(*linked);
  ThreadPool::Session session(ThreadPool::global(), 1);
  context.begin(session, nullptr);
  Value x = Value::tensor(Tensor::scalar(1, DType::float32()));
  relay_object* args[] = {reinterpret_cast<relay_object*>(Value(x).detach())};
  EXPECT_EQ(every_operation(reinterpret_cast<relay_run*>(&context), args), nullptr);
  EXPECT_TRUE(is_unique(x.get()));
  EXPECT_EQ(context.references().live(), 0u);
  EXPECT_EQ(context.errors()[0].message, "the program is not well typed: a value is used as a reference that is none");
  context.end();
}

}  // namespace
}  // namespace relay::runtime
