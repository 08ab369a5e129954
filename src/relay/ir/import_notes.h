// Notes of an importer on nodes of the foreign model that do not appear as operator calls in the module: two lists of
// equal length among the module's attributes, the names of the nodes and their fates.
#pragma once

namespace relay::ir {

inline constexpr const char* imported_nodes = "import.nodes";
inline constexpr const char* imported_fates = "import.fates";

}  // namespace relay::ir
