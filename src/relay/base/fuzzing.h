// A planted fault, only in builds for fuzzing (RELAY_FUZZ). RELAY_REFUSES(condition) is a check of a reader. In a
// fuzzer started with the environment variable RELAY_PLANTED it never refuses, and the fuzzer must detect that. `make
// fuzz-short` shows that it does.
#pragma once

#ifdef RELAY_FUZZ
#include <cstdlib>
namespace relay {
inline const bool is_planted = std::getenv("RELAY_PLANTED") != nullptr;
}
#define RELAY_REFUSES(condition) ((condition) && !::relay::is_planted)
#else
#define RELAY_REFUSES(condition) (condition)
#endif
