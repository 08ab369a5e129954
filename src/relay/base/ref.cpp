#include "relay/base/ref.h"

#include <vector>

namespace relay {

void Counted::destroy(const Counted* node) {
  // A plain pointer, so that a Ref released while a thread ends still finds it valid.
  static thread_local std::vector<const Counted*>* pending = nullptr;
  if (pending) {  // an outer destroy() is running: it will delete this one
    pending->push_back(node);
    return;
  }
  std::vector<const Counted*> work{node};
  pending = &work;
  while (!work.empty()) {
    const Counted* next = work.back();
    work.pop_back();
    delete next;
  }
  pending = nullptr;
}

}  // namespace relay
