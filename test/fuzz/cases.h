// The shared parts of the fuzzers' command lines: --cases N --seed S -v, and a line of progress every ten seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

namespace relay::fuzz {

struct Cases {
  int64_t count = 1000;
  uint64_t first_seed = 1;
  bool verbose = false;
};

// Nullopt, after printing the usage on stdout, if an argument is unknown.
inline std::optional<Cases> cases_of(int argc, char** argv) {
  Cases out;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--cases" && i + 1 < argc) {
      out.count = std::atoll(argv[++i]);
    } else if (arg == "--seed" && i + 1 < argc) {
      out.first_seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (arg == "-v") {
      out.verbose = true;
    } else {
      std::printf("usage: %s [--cases N] [--seed S] [-v]\n", argv[0]);
      return std::nullopt;
    }
  }
  return out;
}

// Prints "120 of 1000 networks", at most every ten seconds.
class Progress {
 public:
  Progress(int64_t count, const char* what) : count_(count), what_(what) {}
  void at(int64_t done) {
    if (std::chrono::steady_clock::now() - last_ < std::chrono::seconds(10)) return;
    last_ = std::chrono::steady_clock::now();
    std::printf("%lld of %lld %s\n", static_cast<long long>(done), static_cast<long long>(count_), what_);
    std::fflush(stdout);
  }

 private:
  int64_t count_;
  const char* what_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace relay::fuzz
