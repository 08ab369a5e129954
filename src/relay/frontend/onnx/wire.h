// Reading protobuf's wire format: a checked protozero reader. Each accessor says what the field must be and throws WireError
// with the byte's position when it is something else or is cut off. read_model() and tensor_value() catch it: it does not leave
// this folder's reading code.
#pragma once

#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "relay/base/diagnostics.h"

namespace relay::onnx {

struct WireError {
  DiagnosticKind kind;
  const char* position;
  std::string what;
};

class Wire {
 public:
  explicit Wire(std::string_view message) : reader_(message.data(), message.size()), position_(message.data()) {}

  // The next field; false at the end of the message.
  bool next() {
    position_ = reader_.data().data();
    return guard([&] { return reader_.next(); });
  }
  uint32_t field() const { return reader_.tag(); }
  const char* position() const { return position_; }
  void skip() {
    guard([&] { return reader_.skip(), true; });
  }

  int64_t integer() {
    expect(protozero::pbf_wire_type::varint, "an integer");
    return guard([&] { return reader_.get_int64(); });
  }
  float float32() {
    expect(protozero::pbf_wire_type::fixed32, "a float");
    return guard([&] { return reader_.get_float(); });
  }
  std::string_view bytes() {
    expect(protozero::pbf_wire_type::length_delimited, "a message or string");
    protozero::data_view view = guard([&] { return reader_.get_view(); });
    return {view.data(), view.size()};
  }

  // A repeated field, packed or one by one, at most `limit` values in all.
  void append_ints(std::vector<int64_t>& out, size_t limit = SIZE_MAX, const char* what = "") {
    auto add = [&](int64_t value) {
      if (out.size() >= limit)
        throw WireError{DiagnosticKind::limit_exceeded, position_, format("more than {} {}", limit, what)};
      out.push_back(value);
    };
    if (reader_.wire_type() != protozero::pbf_wire_type::length_delimited) return add(integer());
    guard([&] {
      for (int64_t value : reader_.get_packed_int64()) add(value);
      return true;
    });
  }
  void append_floats(std::vector<float>& out) { append_fixed(out, protozero::pbf_wire_type::fixed32); }
  void append_doubles(std::vector<double>& out) { append_fixed(out, protozero::pbf_wire_type::fixed64); }

 private:
  void expect(protozero::pbf_wire_type type, const char* what) const {
    if (reader_.wire_type() != type)
      throw WireError{
          DiagnosticKind::corrupt_file, position_,
          format("field {} should be {}, but has wire type {}", field(), what, static_cast<int>(reader_.wire_type()))};
  }
  template <class T>
  void append_fixed(std::vector<T>& out, protozero::pbf_wire_type single) {
    if (reader_.wire_type() == single) {
      out.push_back(guard([&] {
        if constexpr (sizeof(T) == 4)
          return reader_.get_float();
        else
          return reader_.get_double();
      }));
      return;
    }
    std::string_view packed = bytes();
    if (packed.size() % sizeof(T))
      throw WireError{DiagnosticKind::corrupt_file, position_, format("field {} ends within a number", field())};
    size_t before = out.size();
    out.resize(before + packed.size() / sizeof(T));
    if (!packed.empty()) std::memcpy(out.data() + before, packed.data(), packed.size());
  }
  template <class F>
  auto guard(F f) -> decltype(f()) {
    try {
      return f();
    } catch (const protozero::end_of_buffer_exception&) {
      throw WireError{DiagnosticKind::corrupt_file, position_, "a field reaches beyond the end of its message"};
    } catch (const protozero::exception& e) {
      throw WireError{DiagnosticKind::corrupt_file, position_, format("a field is malformed ({})", e.what())};
    }
  }

  protozero::pbf_reader reader_;
  const char* position_;
};

}  // namespace relay::onnx
