// Memory for arrays: aligned to 64 bytes, large blocks to huge pages, which the system is asked for. Streaming weights from
// 4 KiB pages spends a good part of its time on address translation, most of all in virtual machines.
#pragma once

#include <cstddef>

namespace relay {

// Uninitialised; null when there is none. Give it back with std::free().
void* allocate_array(size_t bytes);

}  // namespace relay
