// A bug planted in the nest, to test that fuzzers and `bisect` find it.
#pragma once

#include <cstdint>

namespace relay::lower {

enum class Mutation : uint8_t {
  None,
  LoseTailMask,
  RegionShort,
  RingShort,
  WrongKTail,
  UnwrittenHalo,
  Race,
  AliasBuffers,
  SkipPaddingShort,
  LoseBarrier,
  OutOfBounds,  // far enough for the process to crash
  LoseWait
};

}  // namespace relay::lower
