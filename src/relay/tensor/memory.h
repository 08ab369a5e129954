// Memory for arrays, aligned to 64 bytes. Large blocks request huge pages from the system: streaming weights from 4 KiB
// pages spends much of its time on address translation, most of all in virtual machines.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace relay {

// Uninitialised memory; null if there is none. Release it with free_array().
void* allocate_array(size_t bytes);
// Some arrays of 64 KiB and more are kept for reuse: fresh pages from the system cost more time than most operators
// take. allocate_array() may return the largest to the system if memory is short.
void free_array(void* array);
// Returns the arrays that are kept for reuse, and free memory of malloc, to the system.
void give_back_memory();

// Zeroed memory, as the system provides it; null if there is none.
std::shared_ptr<const void> zeroed_array(size_t bytes);

// Owns a file that is mapped for reading; the last owner unmaps it and closes `descriptor`.
std::shared_ptr<const void> own_mapping(void* memory, size_t bytes, int descriptor);
// The path of the file that `data` is mapped from, if the file was written to since then; else "".
std::string changed_file(const void* data);
// Releases the pages of this range if it belongs to such a file; later reads load them from the file. Only whole pages,
// because partial ones also hold other data. Other memory is left unchanged.
void drop_pages(const void* data, size_t bytes);

}  // namespace relay
