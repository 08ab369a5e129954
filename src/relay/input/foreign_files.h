// Files that people give in the place of a model or an array: what they are, and what to do with them.
#pragma once

#include <optional>
#include <string_view>

namespace relay::input {

struct ForeignFile {
  const char* what;      // "an image"
  const char* to_use;    // the way out, where a model is wanted
  const char* as_array;  // ... and where an array is
};

// By the first bytes (64 are enough), and by the extension where those say nothing (".py").
std::optional<ForeignFile> foreign_file(std::string_view head, std::string_view extension = "");

}  // namespace relay::input
