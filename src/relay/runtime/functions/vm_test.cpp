#include "relay/runtime/functions/vm.h"

#include "relay/runtime/functions/function_tests.h"

namespace relay::runtime {

static std::shared_ptr<const KernelLibrary> library_alone(const Program&,
                                                          std::shared_ptr<const KernelLibrary> kernels) {
  return kernels;
}
INSTANTIATE_TEST_SUITE_P(Vm, Functions, testing::Values(FunctionRunner{"vm", library_alone}), name_of_runner);

namespace {

TEST(Vm, AlignmentAndKindsOfStorage) {
  std::shared_ptr<Program> p = chain_program(2);
  Result<std::shared_ptr<Executable>> made = Executable::create(p, hand_library(), {.executor = Executor::Vm});
  ASSERT_TRUE(made) << render(made.errors());
  std::shared_ptr<Executable> e = *made;
  for (int64_t rows : {1, 2, 100, 5000, 100000}) {  // small, one block, more than a megabyte
    Value x = Value::tensor(iota({rows, 8}));
    Result<Value> out = e->call(std::vector<Value>{x, x});
    ASSERT_TRUE(out) << render(out.errors());
    const TensorObject* t = as_tensor(out->get());
    if (rows > 2) EXPECT_EQ(reinterpret_cast<uintptr_t>(t->data) % 64, 0u);
    Tensor view = out->tensor();
    EXPECT_EQ(view.data(), t->data);
    *out = Value();  // the view keeps it alive
    EXPECT_EQ(view.at(8 * rows - 1), 8 * rows - 8 + 2 + 8 * rows - 1);
  }
  // Misaligned elements are copied.
  std::vector<char> bytes(4 * 64 + 1);
  Tensor askew = Tensor::view(bytes.data() + 1, {8, 8}, DType::float32(), nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(as_tensor(Value::tensor(askew).get())->data) % 64, 0u);
}

TEST(Value, EqualityLooksAtSharedPartsOnce) {
  Value a = scalar(1), b = scalar(1);
  for (int i = 0; i < 100; ++i) a = Value::tuple({a, a}), b = Value::tuple({b, b});
  EXPECT_TRUE(equal(a, b));
  EXPECT_FALSE(equal(a, Value::tuple({b, b})));
}

TEST(References, OnlyWhatNothingReachesGoes) {
  ReferenceHeap heap;
  auto reference = [&](std::vector<Value> fields) {
    Value content = Value::tuple(std::move(fields));
    return Value::take(heap.make(content.detach()));
  };
  auto write = [](const Value& r, std::vector<Value> fields) {
    write_reference(static_cast<ReferenceObject*>(r.get()), Value::tuple(std::move(fields)).detach());
  };
  Value a = reference({}), b = reference({}), c = reference({}), d = reference({});
  write(a, {b});
  write(b, {a, c});  // a and b in a cycle that reaches c
  write(c, {d});
  write(d, {c});
  Value kept = Value::tuple({b});  // an object that the heap's references do not reach holds b
  a = b = c = d = Value();
  heap.collect();
  EXPECT_EQ(heap.live(), 4u);
  kept = Value();
  EXPECT_EQ(heap.live(), 4u);  // two cycles
  heap.collect();
  EXPECT_EQ(heap.live(), 0u);
}

TEST(References, AReferenceIsOfOneRunAtATime) {
  Value r = Value::reference(scalar(1)), below = Value::tuple({scalar(2), Value::reference(Value::tuple({r}))});
  Object* values[] = {below.get()};
  ReferenceHeap first, second;
  EXPECT_TRUE(first.adopt(values));
  EXPECT_EQ(first.live(), 2u);
  EXPECT_FALSE(second.adopt(values));
  EXPECT_EQ(second.live(), 0u);
  first.rest();
  EXPECT_TRUE(second.adopt(values));
  EXPECT_EQ(second.live(), 2u);
}

}  // namespace
}  // namespace relay::runtime
