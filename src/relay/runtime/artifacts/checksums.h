// Checksums of the parts of an artifact: against accidents, not adversaries. Any change of a few bits or of a disk
// block is detected.
#pragma once

#include <string_view>

#include "relay/runtime/program/program.h"

namespace relay::runtime {

uint64_t checksum(std::string_view bytes);
// The checksum of a constant: computed from the checksums of its blocks, so that several threads can share a large one.
uint64_t checksum(const Tensor& constant);
// True if the stored ones among `constants` have these checksums, in order. Uses all threads if there is much to read.
bool have_checksums(const std::vector<Tensor>& constants, const std::vector<uint64_t>& checksums);

}  // namespace relay::runtime
