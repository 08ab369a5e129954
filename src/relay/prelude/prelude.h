// The prelude: types and functions, written in Relay, which programs import in parts.
//
//   import "list"                        in a text: List, map, foldl, ... and their dependencies
//   text::import_prelude(module, "tree")  in C++
//
// A part is a file NAME.relay of this folder (CMake embeds its text in the library), or a tensor array, whose text is
// generated on request: "tensor_array_float32" holds tensors of any rank up to 6, "tensor_array_float32_any_3" those of
// shape (?, 3).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace relay::prelude {

// The names of the files.
std::vector<std::string> parts();
// The text of a part, or nullopt. The name may end in `.rly`, as version 0.0.5 wrote it.
std::optional<std::string> find(std::string_view name);

// The part whose file defines a type, a constructor or (by name with @) a function.
std::optional<std::string> part_with(std::string_view name);

// "tensor_array_DTYPE" and "tensor_array_DTYPE_SHAPE", SHAPE being extents and `any` joined by '_', or `scalar`.
std::optional<std::string> tensor_array(std::string_view name);

}  // namespace relay::prelude
