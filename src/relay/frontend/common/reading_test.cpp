// Reading a file: protobuf's wire format, tensors, files next to the model.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <protozero/pbf_writer.hpp>

#include "relay/frontend/common/tensor_data.h"
#include "relay/frontend/common/wire.h"

namespace relay::frontend {
namespace {

namespace fs = std::filesystem;

TEST(Wire, FieldsAreViews) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  const std::string large(1 << 20, 'x');
  const std::vector<int64_t> numbers{1, -2, 3};
  writer.add_int64(1, -5);
  writer.add_bytes(2, large);
  writer.add_packed_int64(3, numbers.begin(), numbers.end());
  writer.add_int64(3, 7);
  Wire w(bytes);
  ASSERT_TRUE(w.next());
  EXPECT_EQ(w.integer(), -5);
  ASSERT_TRUE(w.next());
  std::string_view view = w.bytes();
  EXPECT_EQ(view.size(), large.size());
  EXPECT_TRUE(view.data() > bytes.data() && view.data() < bytes.data() + bytes.size());
  std::vector<int64_t> all;
  while (w.next()) w.append_ints(all);
  EXPECT_EQ(all, (std::vector<int64_t>{1, -2, 3, 7}));
}

// The error that `read` throws for these bytes, as the user sees it.
template <class F>
std::string refused(std::string_view bytes, F read) {
  try {
    read();
  } catch (const WireError& e) {
    Diagnostic d = unreadable("net.x", bytes, e, "a model", "fetch it again");
    return format("{} {}", info(d.kind).code, d.message);
  }
  return "read";
}

TEST(Wire, SaysWhereItBreaks) {
  const std::string cut("\x0a\x7f", 2), twice("\x08\x01\x08\x01", 4);
  EXPECT_EQ(refused(cut,
                    [&] {
                      Wire w(cut);
                      w.next(), w.bytes();
                    }),
            "R0402 'net.x' cannot be read as a model: a field extends beyond the end of its message (at byte 0 of 2)");
  EXPECT_EQ(
      refused(twice,
              [&] {
                Wire w(twice);
                w.next(), w.bytes();
              }),
      "R0402 'net.x' cannot be read as a model: field 1 should be a message or string, but has wire type 0 (at byte 0 "
      "of 4)");
  EXPECT_EQ(refused(twice,
                    [&] {
                      std::vector<int64_t> out;
                      for (Wire w(twice); w.next();) w.append_ints(out, 1, "axes");
                    }),
            "R0405 'net.x' cannot be read as a model: more than 1 axes (at byte 2 of 4)");
}

TEST(Wire, LimitsHold) {
  const std::string bytes;
  Wire w(bytes);
  WireLimits limits(2, "nodes", 1, "graphs");
  EXPECT_EQ(limits.inside(w, 0), 1);
  EXPECT_EQ(refused(bytes, [&] { limits.inside(w, 1); }),
            "R0405 'net.x' cannot be read as a model: graphs are nested deeper than 1 (at byte 0 of 0)");
  EXPECT_EQ(refused(bytes, [&] { limits.count(w), limits.count(w); }), "read");
  EXPECT_EQ(refused(bytes, [&] { limits.count(w); }),
            "R0405 'net.x' cannot be read as a model: the model has more than 2 nodes (at byte 0 of 0)");
}

// A folder with sub/data.bin (the floats 1 2 3 4), and a file next to it that must not be read.
struct Folder : ::testing::Test {
  fs::path folder = fs::path(::testing::TempDir()) / format("relay_frontend_{}", ::getpid());
  fs::path outside = folder.string() + ".outside";
  void SetUp() override {
    fs::create_directories(folder / "sub");
    const std::vector<float> values{1, 2, 3, 4};
    for (const fs::path& path : {folder / "sub" / "data.bin", outside})
      std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(values.data()), 16);
    fs::create_symlink(outside, folder / "link.bin");
  }
  void TearDown() override { fs::remove_all(folder), fs::remove(outside); }
};

TEST_F(Folder, FilesBesideTheModelOnly) {
  ExternalFiles files((folder / "model").string());
  EXPECT_TRUE(files.open("w", "sub/data.bin"));
  for (const auto& [location, kind] : std::vector<std::pair<std::string, DiagnosticKind>>{
           {"../" + outside.filename().string(), DiagnosticKind::bad_model},
           {(folder / "sub/data.bin").string(), DiagnosticKind::bad_model},
           {"link.bin", DiagnosticKind::bad_model},
           {"", DiagnosticKind::bad_model},
           {std::string("sub/data.bin\0", 13), DiagnosticKind::bad_model},
           {"sub", DiagnosticKind::file_not_found},
           {"missing.bin", DiagnosticKind::file_not_found}}) {
    Result<std::shared_ptr<const MappedFile>> file = files.open("w", location);
    ASSERT_FALSE(file) << location;
    EXPECT_EQ(file.errors()[0].kind, kind) << render(file.errors());
    EXPECT_NE(file.errors()[0].message.find("tensor 'w'"), std::string::npos);
  }
  EXPECT_EQ(files.paths(), std::vector<std::string>{fs::canonical(folder / "sub/data.bin").string()});
}

TEST_F(Folder, TensorsOfAFile) {
  ExternalFiles files((folder / "model").string());
  Result<std::shared_ptr<const MappedFile>> file = files.open("w", "sub/data.bin");
  ASSERT_TRUE(file);
  Result<Tensor> shared = tensor_of_file("w", *file, 8, {2}, DType::float32());
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->to_doubles(), (std::vector<double>{3, 4}));
  EXPECT_EQ(static_cast<const void*>(shared->data()), (*file)->bytes().data() + 8);  // aligned: not copied
  Result<Tensor> copied = tensor_of_file("w", *file, 1, {2}, DType::float32());
  ASSERT_TRUE(copied);
  EXPECT_NE(static_cast<const void*>(copied->data()), (*file)->bytes().data() + 1);
  for (uint64_t offset : {uint64_t{12}, UINT64_MAX}) {
    Result<Tensor> beyond = tensor_of_file("w", *file, offset, {2}, DType::float32());
    ASSERT_FALSE(beyond);
    EXPECT_EQ(beyond.errors()[0].kind, DiagnosticKind::corrupt_file);
  }
}

TEST(TensorData, SizesAreChecked) {
  for (const Shape& shape : {Shape{-1}, Shape{1LL << 40, 1LL << 40}, Shape{INT64_MAX}})
    EXPECT_FALSE(tensor_size("w", shape, DType::float32()));
  Result<TensorSize> size = tensor_size("w", {2, 3}, DType::float64());
  ASSERT_TRUE(size);
  EXPECT_EQ(size->elements, 6);
  EXPECT_EQ(size->bytes, 48);
}

TEST(TensorData, NumbersOneByOne) {
  const std::vector<int64_t> numbers{0x3C00, 0x4000};
  Result<Tensor> halves = tensor_of("w", numbers, {2}, DType::float16());
  ASSERT_TRUE(halves);
  EXPECT_EQ(halves->to_doubles(), (std::vector<double>{1, 2}));
  Result<Tensor> few = tensor_of("w", numbers, {3}, DType::int32());
  ASSERT_FALSE(few);
  EXPECT_EQ(few.errors()[0].message, "tensor 'w' has 3 elements by its shape, but contains 2");
  const std::vector<float> floats{1.5f, -2};
  EXPECT_EQ(tensor_of("w", std::span(floats), {2, 1})->to_doubles(), (std::vector<double>{1.5, -2}));
}

}  // namespace
}  // namespace relay::frontend
