// Finds races: two threads that touch one element, at least one of them to write it, with nothing that orders them.
#pragma once

#include <unordered_map>

#include "relay/loop/loop.h"

namespace relay::loop {

class RaceCheck {
 public:
  // Another block begins, whose shared arrays are its own.
  void begin_block() { ++block_, ++interval_, shared_.clear(); }
  // All threads of the block have passed a barrier.
  void pass_barrier() { ++interval_; }

  // Steps on tiles (warp_tiles.h) touch elements by an unknown lane: each is a thread of its own, from this number on.
  static constexpr int64_t first_step = int64_t{1} << 32;

  // Notes that thread number `thread` of the block touches element number `element` of the array, which has `elements`,
  // in the statement. Returns the race with an earlier access, in words; "" if there is none.
  std::string touch(const Buffer& buffer, int64_t element, int64_t elements, int64_t thread, bool writes,
                    const StmtNode* statement);

  // The first line of a statement's text.
  static std::string text(const StmtNode* statement);

 private:
  struct Access {
    int64_t who = -1;  // -1 if there is none
    const StmtNode* statement = nullptr;
  };
  // The accesses of an element so far: a writer, and two readers if there are several.
  struct Accesses {
    Access writer, reader, second_reader;
    // Returns the earlier access that this one races with; null if there is none, and then this one is noted.
    const Access* meet(const Access& now, bool writes);
  };
  struct Element {
    int64_t interval = -1;  // between two barriers, of of_threads
    Accesses of_threads, of_blocks;
  };

  int64_t block_ = -1, interval_ = 0;
  std::unordered_map<const Buffer*, std::vector<Element>> params_, shared_;
};

}  // namespace relay::loop
