// The beginning of an artifact's file, shared by artifact_writer.cpp, artifact.cpp and the fuzzers.
#pragma once

#include <bit>
#include <cstdint>

namespace relay::runtime {

static_assert(std::endian::native == std::endian::little, "artifacts are mapped: the machine must be little-endian");

inline constexpr char magic[8] = {'\x89', 'R', 'E', 'L', 'A', 'Y', '\r', '\n'};
inline constexpr uint32_t format_version = 12;
inline constexpr uint64_t part_alignment = 64;

struct Header {
  char magic[8];
  uint32_t version, header_bytes;
  uint64_t file_bytes;
  uint64_t description_offset, description_bytes;
  uint64_t code_offset, code_bytes;
  uint64_t checksum;  // of the description
};
static_assert(sizeof(Header) == 64);

inline uint64_t aligned(uint64_t offset) { return (offset + part_alignment - 1) / part_alignment * part_alignment; }

}  // namespace relay::runtime
