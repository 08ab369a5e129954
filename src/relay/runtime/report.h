// The report of a run, for people and tools.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace relay::runtime {

// A kernel call or copy.
struct StepTime {
  std::string kernel;
  double us = 0;
  int64_t tasks = 0;
  int threads = 1;
  double begin_us = 0;             // on a steady clock
  int64_t bytes = 0;               // of its arrays, each once: the least it must read and write
  uint32_t segment = 0, step = 0;  // indices in the program
  std::vector<int64_t> sizes{};    // the sizes that the kernel was called with
  struct Memory {
    uintptr_t begin;
    int64_t bytes;
  };
  std::vector<Memory> arrays{};  // the addresses of its arrays
  std::string device = "cpu:0";  // that ran it; of a copy between memories, its destination
};

struct Report {
  double us = 0;    // of the whole run
  int threads = 1;  // of the session
  int64_t kernel_calls = 0;
  int64_t segments = 0;                    // runs of segments and ...
  int64_t calls = 0;                       // ... calls of functions, for a program that has functions
  int64_t batched_calls = 0, batches = 0;  // calls of segments that may wait, and the number of runs for them
  int64_t arena_bytes = 0;                 // temporaries; the most of any segment
  int64_t lower_bound = 0;                 // the most bytes alive at one time: no plan needs less
  int64_t constant_bytes = 0;
  int64_t transfers = 0;          // copies between memories of devices, and ...
  int64_t transferred_bytes = 0;  // ... their bytes
  int64_t copied_bytes = 0;       // of inputs that were to be updated in place but were shared
  bool planned = false;           // true for the first run with these input shapes
  bool time_steps = false;        // requests `steps`; costs two clock readings per step
  std::vector<StepTime> steps;    // in order
};

}  // namespace relay::runtime
