#include "relay/prelude/prelude.h"

#include "relay/base/text.h"

namespace relay::prelude {

// Written by cmake/prelude.cmake.
struct Text {
  const char* name;
  const char* text;
};
extern const Text texts[];
extern const size_t text_count;

std::vector<std::string> parts() {
  std::vector<std::string> names;
  for (size_t i = 0; i < text_count; ++i) names.push_back(texts[i].name);
  return names;
}

std::optional<std::string> find(std::string_view name) {
  if (name.size() > 4 && name.substr(name.size() - 4) == ".rly") name.remove_suffix(4);
  for (size_t i = 0; i < text_count; ++i)
    if (texts[i].name == name) return texts[i].text;
  return tensor_array(name);
}

std::optional<std::string> part_with(std::string_view name) {
  std::string definition = starts_with(name, "@") ? format("def {}", name) : format("type {}", name);
  std::string constructor = format("  {}", name);
  for (size_t i = 0; i < text_count; ++i)
    for (std::string_view line : split(texts[i].text, '\n'))
      for (const std::string& begin : {definition, constructor}) {
        if (!starts_with(line, begin) || line.size() == begin.size()) continue;
        bool is_constructor = begin == constructor;
        char next = line[begin.size()];
        if (next == '(' || (is_constructor ? next == ',' : next == '[' || next == ' ')) return texts[i].name;
      }
  return std::nullopt;
}

}  // namespace relay::prelude
