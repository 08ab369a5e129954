// Checksums of the parts of an artifact: against accidents, not adversaries. Any change of a few bits or of a block of
// the disk is found.
#pragma once

#include <string_view>

#include "relay/runtime/program/program.h"

namespace relay::runtime {

uint64_t checksum(std::string_view bytes);
// Of a constant: of the checksums of its blocks, so that several threads can share a large one.
uint64_t checksum(const Tensor& constant);
// Whether those of `constants` that are stored have these checksums, in order. On all threads, when there is much to
// read.
bool have_checksums(const std::vector<Tensor>& constants, const std::vector<uint64_t>& checksums);

}  // namespace relay::runtime
