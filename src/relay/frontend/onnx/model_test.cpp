// Reading files: valid ones, and every kind of invalid one.
#include "relay/frontend/onnx/model.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <random>

#include "relay/frontend/onnx/import.h"
#include "relay/frontend/onnx/test_model.h"

namespace relay::onnx {
namespace {

using namespace test;

DiagnosticKind only_kind(const Diagnostics& errors) { return errors.empty() ? DiagnosticKind::syntax : errors[0].kind; }

// A small network that uses most parts of the format.
TestGraph network() {
  TestGraph g;
  g.input("x", "1,3,8,8").weight("w", {4, 3, 3, 3}).weight("b", {4});
  g.node("Conv", {"x", "w", "b"}, {"c"}, {integers("pads", {1, 1, 1, 1}), integers("kernel_shape", {3, 3})},
         "first conv");
  g.node("Clip", {"c"}, {"r"}, {real("min", 0), real("max", 6)});
  g.node("Constant", {}, {"shape"}, {message("value", 4, 5, raw_tensor<int64_t>("", {2}, 7, {1, -1}))});
  g.node("Reshape", {"r", "shape"}, {"flat"});
  g.node("Softmax", {"flat"}, {"y"}, {integer("axis", 1)});
  g.output("y", "1,256");
  return g;
}

TEST(OnnxModel, ReadsWhatIsWritten) {
  TestFile file(network(), 9);
  Result<Model> m = read_model(file.path);
  ASSERT_TRUE(m) << render(m.errors());
  EXPECT_EQ(m->opsets.at(""), 9);
  EXPECT_EQ(m->producer, "relay test");
  ASSERT_EQ(m->graph.nodes.size(), 5u);
  EXPECT_EQ(m->graph.nodes[0].name, "first conv");
  EXPECT_EQ(m->graph.nodes[0].inputs, (std::vector<std::string_view>{"x", "w", "b"}));
  EXPECT_EQ(std::get<std::vector<int64_t>>(m->graph.nodes[0].find("pads")->value), (std::vector<int64_t>{1, 1, 1, 1}));
  ASSERT_EQ(m->graph.initializers.size(), 2u);
  Result<Tensor> w = tensor_value(*m, m->graph.initializers[0]);
  ASSERT_TRUE(w);
  EXPECT_EQ(w->shape(), (Shape{4, 3, 3, 3}));
  EXPECT_EQ(w->at(1), -2);
}

TEST(OnnxModel, EveryWayToStoreATensor) {
  TestGraph g;
  g.initializer(tensor("f", {2}, 1, [](Write& w) {
    std::vector<float> v{1.5f, -2};
    w.add_packed_float(4, v.begin(), v.end());
  }));
  g.initializer(tensor("d", {2}, 11, [](Write& w) {
    std::vector<double> v{1.25, 3};
    w.add_packed_double(10, v.begin(), v.end());
  }));
  g.initializer(tensor("i", {3}, 6, [](Write& w) {
    std::vector<int32_t> v{1, -2, 3};
    w.add_packed_int32(5, v.begin(), v.end());
  }));
  g.initializer(tensor("one by one", {2}, 7, [](Write& w) { w.add_int64(7, 1), w.add_int64(7, -5); }));
  g.initializer(tensor("h", {1}, 10, [](Write& w) {
    std::vector<int32_t> v{0x3C00};
    w.add_packed_int32(5, v.begin(), v.end());
  }));
  g.initializer(tensor("u", {1}, 13, [](Write& w) {
    std::vector<uint64_t> v{7};
    w.add_packed_uint64(11, v.begin(), v.end());
  }));
  g.initializer(tensor("t", {2}, 9, [](Write& w) {
    std::vector<int32_t> v{0, 1};
    w.add_packed_int32(5, v.begin(), v.end());
  }));
  g.initializer(raw_tensor<uint8_t>("q", {0, 4}, 2, {}));
  TestFile file(g, 13);
  Result<Model> m = read_model(file.path);
  ASSERT_TRUE(m) << render(m.errors());
  std::vector<std::vector<double>> expected{{1.5, -2}, {1.25, 3}, {1, -2, 3}, {1, -5}, {1}, {7}, {0, 1}, {}};
  for (size_t i = 0; i < expected.size(); ++i) {
    Result<Tensor> t = tensor_value(*m, m->graph.initializers[i]);
    ASSERT_TRUE(t) << render(t.errors());
    EXPECT_EQ(t->to_doubles(), expected[i]) << m->graph.initializers[i].name;
  }
}

TEST(OnnxModel, TensorsThatContradictThemselves) {
  TestGraph g;
  g.initializer(raw_tensor<float>("short", {4}, 1, {1, 2, 3}));
  g.initializer(tensor("few", {3}, 1, [](Write& w) { w.add_float(4, 1); }));
  g.initializer(tensor("huge", {1LL << 40, 1LL << 40}, 1, [](Write&) {}));
  g.initializer(tensor("large", {1LL << 40}, 1, [](Write&) {}));
  g.initializer(tensor("negative", {-1}, 1, [](Write&) {}));
  g.initializer(tensor("strings", {1}, 8, [](Write& w) { w.add_string(6, "a"); }));
  g.initializer(raw_tensor<uint8_t>("bools", {1}, 9, {2}));
  TestFile file(g, 13);
  Result<Model> m = read_model(file.path);
  ASSERT_TRUE(m);
  for (const TensorData& data : m->graph.initializers) {
    Result<Tensor> t = tensor_value(*m, data);
    ASSERT_FALSE(t) << data.name;
    EXPECT_NE(t.errors()[0].message.find(std::string(data.name)), std::string::npos);
    EXPECT_EQ(t.errors()[0].kind,
              data.name == "strings" ? DiagnosticKind::unsupported_operator : DiagnosticKind::bad_model)
        << data.name;
  }
}

// The choice of files that may be read is tested in frontend/common.
TEST(OnnxModel, ExternalData) {
  namespace fs = std::filesystem;
  fs::path folder = fs::path(::testing::TempDir()) / format("relay_onnx_external_{}", ::getpid());
  fs::create_directories(folder / "sub");
  std::vector<float> values{1, 2, 3, 4};
  std::ofstream(folder / "sub" / "data.bin", std::ios::binary).write(reinterpret_cast<const char*>(values.data()), 16);
  struct Case {
    std::string location, offset, length;
    std::optional<DiagnosticKind> error;
  };
  std::vector<Case> cases{
      {"sub/data.bin", "8", "8", std::nullopt},
      {"sub/data.bin", "12", "8", DiagnosticKind::corrupt_file},
      {"sub/data.bin", "18446744073709551615", "8", DiagnosticKind::corrupt_file},
      {"sub/data.bin", "x", "8", DiagnosticKind::bad_model},
      {"sub/data.bin", "0", "4", DiagnosticKind::bad_model},
      {"../" + folder.filename().string() + ".outside", "0", "8", DiagnosticKind::bad_model},
      {"missing.bin", "0", "8", DiagnosticKind::file_not_found},
      {"", "0", "8", DiagnosticKind::bad_model},
  };
  for (const Case& c : cases) {
    TestGraph g;
    g.initializer(tensor("w", {2}, 1, [&](Write& w) {
      for (const auto& [key, value] :
           {std::pair<std::string, std::string>{"location", c.location}, {"offset", c.offset}, {"length", c.length}}) {
        Bytes entry;
        Write e(entry);
        e.add_string(1, key), e.add_string(2, value);
        w.add_message(13, entry);
      }
      w.add_int32(14, 1);
    }));
    std::string path = (folder / "model.onnx").string();
    std::ofstream(path, std::ios::binary) << model_bytes(g, 13);
    Result<Model> m = read_model(path);
    ASSERT_TRUE(m);
    Result<Tensor> t = tensor_value(*m, m->graph.initializers[0]);
    EXPECT_EQ(static_cast<bool>(t), !c.error) << c.location << " " << c.offset;
    if (t)
      EXPECT_EQ(t->to_doubles(), (std::vector<double>{3, 4}));
    else if (c.error)
      EXPECT_EQ(t.errors()[0].kind, *c.error) << render(t.errors());
  }
  fs::remove_all(folder);
}

TEST(OnnxModel, FilesThatAreNone) {
  Result<Model> missing = read_model("/nowhere/model.onnx");
  ASSERT_FALSE(missing);
  EXPECT_EQ(only_kind(missing.errors()), DiagnosticKind::file_not_found);
  Result<Model> folder = read_model(::testing::TempDir());
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.errors()[0].message.find("directory"), std::string::npos);
  Result<Model> device = read_model("/dev/zero");
  ASSERT_FALSE(device);
  EXPECT_EQ(only_kind(device.errors()), DiagnosticKind::file_not_found);
  for (const Bytes& bytes : {Bytes(), Bytes("<html>not found</html>"), Bytes(100, '\0'), Bytes(100, '\xff')}) {
    TestFile file(bytes);
    Result<Model> m = read_model(file.path);
    ASSERT_FALSE(m);
    EXPECT_EQ(only_kind(m.errors()), DiagnosticKind::corrupt_file);
    EXPECT_NE(m.errors()[0].message.find("at byte"), std::string::npos);
  }
}

TEST(OnnxModel, TruncatedAnywhere) {
  TestGraph g = network();
  g.weight("large", {64, 64});
  Bytes whole = model_bytes(g, 9);
  size_t refused = 0, tried = 0;
  for (size_t size = 0; size < whole.size(); size += size < 1500 ? 1 : 97) {
    ++tried;
    TestFile file(whole.substr(0, size));
    Result<ImportedModel> m = load(file.path);
    if (m) continue;
    ++refused;
    EXPECT_FALSE(m.errors().empty());
  }
  EXPECT_EQ(refused, tried);
}

TEST(OnnxModel, RandomBytesChanged) {
  Bytes whole = model_bytes(network(), 9);
  std::mt19937 random(20240611);
  for (int round = 0; round < 3000; ++round) {
    Bytes bytes = whole;
    for (int i = 0; i <= round % 4; ++i) bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    TestFile file(bytes);
    Result<ImportedModel> m = load(file.path);  // both are right; crashing or throwing is not
    if (!m) EXPECT_FALSE(m.errors().empty());
  }
}

TEST(OnnxModel, LimitsHold) {
  // More nodes than any model has, in two bytes each.
  Bytes nodes;
  for (size_t i = 0; i < max_items + 10; ++i) nodes += Bytes("\x0a\x00", 2);
  TestGraph many;
  many.bytes = nodes;
  TestFile file(many, 13);
  Result<Model> m = read_model(file.path);
  ASSERT_FALSE(m);
  EXPECT_EQ(only_kind(m.errors()), DiagnosticKind::limit_exceeded);
  // Graphs within graphs.
  TestGraph inner;
  for (int depth = 0; depth < 100; ++depth) {
    TestGraph outer;
    outer.node("If", {"c"}, {"y"}, {message("then_branch", 5, 6, inner.bytes)});
    inner = outer;
  }
  TestFile nested(inner, 13);
  Result<Model> deep = read_model(nested.path);
  ASSERT_FALSE(deep);
  EXPECT_EQ(only_kind(deep.errors()), DiagnosticKind::limit_exceeded);
  // A tensor of many axes.
  TestGraph axes;
  axes.initializer(tensor("w", std::vector<int64_t>(1000, 1), 1, [](Write&) {}));
  TestFile wide(axes, 13);
  Result<Model> rank = read_model(wide.path);
  ASSERT_FALSE(rank);
  EXPECT_EQ(only_kind(rank.errors()), DiagnosticKind::limit_exceeded);
}

}  // namespace
}  // namespace relay::onnx
