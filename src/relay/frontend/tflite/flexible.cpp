#include "relay/frontend/tflite/flexible.h"

#include "relay/frontend/tflite/flat.h"
// After it.
#include <flatbuffers/flexbuffers.h>

#include <algorithm>

namespace relay::tflite {

using flexbuffers::Reference;

template <class List>
static std::optional<OptionValue> list_of(const List& list) {
  std::vector<int64_t> integers;
  std::vector<double> floats;
  for (size_t i = 0; i < list.size(); ++i) {
    const Reference one = list[i];
    if (!one.IsNumeric() && !one.IsBool()) return std::nullopt;
    if (!one.IsFloat()) integers.push_back(one.AsInt64());
    floats.push_back(one.AsDouble());
  }
  if (integers.size() == floats.size()) return integers;
  return floats;
}

static std::optional<OptionValue> value_of(const Reference& value) {
  if (value.IsBool()) return int64_t{value.AsBool()};
  if (value.IsIntOrUint()) return value.AsInt64();
  if (value.IsFloat()) return value.AsDouble();
  if (value.IsString()) {
    const flexbuffers::String text = value.AsString();
    return std::string_view(text.c_str(), text.length());
  }
  if (value.IsMap()) return std::nullopt;
  if (value.IsFixedTypedVector()) return list_of(value.AsFixedTypedVector());
  if (value.IsTypedVector()) return list_of(value.AsTypedVector());
  if (value.IsVector()) return list_of(value.AsVector());
  return std::nullopt;
}

// The library's verifier does not look for the end of a key: in a copy it is at the latest the zero behind all bytes.
std::map<std::string_view, OptionValue> read_flexible(std::string_view bytes, std::deque<std::string>& kept) {
  std::map<std::string_view, OptionValue> values;
  if (bytes.empty() || bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) return values;
  const std::string& copy = kept.emplace_back(bytes);
  const uint8_t* begin = reinterpret_cast<const uint8_t*>(copy.data());
  std::vector<uint8_t> seen;
  const bool is_sound = flexbuffers::VerifyBuffer(begin, copy.size(), &seen);
  const Reference root = is_sound ? flexbuffers::GetRoot(begin, copy.size()) : Reference();
  if (!is_sound || !root.IsMap()) {
    kept.pop_back();
    return values;
  }
  const flexbuffers::Map map = root.AsMap();
  const flexbuffers::TypedVector keys = map.Keys();
  for (size_t i = 0; i < std::min(keys.size(), map.size()); ++i)
    if (std::optional<OptionValue> value = value_of(map.Values()[i])) values[keys[i].AsKey()] = *std::move(value);
  return values;
}

}  // namespace relay::tflite
