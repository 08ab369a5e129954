// References: the only mutable objects, so the only ones that can form cycles.
//
// Reference counting frees everything else. Cycles are found by trial deletion (Bacon and Rajan, 2001): the links among
// all objects reachable from a heap's references are counted. Objects without other links, and not reachable from
// objects that have them, are garbage. The references among them are emptied, and counting frees the rest.
//
// A run makes references in its own heap and collects garbage at its end, and whenever their number has doubled since
// the last collection. The references left at the end are reachable from the results; they move to the heap of resting
// references, which also collects as it grows. A run adopts the references that its inputs reach from there, and
// returns them. So only one run at a time can change a reference: a second run is refused.
#pragma once

#include <mutex>

#include "relay/runtime/functions/object.h"

namespace relay::runtime {

class ReferenceHeap {
 public:
  ReferenceHeap() = default;
  ~ReferenceHeap() { rest(); }
  ReferenceHeap(const ReferenceHeap&) = delete;
  ReferenceHeap& operator=(const ReferenceHeap&) = delete;
  // The heap of references that no run uses.
  static ReferenceHeap& resting();

  // Takes ownership of `content`; returns null if memory is exhausted.
  Object* make(Object* content);
  // Takes all references reachable from the values from the resting heap. Returns false, and takes none, if another run
  // uses one of them.
  bool adopt(std::span<Object* const> values);
  void collect();
  // Moves all references to the resting heap.
  void rest();
  size_t live() const;

 private:
  friend void forget(ReferenceObject* reference);
  void link(ReferenceObject* reference);    // under the lock
  void unlink(ReferenceObject* reference);  // under the lock

  ReferenceObject* first_ = nullptr;  // all guarded by the lock
  size_t live_ = 0;
  size_t collect_at_ = 256;
};

// The content, with its own count.
Object* read_reference(ReferenceObject* reference);
// Takes ownership of `content`.
void write_reference(ReferenceObject* reference, Object* content);
// Removes a reference that is being freed from its heap; ownership of its content passes to the caller.
void forget(ReferenceObject* reference);

}  // namespace relay::runtime
