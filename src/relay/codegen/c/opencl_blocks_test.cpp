// Kernels with blocks of threads as OpenCL C: the text, and the results on a device if there is one.
#include <gtest/gtest.h>

#include "relay/codegen/c/c_source.h"
#include "relay/codegen/codegen.h"
#include "relay/loop/test_kernels.h"
#include "relay/runtime/devices/opencl.h"

namespace relay::codegen {
namespace {

TEST(OpenClBlocks, Text) {
  const std::string text = opencl_source({{loop::test::parsed(loop::test::reversed_rows("n"))}}, true);
  EXPECT_EQ(
      text.substr(text.find("__kernel")),
      R"(__kernel __attribute__((reqd_work_group_size(6, 1, 1))) void kernel_reversed(__global const uchar *x_memory, long x_at, __global uchar *y_memory, long y_at, long n, long begin, long end) {
  __local float row[6];
  __local float row_2[6];
  __global const float *const x = (__global const float *)(x_memory + x_at);
  __global float *const y = (__global float *)(y_memory + y_at);
  const long thread = (long)get_local_id(0);
  for (long group = begin * n + (long)get_group_id(0); group < end * n; group += (long)get_num_groups(0)) {
    const long block = (long)group;
    const long i = block;
    const long j = thread;
    row[j] = x[i * 12 + j];
    barrier(CLK_LOCAL_MEM_FENCE);
    y[i * 12 + (j + 6)] = row[5 - j];
    row_2[j] = x[i * 12 + (j + 6)];
    barrier(CLK_LOCAL_MEM_FENCE);
    y[i * 12 + j] = row_2[5 - j];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
)");
}

TEST(OpenClBlocks, Results) {
  const Result<runtime::OpenClChoice> found = runtime::find_opencl_device("");
  if (!found) GTEST_SKIP() << "no OpenCL driver is installed: dev/setup devices";
  Result<std::unique_ptr<runtime::Device>> device = runtime::make_opencl_device(found->number);
  ASSERT_TRUE(device) << render(device.errors());
  const loop::Kernel kernel = loop::test::parsed(loop::test::reversed_rows("n"));
  const auto library = std::make_shared<runtime::SourceLibrary>("opencl", opencl_source({{kernel}}, true));
  auto loaded = (*device)->load(library, "reversed");
  ASSERT_TRUE(loaded) << render(loaded.errors());
  constexpr int64_t rows = 1000, elements = rows * 12;  // more blocks than work-groups
  constexpr size_t bytes = elements * sizeof(float);
  std::vector<float> x(elements), y(elements), expected(elements);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  ASSERT_TRUE(loop::interpret(kernel, {x.data(), expected.data()}, {bytes, bytes}, {rows}, 0, 1));
  void* const arrays[] = {(*device)->allocate(bytes), (*device)->allocate(bytes)};
  ASSERT_TRUE((*device)->upload(arrays[0], x.data(), bytes));
  runtime::ThreadPool::Session session(runtime::ThreadPool::global(), 1);
  const int64_t sizes[] = {rows}, array_bytes[] = {bytes, bytes};
  const Status launched = (*device)->launch(**loaded, {arrays, array_bytes, sizes, 1, 0, session});
  ASSERT_TRUE(launched) << render(launched.errors());
  ASSERT_TRUE((*device)->download(y.data(), arrays[1], bytes));
  EXPECT_EQ(y, expected);
  for (void* array : arrays) (*device)->free(array);
}

}  // namespace
}  // namespace relay::codegen
