// Reading protobuf's wire format: a checked protozero reader. Each accessor expects a type of field and throws
// WireError with the byte's position if the field has another type or is truncated. Readers of files catch it
// (unreadable() makes its diagnostic): it does not leave an importer's reading code.
//
//   for (Wire w(message); w.next();) {
//     switch (w.field()) {
//       case 1: name = w.bytes(); break;  // a view into the file, however long
//       default: w.skip();                // fields of newer versions
//     }
//   }
//
// Lengths are checked against the bytes present, so memory is bounded by the file's size; WireLimits bounds the memory
// that small messages take, and the nesting of messages that contain their own kind.
#pragma once

#include <cstring>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "relay/base/diagnostics.h"

namespace relay::frontend {

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

  // A repeated field, packed or value by value, at most `limit` values in total.
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
      throw WireError{DiagnosticKind::corrupt_file, position_, "a field extends beyond the end of its message"};
    } catch (const protozero::exception& e) {
      throw WireError{DiagnosticKind::corrupt_file, position_, format("a field is malformed ({})", e.what())};
    }
  }

  protozero::pbf_reader reader_;
  const char* position_;
};

// Limits on the contents of a file, whatever its size. All messages of a file share one instance.
class WireLimits {
 public:
  // "more than 1000000 nodes, attributes and tensors"; "graphs are nested deeper than 32".
  WireLimits(size_t max_items, const char* items, int max_depth, const char* nested)
      : max_items_(max_items), items_(items), max_depth_(max_depth), nested_(nested) {}

  // Counts one more item, which begins at `at`.
  void count(const Wire& at) {
    if (++count_ > max_items_)
      throw WireError{DiagnosticKind::limit_exceeded, at.position(),
                      format("the model has more than {} {}", max_items_, items_)};
  }
  // The depth of a message inside one of `depth`; the outermost has depth 0.
  int inside(const Wire& at, int depth) const {
    if (depth >= max_depth_)
      throw WireError{DiagnosticKind::limit_exceeded, at.position(),
                      format("{} are nested deeper than {}", nested_, max_depth_)};
    return depth + 1;
  }

 private:
  const size_t max_items_;
  const char* const items_;
  const int max_depth_;
  const char* const nested_;
  size_t count_ = 0;
};

// A diagnostic for a file of these bytes that cannot be read as `form` ("an ONNX model").
inline Diagnostic unreadable(const std::string& path, std::string_view bytes, const WireError& error, const char* form,
                             const char* help) {
  const char* begin = bytes.data();
  return Diagnostic{error.kind,
                    format("'{}' cannot be read as {}: {} (at byte {} of {})", path, form, error.what,
                           error.position && begin ? error.position - begin : 0, bytes.size()),
                    {},
                    {},
                    {},
                    help};
}

}  // namespace relay::frontend
