// The prelude: types and functions, written in Relay, that programs import in parts.
//
//   import "list"                        in a text: List, map, foldl, ... and what they need
//   text::import_prelude(module, "tree")  in C++
//
// A part is a file NAME.relay of this folder (CMake puts its text into the library), or a tensor array, whose text is
// made on request: "tensor_array_float32" holds tensors of any rank up to 6, "tensor_array_float32_any_3" those of
// shape (?, 3).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace relay::prelude {

// The names of the files.
std::vector<std::string> parts();
// The text of a part; the ending `.rly` that version 0.0.5 wrote may follow its name. Nothing when there is no such
// part.
std::optional<std::string> find(std::string_view name);

// The part whose file defines a type, a constructor or (by name with @) a function.
std::optional<std::string> part_with(std::string_view name);

// "tensor_array_DTYPE" and "tensor_array_DTYPE_SHAPE", SHAPE being extents and `any` joined by '_', or `scalar`.
std::optional<std::string> tensor_array(std::string_view name);

}  // namespace relay::prelude
