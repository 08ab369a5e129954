// Batching of calls: independent calls of a segment are run together, so that weights are read once for all of them and
// not once per call.
//
//   %3 = segment layer(%1)      waits: %3 exists, its contents do not
//   %4 = segment layer(%2)      waits
//   %5 = segment join(%3, %4)   waits too
//   flush()                     copies %1 and %2 into two rows, runs layer for two calls, whose results are the rows
//                               %3 and %4; then runs join
//
// A call is ready if none of its arguments waits. flush() repeatedly runs all ready calls of one segment together. It
// takes the segment that reads the fewest constants first, because calls of the others become ready meanwhile. The
// compiler decides which segments wait (Batching in program.h). Tuples, data, closures and references hold waiting
// values like any others. Segments that do not wait, and the end of the run, read contents and therefore call flush().
// Instructions read only conditions and shapes, which never wait.
//
// A call whose arguments are constants of the program, such as an initial state, always has the same results: the first
// such call of a segment runs at once, and the others reuse its results.
//
// Each row is computed independently, with the same kernel for any number of rows, so results are bit-identical however
// calls are grouped. At most max_calls calls wait, with at most max_bytes bytes of rows. A result that is kept alive
// keeps the rows of at most max_rows calls alive.
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
  // A call of a batched segment; the interface is that of run_segment() in context.h.
  bool call(uint32_t segment, Object* const* args, Object** results);
  // Computes all waiting calls. Returns false after the run's fail(); then nothing waits either, and results that are
  // still held contain zeros.
  bool flush();
  // Discards all waiting calls.
  void drop();

  static constexpr size_t max_calls = 4096;
  static constexpr int64_t max_bytes = int64_t{64} << 20, max_kept = int64_t{4} << 20;
  static constexpr int64_t max_rows =
      64;  // per run of a segment: weights are read rarely enough, and rows stay in cache

 private:
  // An input or output, as seen by one call.
  struct Side {
    Array::Kind kind;
    uint32_t index;  // Input: its index; Output: the result that is the same array, or its own index
    uint32_t dtype;
    Shape dims;
    int64_t bytes;
    bool rows;
    Value constant;
  };
  // A segment planned for one number of rows.
  struct Rows {
    Rows(const LinkedProgram& linked, const Segment& segment, Plan made)
        : plan(std::move(made)), runner(linked, segment, plan) {}
    Plan plan;
    SegmentRunner runner;
    // Memory of results, several blocks for each result, used in turn: a block is reused when nothing else refers to
    // it. A flush starts with the first block, which is more likely to be in cache than the least recently used one.
    static constexpr size_t turns = 8;
    std::vector<Value> kept;
    size_t turn = 0;
    uint64_t flush = 0;
  };
  struct Batched {
    uint32_t segment = 0;
    bool begins = false;
    std::vector<Side> inputs, outputs;
    std::vector<uint32_t> made;  // the outputs that are computed: not inputs, constants or duplicates
    int64_t bytes = 0;           // per call
    int64_t rows = 0;            // at most at once; 0 if not yet known
    std::vector<Value> known;    // arguments and results of the first call with constant arguments only
    std::vector<std::unique_ptr<Rows>> by_rows;
    std::vector<uint32_t> ready;  // ready calls, during flush()
  };
  struct Call {
    uint32_t first, batched;  // objects: the arguments, then the computed results
    uint32_t missing = 0;     // arguments that wait
    uint32_t uses = none;     // of its results: the last one in a list
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

  uint32_t next_ = 0;  // into batched_: no earlier one has ready calls
  SegmentContext& run_;
  std::vector<uint32_t> batched_of_;  // by segment
  std::vector<Batched> batched_;      // in ascending order of the constants that they read
  std::vector<Call> calls_;
  std::vector<Object*> objects_;  // results, and arguments that do not wait, are counted separately
  std::vector<Use> uses_;
  std::vector<uint32_t> together_, firsts_;  // calls that run together, and their first objects
  int64_t bytes_ = 0;                        // of waiting calls
  std::vector<void*> inputs_, outputs_;
  std::vector<Value> made_;                                                    // the rows of each result of a run
  std::unique_ptr<std::byte, void (*)(std::byte*)> memory_{nullptr, nullptr};  // rows of arguments
  int64_t memory_bytes_ = 0, kept_bytes_ = 0;
  uint64_t flushes_ = 0;
  Value zeros_;  // as many bytes as the largest result of a call: for results that could not be computed
};

}  // namespace relay::runtime
