// Memory for arrays: aligned to 64 bytes, large blocks to huge pages, which the system is asked for. Streaming weights
// from 4 KiB pages spends a good part of its time on address translation, most of all in virtual machines.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace relay {

// Uninitialised; null when there is none. Give it back with free_array().
void* allocate_array(size_t bytes);
// Some arrays of 64 KiB and more are kept for those that follow: pages that the system hands out anew cost more time
// than what most operators do with them. It may take the largest back when it is short of memory.
void free_array(void* array);

// Zeros, as the system hands memory out; null when there is none.
std::shared_ptr<const void> zeroed_array(size_t bytes);

// A file that is mapped to be read; unmapped, and `descriptor` closed, with the last owner.
std::shared_ptr<const void> own_mapping(void* memory, size_t bytes, int descriptor);
// The path of the file that `data` lies in, if that was written to since it was mapped; else "".
std::string changed_file(const void* data);
// If this is part of such a file, its pages need not stay in memory: what is read again comes from the file. Whole
// pages only, since the others hold something else as well. Other memory is left alone.
void drop_pages(const void* data, size_t bytes);

}  // namespace relay
