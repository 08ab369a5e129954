// A hash of a text that is the same in every process and on every machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace relay {

// FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/
inline uint64_t stable_hash(std::string_view text) {
  uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

}  // namespace relay
