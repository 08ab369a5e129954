// What a run did, for people and tools.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace relay::runtime {

// One kernel call or copy.
struct StepTime {
  std::string kernel;
  double us = 0;
  int64_t tasks = 0;
  int threads = 1;
  double begin_us = 0;             // on a steady clock
  int64_t bytes = 0;               // of its arrays, each once: what it must read and write at least
  uint32_t segment = 0, step = 0;  // which of the program
  std::vector<int64_t> sizes{};    // those that the kernel was called with
  struct Memory {
    uintptr_t begin;
    int64_t bytes;
  };
  std::vector<Memory> arrays{};  // where they lie
};

struct Report {
  double us = 0;    // of the whole run
  int threads = 1;  // of the session
  int64_t kernel_calls = 0;
  int64_t segments = 0;                    // runs of segments and ...
  int64_t calls = 0;                       // ... calls of functions, of a program that has functions
  int64_t batched_calls = 0, batches = 0;  // calls of segments that may wait, and how many runs they took
  int64_t arena_bytes = 0;                 // temporaries; the most of any segment
  int64_t lower_bound = 0;                 // the most bytes alive at one time: no plan needs less
  int64_t constant_bytes = 0;
  int64_t copied_bytes = 0;     // of inputs that were to be updated in place and were somebody else's
  bool planned = false;         // the first run of these input shapes
  bool time_steps = false;      // asks for `steps`; costs two clock readings a step
  std::vector<StepTime> steps;  // in order
};

}  // namespace relay::runtime
