#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "relay/tensor/dlpack.h"
#include "relay/tensor/safetensors.h"

namespace relay {
namespace {

std::string temporary(const char* name) { return testing::TempDir() + name; }

void write_file(const std::string& path, const std::string& header, const std::string& data, uint64_t length) {
  std::ofstream out(path, std::ios::binary);
  for (int i = 0; i < 8; ++i) out.put(static_cast<char>(length >> 8 * i));
  out << header << data;
}

TEST(Safetensors, write_and_read) {
  std::string path = temporary("a.safetensors");
  Tensor w = Tensor::from_doubles({2, 2}, DType::float32(), std::vector<double>{1, 2, 3, 4});
  Tensor b = Tensor::full({3}, DType::int8(), -7), z = Tensor::full({0, 4}, DType::bfloat16(), 0),
         odd = Tensor::scalar(2.5, DType::float64());
  ASSERT_TRUE(write_safetensors(path, {{"w", w}, {"a \"b\"\n", b}, {"z", z}, {"odd", odd}}));
  Result<NamedTensors> read = read_safetensors(path);
  ASSERT_TRUE(read) << render(read.errors());
  ASSERT_EQ(read->size(), 4u);
  EXPECT_EQ((*read)[1].first, "a \"b\"\n");
  EXPECT_TRUE(equal((*read)[0].second, w));
  EXPECT_TRUE(equal((*read)[1].second, b));
  EXPECT_TRUE(equal((*read)[2].second, z));
  EXPECT_TRUE(equal((*read)[3].second, odd));  // not aligned in the file
  EXPECT_FALSE(write_safetensors(path, {{"w", w}, {"w", w}}));
}

TEST(Safetensors, corrupt_files_are_refused) {
  std::string path = temporary("b.safetensors");
  std::string good = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const char* bad[] = {R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})",
                       R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                       R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})",
                       R"({"w":{"dtype":"F99","shape":[2],"data_offsets":[0,8]}})",
                       R"({"w":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})",
                       R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0]}})",
                       R"({"w":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}})",
                       R"({"w":{"dtype":"F32","shape":[2]}})",
                       R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})",
                       R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}x)",
                       R"({"w":{"dtype":"F32","shape":[2,"data_offsets":[0,8]}})",
                       R"([])",
                       R"({"w\u12":1})",
                       R"({"w)",
                       "",
                       R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,99999999999999999999]}})"};
  for (const char* header : bad) {
    write_file(path, header, "12345678", std::strlen(header));
    Result<NamedTensors> r = read_safetensors(path);
    EXPECT_FALSE(r) << header;
  }
  write_file(path, good, "12345678", good.size());
  EXPECT_TRUE(read_safetensors(path));
  for (uint64_t length : {uint64_t{0}, good.size() - 1, good.size() + 9, ~uint64_t{0}, uint64_t{1} << 40}) {
    write_file(path, good, "12345678", length);
    EXPECT_FALSE(read_safetensors(path)) << length;
  }
  for (size_t cut = 0; cut < good.size() + 8; ++cut) {
    write_file(path, good.substr(0, cut), cut > good.size() ? std::string(cut - good.size(), 'x') : "", good.size());
    EXPECT_FALSE(read_safetensors(path));
  }
  EXPECT_FALSE(read_safetensors(temporary("no such file")));
  EXPECT_FALSE(read_safetensors(testing::TempDir()));
}

TEST(DLPack, shares_memory_both_ways) {
  Tensor t = Tensor::from_doubles({2, 3}, DType::float32(), std::vector<double>{1, 2, 3, 4, 5, 6});
  const void* data = t.data();
  dlpack::ManagedTensor* m = to_dlpack(t);
  t = Tensor();
  Result<Tensor> back = from_dlpack(m);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->data(), data);
  EXPECT_EQ(back->at(5), 6);
  Result<Tensor> again = from_dlpack(to_dlpack_versioned(*back));
  ASSERT_TRUE(again);
  EXPECT_TRUE(equal(*again, *back));
}

TEST(DLPack, strides_are_copied_and_others_refused) {
  Tensor t = Tensor::from_doubles({2, 3}, DType::int16(), std::vector<double>{1, 2, 3, 4, 5, 6});
  dlpack::ManagedTensor* m = to_dlpack(t);
  std::swap(m->tensor.shape[0], m->tensor.shape[1]);
  m->tensor.strides[0] = 1, m->tensor.strides[1] = 3;
  Result<Tensor> transposed = from_dlpack(m);
  ASSERT_TRUE(transposed);
  EXPECT_EQ(transposed->to_ints(), (std::vector<int64_t>{1, 4, 2, 5, 3, 6}));
  m = to_dlpack(t);
  m->tensor.device.type = dlpack::Cuda;
  EXPECT_FALSE(from_dlpack(m));
  m->tensor.device.type = dlpack::Cpu;
  m->tensor.dtype = {dlpack::Complex, 64, 1};
  EXPECT_FALSE(from_dlpack(m));
  m->deleter(m);
}

}  // namespace
}  // namespace relay
