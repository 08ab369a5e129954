// Reading FlatBuffers: tables of an untrusted file, each field checked by the library's verifier before it is read. A
// field of a table has a number, its place in the schema. An accessor throws FlatError if the field does not lie in the
// file; readers of files catch it.
//
//   Flat file(bytes, max_tables);
//   const FlatTable root = file.root();
//   for (const FlatTable& op : file.tables(root, 3)) ... file.scalar<int32_t>(op, 0, 0), file.text(op, 1) ...
//
// Offsets between tables point forwards, so tables form no cycle. The number of tables is limited.
#pragma once

// Otherwise code of the library, and not only its headers, turns texts into numbers.
#define FLATBUFFERS_LOCALE_INDEPENDENT 0
#include <flatbuffers/flatbuffers.h>

#include <string>
#include <string_view>
#include <vector>

#include "relay/base/fuzzing.h"

namespace relay::tflite {

struct FlatError {
  size_t position;  // bytes from the beginning of the file
  std::string what;
  bool is_limit = false;
};

using FlatTable = const flatbuffers::Table*;

class Flat {
 public:
  // FlatBuffers end before 2 GiB; bytes after that are only reached by offsets of the format (buffers of large models).
  Flat(std::string_view file, uint32_t max_tables)
      : file_(file.substr(0, FLATBUFFERS_MAX_BUFFER_SIZE - 1)),
        max_tables_(max_tables),
        verifier_(bytes(), file_.size(), options(max_tables)) {}

  FlatTable root() {
    const uint32_t offset = verifier_.VerifyOffset(size_t{0});
    if (!offset) throw FlatError{0, "the root table is not in the file"};
    return checked(reinterpret_cast<FlatTable>(bytes() + offset));
  }

  template <class T>
  T scalar(FlatTable table, int field, T otherwise) const {
    if (!table->VerifyField<T>(verifier_, place(field), sizeof(T))) fail(table, field, "is cut off or not aligned");
    return table->GetField<T>(place(field), otherwise);
  }
  // Null if absent.
  FlatTable table(FlatTable table, int field) {
    FlatTable found = pointer<flatbuffers::Table>(table, field);
    return found ? checked(found) : nullptr;
  }
  std::vector<FlatTable> tables(FlatTable table, int field) {
    using Offsets = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::Table>>;
    std::vector<FlatTable> all;
    const Offsets* offsets = vector<Offsets>(table, field);
    for (uint32_t i = 0; offsets && i < offsets->size(); ++i) {
      const uint8_t* at = offsets->Data() + i * sizeof(uint32_t);
      if (!verifier_.VerifyOffset(static_cast<size_t>(at - bytes()))) fail(table, field, "points outside of the file");
      all.push_back(checked(offsets->Get(i)));
    }
    return all;
  }
  // Empty if absent.
  template <class T>
  std::vector<int64_t> integers(FlatTable table, int field) const {
    const flatbuffers::Vector<T>* values = vector<flatbuffers::Vector<T>>(table, field);
    return values ? std::vector<int64_t>(values->begin(), values->end()) : std::vector<int64_t>();
  }
  std::vector<float> floats(FlatTable table, int field) const {
    const flatbuffers::Vector<float>* values = vector<flatbuffers::Vector<float>>(table, field);
    return values ? std::vector<float>(values->begin(), values->end()) : std::vector<float>();
  }
  // A view of a vector of bytes, or of a string.
  std::string_view text(FlatTable table, int field) const {
    const flatbuffers::Vector<uint8_t>* values = vector<flatbuffers::Vector<uint8_t>>(table, field);
    return values ? std::string_view(reinterpret_cast<const char*>(values->data()), values->size())
                  : std::string_view();
  }
  bool has(FlatTable table, int field) const { return table->CheckField(place(field)); }
  size_t position(FlatTable table) const {
    return static_cast<size_t>(reinterpret_cast<const uint8_t*>(table) - bytes());
  }

 private:
  static flatbuffers::Verifier::Options options(uint32_t max_tables) {
    flatbuffers::Verifier::Options o;
    o.max_tables = max_tables;
    return o;
  }
  static flatbuffers::voffset_t place(int field) {
    return flatbuffers::FieldIndexToOffset(static_cast<uint16_t>(field));
  }
  const uint8_t* bytes() const { return reinterpret_cast<const uint8_t*>(file_.data()); }

  FlatTable checked(FlatTable table) {
    if (++tables_ > max_tables_)
      throw FlatError{position(table), "more than " + std::to_string(max_tables_) + " tables", true};
    const bool good = table->VerifyTableStart(verifier_);
    verifier_.EndTable();
    if (!good) throw FlatError{position(table), "a table that is cut off"};
    return table;
  }
  template <class T>
  const T* pointer(FlatTable table, int field) const {
    if (!table->VerifyOffset(verifier_, place(field))) fail(table, field, "points outside of the file");
    return table->GetPointer<const T*>(place(field));
  }
  template <class V>
  const V* vector(FlatTable table, int field) const {
    const V* found = pointer<V>(table, field);
    if (RELAY_REFUSES(!verifier_.VerifyVector(found))) fail(table, field, "is longer than the file");
    return found;
  }
  [[noreturn]] void fail(FlatTable table, int field, const char* what) const {
    throw FlatError{position(table), "field " + std::to_string(field) + " of a table " + what};
  }

  std::string_view file_;
  uint32_t max_tables_, tables_ = 0;
  flatbuffers::Verifier verifier_;
};

}  // namespace relay::tflite
