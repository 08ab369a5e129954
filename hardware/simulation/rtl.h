// The accelerator's hardware, simulated by Verilator, with a memory around it.
#pragma once

#include <cstdint>

// Runs the stream at byte `begin` of the memory until its Halt. Returns the number of cycles, or -1 if Halt does not
// end within `limit` cycles. `latency` and `interval` as in relay/accelerator/cycles.h.
extern "C" int64_t relay_accelerator_rtl(uint8_t* memory, uint64_t memory_bytes, uint32_t begin, int32_t latency,
                                         int32_t interval, int64_t limit);
