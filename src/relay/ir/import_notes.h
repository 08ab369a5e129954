// What an importer says of the nodes of a foreign model that are no call of an operator in the module: two lists of one
// length among the module's attributes, a node's name and what became of it.
#pragma once

namespace relay::ir {

inline constexpr const char* imported_nodes = "import.nodes";
inline constexpr const char* imported_fates = "import.fates";

}  // namespace relay::ir
