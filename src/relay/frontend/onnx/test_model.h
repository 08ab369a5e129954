// ONNX files for tests, written message by message.
//
//   TestGraph g;
//   g.input("x", "1,n,?").weight("w", {2, 3}).node("Add", {"x", "w"}, {"y"}, {integer("axis", 1)}).output("y");
//   TestFile file(g, 13);  // opset 13; file.path
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

#include "relay/base/text.h"

namespace relay::onnx::test {

using Bytes = std::string;
using Write = protozero::pbf_writer;

// --- attributes ------------------------------------------------------------------------------------------------------
inline Bytes attribute(const std::string& name, int type, const std::function<void(Write&)>& value) {
  Bytes out;
  Write w(out);
  w.add_string(1, name);
  value(w);
  w.add_int32(20, type);
  return out;
}
inline Bytes integer(const std::string& n, int64_t v) {
  return attribute(n, 2, [&](Write& w) { w.add_int64(3, v); });
}
inline Bytes real(const std::string& n, float v) {
  return attribute(n, 1, [&](Write& w) { w.add_float(2, v); });
}
inline Bytes text(const std::string& n, const std::string& v) {
  return attribute(n, 3, [&](Write& w) { w.add_string(4, v); });
}
inline Bytes integers(const std::string& n, const std::vector<int64_t>& v) {
  return attribute(n, 7, [&](Write& w) {
    for (int64_t i : v) w.add_int64(8, i);
  });
}
inline Bytes reals(const std::string& n, const std::vector<float>& v) {
  return attribute(n, 6, [&](Write& w) { w.add_packed_float(7, v.begin(), v.end()); });
}
inline Bytes message(const std::string& n, int type, int field, const Bytes& v) {
  return attribute(n, type, [&](Write& w) { w.add_message(static_cast<uint32_t>(field), v); });
}

// --- tensors ---------------------------------------------------------------------------------------------------------
inline Bytes tensor(const std::string& name, const std::vector<int64_t>& dims, int type,
                    const std::function<void(Write&)>& data) {
  Bytes out;
  Write w(out);
  w.add_packed_int64(1, dims.begin(), dims.end());
  w.add_int32(2, type);
  data(w);
  w.add_string(8, name);
  return out;
}
template <class T>
Bytes raw_tensor(const std::string& name, const std::vector<int64_t>& dims, int type, const std::vector<T>& values) {
  return tensor(name, dims, type, [&](Write& w) {
    w.add_bytes(9, reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  });
}

// "1,n,?" of float32, or of another type: "2,3:int64".
inline Bytes value_info(const std::string& name, std::string type) {
  int element = 1;
  if (size_t colon = type.find(':'); colon != std::string::npos) {
    std::string word = type.substr(colon + 1);
    element = word == "int64"     ? 7
              : word == "int32"   ? 6
              : word == "uint8"   ? 2
              : word == "int8"    ? 3
              : word == "bool"    ? 9
              : word == "float16" ? 10
              : word == "string"  ? 8
                                  : 1;
    type.resize(colon);
  }
  Bytes shape, tensor_type, whole, out;
  Write s(shape);
  for (std::string_view dim : split(type, ',')) {
    if (dim.empty()) continue;
    Bytes d;
    Write w(d);
    if (std::isdigit(static_cast<unsigned char>(dim[0])))
      w.add_int64(1, std::stoll(std::string(dim)));
    else if (dim != "?")
      w.add_string(2, std::string(dim));
    s.add_message(1, d);
  }
  Write t(tensor_type);
  t.add_int32(1, element);
  t.add_message(2, shape);
  Write(whole).add_message(1, tensor_type);
  Write w(out);
  w.add_string(1, name);
  w.add_message(2, whole);
  return out;
}

class TestGraph {
 public:
  TestGraph& input(const std::string& name, const std::string& type) { return add(11, value_info(name, type)); }
  // Without a type, the graph does not declare one.
  TestGraph& output(const std::string& name, const std::string& type = "?") {
    if (type != "?") return add(12, value_info(name, type));
    Bytes untyped;
    Write(untyped).add_string(1, name);
    return add(12, untyped);
  }
  TestGraph& initializer(const Bytes& tensor) { return add(5, tensor); }
  TestGraph& weight(const std::string& name, const std::vector<int64_t>& dims) {
    size_t count = 1;
    for (int64_t d : dims) count *= static_cast<size_t>(d);
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 7) - 3;
    return initializer(raw_tensor(name, dims, 1, values));
  }
  TestGraph& ints(const std::string& name, const std::vector<int64_t>& values) {
    return initializer(raw_tensor(name, {static_cast<int64_t>(values.size())}, 7, values));
  }
  TestGraph& node(const std::string& op, const std::vector<std::string>& inputs,
                  const std::vector<std::string>& outputs, const std::vector<Bytes>& attributes = {},
                  const std::string& name = "", const std::string& domain = "") {
    Bytes out;
    Write w(out);
    for (const std::string& i : inputs) w.add_string(1, i);
    for (const std::string& o : outputs) w.add_string(2, o);
    if (!name.empty()) w.add_string(3, name);
    w.add_string(4, op);
    for (const Bytes& a : attributes) w.add_message(5, a);
    if (!domain.empty()) w.add_string(7, domain);
    return add(1, out);
  }
  TestGraph& add(uint32_t field, const Bytes& message) {
    Write(bytes).add_message(field, message);
    return *this;
  }
  Bytes bytes;
};

inline std::string write_file(const Bytes& bytes) {
  static std::atomic<int> count = 0;
  std::string path = format("{}/relay_onnx_{}_{}.onnx", ::testing::TempDir(), ::getpid(), count++);
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

inline Bytes model_bytes(const TestGraph& graph, int64_t opset) {
  Bytes out, set;
  Write w(out), s(set);
  w.add_int64(1, 7);
  w.add_string(2, "relay test");
  w.add_message(7, graph.bytes);
  s.add_string(1, "");
  s.add_int64(2, opset);
  w.add_message(8, set);
  return out;
}

// A file that is removed after the test.
struct TestFile {
  explicit TestFile(const Bytes& bytes) : path(write_file(bytes)) {}
  TestFile(const TestGraph& graph, int64_t opset) : path(write_file(model_bytes(graph, opset))) {}
  TestFile(const TestFile&) = delete;
  ~TestFile() { std::remove(path.c_str()); }
  std::string path;
};

}  // namespace relay::onnx::test
