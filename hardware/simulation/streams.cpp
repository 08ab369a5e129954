// Random instruction streams on the three models of the accelerator: instructions one after the other (machine.h), the
// cycle model (cycles.h) and the hardware. Memory must be equal in every byte, and times in every cycle.
//
//   streams --cases 1000 --seed 7
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "random_stream.h"
#include "relay/accelerator/cycles.h"
#include "relay/accelerator/machine.h"
#include "relay/accelerator/races.h"
#include "rtl.h"

using namespace relay::accelerator;

namespace {

struct Totals {
  int64_t instructions = 0, cycles = 0;
};

// The first difference between the models.
std::optional<std::string> compare(uint64_t seed, Totals& totals) {
  RandomStream random(seed);
  std::vector<uint8_t> memory = random.memory();
  const Stream stream = random.stream();
  if (stream.size() * instruction_bytes > RandomStream::memory_bytes - RandomStream::data_bytes) return "too long";
  write_stream(stream, memory, RandomStream::data_bytes);

  if (read_stream(memory, RandomStream::data_bytes) != stream) return "decoded differently";
  if (const auto fault = check(stream, memory.size())) return fault;
  if (const auto race = find_race(stream)) return "a race: " + *race;

  const Timing timings[] = {{32, 1}, {1, 1}, {5, 3}, {90, 1}};
  const Timing timing = timings[seed % std::size(timings)];
  const Cycles cycles = count_cycles(stream, timing);
  std::vector<uint8_t> expected = memory;
  Machine(expected).run(stream);

  const int64_t rtl = relay_accelerator_rtl(memory.data(), memory.size(), RandomStream::data_bytes, timing.latency,
                                            timing.interval, 10 * cycles.total + 10'000);
  totals.instructions += cycles.instructions, totals.cycles += cycles.total;
  if (rtl < 0) return "the hardware does not halt";
  for (size_t k = 0; k < memory.size(); ++k)
    if (memory[k] != expected[k])
      return "byte " + std::to_string(k) + " is " + std::to_string(expected[k]) + ", but " + std::to_string(memory[k]) +
             " in hardware";
  if (rtl != cycles.total)
    return "the cycle model counts " + std::to_string(cycles.total) + " cycles, the hardware takes " +
           std::to_string(rtl);
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t seed = 1, cases = 1000;
  for (int k = 1; k + 1 < argc; k += 2) {
    if (std::strcmp(argv[k], "--seed") == 0) seed = std::strtoull(argv[k + 1], nullptr, 10);
    if (std::strcmp(argv[k], "--cases") == 0) cases = std::strtoull(argv[k + 1], nullptr, 10);
  }
  Totals totals;
  for (uint64_t k = seed; k < seed + cases; ++k)
    if (const auto difference = compare(k, totals)) {
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(k), difference->c_str());
      return 1;
    }
  std::printf("%llu streams, %lld instructions, %lld cycles: equal on all models\n",
              static_cast<unsigned long long>(cases), static_cast<long long>(totals.instructions),
              static_cast<long long>(totals.cycles));
  return 0;
}
