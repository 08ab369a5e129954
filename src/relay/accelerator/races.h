// Races of a stream: two instructions of different modules that access a row, one of them writes, and no tokens order
// them. Results would then depend on the timing.
#pragma once

#include "relay/accelerator/isa.h"

namespace relay::accelerator {

// The first race, with both instructions. A stream that check() accepts. Takes time for each row that is accessed.
std::optional<std::string> find_race(const Stream& stream);

}  // namespace relay::accelerator
