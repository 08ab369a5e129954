// Calls that wait: calls of a segment that do not depend on each other are run together, so that weights are read once
// for all of them and not for each.
//
//   %3 = segment layer(%1)      waits: %3 is there, its contents are not
//   %4 = segment layer(%2)      waits
//   %5 = segment join(%3, %4)   waits too
//   flush()                     copies %1 and %2 into two rows, runs layer for two calls, whose results are the rows
//                               %3 and %4; then runs join
//
// A call is ready when none of its arguments waits. flush() runs all ready calls of one segment together, again and
// again: of the segment that reads the fewest constants, since until there are none of it left more calls of the others
// become ready. Which segments wait the compiler decides (Batching in program.h). Tuples, data, closures and references
// hold what waits as any other value. Contents are read by segments that do not wait, and when the run ends: they ask
// for flush(). Instructions read conditions and shapes only, which never wait.
//
// A call whose arguments are constants of the program, a state to begin with, gives the same each time: the first such
// call of a segment runs at once, and the others get its results.
//
// A row is computed as if it were alone, with the same kernel for any number of rows, so results are the same bits
// however calls come together. At most max_calls wait, and as many as have max_bytes of rows. A result that is kept
// keeps the rows of at most max_rows calls.
#pragma once

#include "relay/runtime/segment_context.h"

namespace relay::runtime {

class CallQueue {
 public:
  explicit CallQueue(SegmentContext& run);
  ~CallQueue() { drop(); }
  CallQueue(const CallQueue&) = delete;

  static bool waits(const Object* o) { return o->kind == ObjectKind::Tensor && as_tensor(o)->waits_for() > 0; }
  bool empty() const { return calls_.empty(); }
  // A call of a segment that waits or joins: as run_segment() of context.h.
  bool call(uint32_t segment, Object* const* args, Object** results);
  // Computes all that waits. False after the run's fail(); nothing waits then either, and who holds a result finds
  // zeros.
  bool flush();
  // Gives up what waits.
  void drop();

  static constexpr size_t max_calls = 4096;
  static constexpr int64_t max_bytes = int64_t{64} << 20, max_kept = int64_t{4} << 20;
  static constexpr int64_t max_rows =
      64;  // of one run of a segment: weights are read seldom enough, and rows stay in cache

 private:
  // Of an input or output: what one call has.
  struct Side {
    Array::Kind kind;
    uint32_t index;  // Input: which; Output: the result that is the same array, or its own number
    uint32_t dtype;
    Shape dims;
    int64_t bytes;
    bool rows;
    Value constant;
  };
  // A segment for one number of rows.
  struct Rows {
    Rows(const LinkedProgram& linked, const Segment& segment, Plan made)
        : plan(std::move(made)), runner(linked, segment, plan) {}
    Plan plan;
    SegmentRunner runner;
    // Memory of results, some for each that is made, in turns: used again when nobody else has it any more. A flush
    // begins with the first, which is more likely in cache than what was used longest ago.
    static constexpr size_t turns = 8;
    std::vector<Value> kept;
    size_t turn = 0;
    uint64_t flush = 0;
  };
  struct Batched {
    uint32_t segment = 0;
    bool begins = false;
    std::vector<Side> inputs, outputs;
    std::vector<uint32_t> made;  // the outputs that are made: not inputs, constants or others again
    int64_t bytes = 0;           // of a call
    int64_t rows = 0;            // at most at once; 0: nothing is known yet
    std::vector<Value> known;    // arguments and results of the first call that was given constants only
    std::vector<std::unique_ptr<Rows>> by_rows;
    std::vector<uint32_t> ready;  // calls, while flush() runs
  };
  struct Call {
    uint32_t first, batched;  // objects: the arguments, then the results that are made
    uint32_t missing = 0;     // arguments that wait
    uint32_t uses = none;     // of its results: the last of a list
  };
  struct Use {
    uint32_t by, before;
  };
  static constexpr uint32_t none = UINT32_MAX;

  bool prepare(Batched& b);
  Rows* rows(Batched& b, int64_t count);
  bool fits(const Batched& b, Object* const* args);
  bool run(Batched& b, std::span<const uint32_t> firsts);
  Value memory_for(Value* kept, int64_t bytes);
  bool run_ready(Batched& b);
  bool run_all();

  uint32_t next_ = 0;  // of batched_: none before it has calls that are ready
  SegmentContext& run_;
  std::vector<uint32_t> batched_of_;  // by segment
  std::vector<Batched> batched_;      // those that read the fewest constants first
  std::vector<Call> calls_;
  std::vector<Object*> objects_;  // results, and arguments that do not wait, have counts of their own
  std::vector<Use> uses_;
  std::vector<uint32_t> together_, firsts_;  // calls that run together, and their first objects
  int64_t bytes_ = 0;                        // of calls that wait
  std::vector<void*> inputs_, outputs_;
  std::vector<Value> made_;                                                    // the rows of each result of a run
  std::unique_ptr<std::byte, void (*)(std::byte*)> memory_{nullptr, nullptr};  // rows of arguments
  int64_t memory_bytes_ = 0, kept_bytes_ = 0;
  uint64_t flushes_ = 0;
  Value zeros_;  // as many as the largest result of a call has bytes: for results that could not be computed
};

}  // namespace relay::runtime
