#include "rtl.h"

#include <cstring>
#include <deque>
#include <memory>

#include "Vaccelerator.h"

namespace {

struct Answer {
  int64_t cycle;  // in which it is at the port
  uint64_t address;
};

// Memory with a fixed latency and a least interval between beats. What is read is read when it is requested, and what
// is written can be read in the next cycle.
class Memory {
 public:
  Memory(uint8_t* bytes, uint64_t size, int latency, int interval)
      : bytes_(bytes), size_(size), latency_(latency), interval_(interval) {}

  // Before the edge of a cycle: what the ports show.
  void show(Vaccelerator& top, int64_t cycle) {
    top.fetch_answer = !fetches_.empty() && fetches_.front().cycle == cycle;
    if (top.fetch_answer) take(fetches_, top.fetch_data);
    top.read_answer = !reads_.empty() && reads_.front().cycle == cycle;
    if (top.read_answer) take(reads_, top.read_data);
    top.write_acknowledge = !writes_.empty() && writes_.front().cycle == cycle;
    if (top.write_acknowledge) writes_.pop_front();
    top.read_ready = cycle >= next_read_;
    top.write_ready = cycle >= next_write_;
  }
  // At the edge: requests that are accepted.
  void accept(const Vaccelerator& top, int64_t cycle) {
    if (top.fetch_request) fetches_.push_back(read({cycle + latency_, top.fetch_address}, 32));
    if (top.read_request && top.read_ready) {
      reads_.push_back(read({cycle + latency_, top.read_address}, 16));
      next_read_ = cycle + interval_;
    }
    if (top.write_request && top.write_ready) {
      if (uint64_t{top.write_address} + 16 <= size_) std::memcpy(bytes_ + top.write_address, top.write_data.data(), 16);
      writes_.push_back({{cycle + latency_, top.write_address}, {}});
      next_write_ = cycle + interval_;
    }
  }

 private:
  struct Beat : Answer {
    uint8_t bytes[32] = {};
  };
  Beat read(Answer answer, size_t count) const {
    Beat beat{answer, {}};
    if (answer.address + count <= size_) std::memcpy(beat.bytes, bytes_ + answer.address, count);
    return beat;
  }
  template <class Port>
  static void take(std::deque<Beat>& beats, Port& port) {
    std::memcpy(port.data(), beats.front().bytes, sizeof(port));
    beats.pop_front();
  }

  uint8_t* bytes_;
  uint64_t size_;
  int latency_, interval_;
  int64_t next_read_ = 0, next_write_ = 0;
  std::deque<Beat> fetches_, reads_, writes_;
};

}  // namespace

int64_t relay_accelerator_rtl(uint8_t* memory, uint64_t memory_bytes, uint32_t begin, int32_t latency, int32_t interval,
                              int64_t limit) {
  VerilatedContext context;
  Vaccelerator top(&context);
  Memory outside(memory, memory_bytes, latency, interval);
  top.begin_address = begin;
  top.reset = 1;
  for (int edge = 0; edge < 2; ++edge) {
    top.clock = 0, top.eval();
    top.clock = 1, top.eval();
  }
  top.reset = 0;
  for (int64_t cycle = 0; cycle < limit; ++cycle) {
    outside.show(top, cycle);
    top.clock = 0, top.eval();
    outside.accept(top, cycle);
    top.clock = 1, top.eval();
    if (top.done) return cycle;
  }
  return -1;
}
