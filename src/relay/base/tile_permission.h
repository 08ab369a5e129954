// Permission to use tile registers (AMX). A Linux process must ask for them before its first tile instruction, which
// would end it otherwise; all of its threads, present and future, then have them.
#pragma once

#include <string>

namespace relay {

struct TilePermission {
  bool on_processor = false;  // false on all processors but those of x86-64 with AMX
  bool granted = false;
  std::string reason{};  // why the system refuses, if the processor has tiles
};

// Asks the system at the first call. Thread-safe.
const TilePermission& tile_permission();

}  // namespace relay
