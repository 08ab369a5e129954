// Builds of the compiler: the id that linkers write into each program and library (NT_GNU_BUILD_ID), a hash of its
// contents. Copies of a file have it too, unlike its path and its time of change.
#pragma once

#include <string>

#include "relay/base/diagnostics.h"

namespace relay::cache {

// That of the program or library that contains this function, in hexadecimal; empty if it was linked without one.
const std::string& this_build();
// That of an ELF file; an error if it is none, or has none.
Result<std::string> build_of(const std::string& path);
// The path of the program or library that contains this function.
const std::string& this_file();

}  // namespace relay::cache
