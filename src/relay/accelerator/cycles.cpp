#include "relay/accelerator/cycles.h"

#include <algorithm>
#include <deque>

namespace relay::accelerator {

namespace {

// The times of the last `depth` entries of a queue: an entry may be added after that `depth` entries earlier has left.
class Departures {
 public:
  explicit Departures(int depth) : times_(static_cast<size_t>(depth), never) {}
  int64_t earliest() const { return times_[next_] + 1; }
  void add(int64_t time) {
    times_[next_] = time;
    next_ = (next_ + 1) % times_.size();
  }

 private:
  static constexpr int64_t never = -1;
  std::vector<int64_t> times_;
  size_t next_ = 0;
};

class Counter {
 public:
  explicit Counter(const Timing& timing) : timing_(timing) {}

  void step(const Instruction& i) {
    // Fetch: a request for each free place, then a place in the queue of its module.
    const int64_t requested = std::max(last_request_ + 1, fetched_.earliest());
    last_request_ = requested;
    const size_t m = static_cast<size_t>(i.module());
    dispatched_ = std::max({dispatched_ + 1, requested + timing_.latency + 1, queues_[m].earliest()});
    fetched_.add(dispatched_);

    // The module takes it when the one before has issued its last step, and when the tokens are there.
    int64_t begin = std::max(dispatched_ + 1, free_[m]);
    for (int c = 0; c < channels; ++c)
      if (i.waits_for(static_cast<Channel>(c))) {
        std::deque<int64_t>& tokens = tokens_[static_cast<size_t>(c)];
        begin = std::max(begin, tokens.front() + 1);
        tokens.pop_front();
      }
    queues_[m].add(begin);

    const int64_t end = m == static_cast<size_t>(Module::Load)    ? load(i, begin)
                        : m == static_cast<size_t>(Module::Store) ? store(i, begin)
                                                                  : compute(i, begin);
    for (int c = 0; c < channels; ++c)
      if (i.signals_to(static_cast<Channel>(c))) tokens_[static_cast<size_t>(c)].push_back(end);
    out_.times.push_back({begin, end});
    ++out_.instructions;
    if (i.opcode == Opcode::Halt) out_.total = end;
  }
  Cycles take() { return std::move(out_); }

 private:
  // A step a cycle. A step passes through three stages, and the last one writes.
  int64_t compute(const Instruction& i, int64_t begin) {
    const bool has_loops = i.opcode == Opcode::Multiply || i.opcode == Opcode::Vector;
    const int64_t steps = has_loops ? i.steps() : 1;
    if (i.opcode == Opcode::Multiply) out_.multiply_steps += steps;
    if (i.opcode == Opcode::Vector) out_.vector_steps += steps;
    free_[static_cast<size_t>(Module::Compute)] = begin + steps;
    return begin + steps + 2;
  }

  // A beat or a row of padding a cycle, as far as the port is ready. They arrive in order.
  int64_t load(const Instruction& i, int64_t begin) {
    const int beats = i.opcode == Opcode::LoadData ? 1 : 16;
    int64_t issued = begin;
    const auto row = [&](bool is_padding) {
      issued = std::max(issued + 1, in_flight_.earliest());
      if (!is_padding) {
        issued = std::max(issued, last_read_ + timing_.interval);
        last_read_ = issued;
        out_.load_bytes += 16;
      }
      arrived_ = is_padding ? std::max(arrived_ + 1, issued + 1) : issued + timing_.latency;
      in_flight_.add(arrived_);
    };
    for (int y = -i.top; y < i.lines + i.bottom; ++y)
      for (int x = -i.left; x < i.columns + i.right; ++x)
        for (int beat = 0; beat < beats; ++beat) row(y < 0 || y >= i.lines || x < 0 || x >= i.columns);
    free_[static_cast<size_t>(Module::Load)] = issued;
    return arrived_;
  }

  // A row a cycle, as far as the port is ready. Tokens are sent when all that was written is acknowledged.
  int64_t store(const Instruction& i, int64_t begin) {
    int64_t issued = begin;
    for (int64_t row = 0; row < i.moved_rows(); ++row) {
      issued = last_write_ = std::max(issued + 1, last_write_ + timing_.interval);
      out_.store_bytes += 16;
    }
    const int64_t end = i.signals == 0 ? issued : issued + timing_.latency + 1;
    free_[static_cast<size_t>(Module::Store)] = i.signals == 0 ? issued : end + 1;
    return end;
  }

  static constexpr int64_t long_ago = -1'000'000'000;
  Timing timing_;
  Cycles out_;
  int64_t last_request_ = -1, dispatched_ = -1;
  int64_t last_read_ = long_ago, last_write_ = long_ago, arrived_ = -1;
  Departures fetched_{fetch_depth}, in_flight_{flight_depth};
  std::array<Departures, modules> queues_{Departures(queue_depth), Departures(queue_depth), Departures(queue_depth)};
  std::array<int64_t, modules> free_{};
  std::array<std::deque<int64_t>, channels> tokens_;
};

}  // namespace

Cycles count_cycles(const Stream& stream, const Timing& timing) {
  Counter counter(timing);
  for (const Instruction& i : stream) counter.step(i);
  return counter.take();
}

}  // namespace relay::accelerator
