#include "relay/runtime/functions/references.h"

#include <new>
#include <unordered_map>
#include <unordered_set>

namespace relay::runtime {

// Guards every heap's list and every reference's content. Held for a few instructions, or during a collection.
static std::mutex& lock() {
  static std::mutex* mutex = new std::mutex;  // references may be freed while the process ends
  return *mutex;
}

ReferenceHeap& ReferenceHeap::resting() {
  static ReferenceHeap* heap = new ReferenceHeap;
  return *heap;
}

void ReferenceHeap::link(ReferenceObject* r) {
  r->heap = this;
  r->previous = nullptr;
  r->next = first_;
  if (first_) first_->previous = r;
  first_ = r;
  ++live_;
}

void ReferenceHeap::unlink(ReferenceObject* r) {
  (r->previous ? r->previous->next : first_) = r->next;
  if (r->next) r->next->previous = r->previous;
  --live_;
}

void forget(ReferenceObject* r) {
  std::lock_guard<std::mutex> guard(lock());
  r->heap->unlink(r);
}

Object* read_reference(ReferenceObject* r) {
  std::lock_guard<std::mutex> guard(lock());
  return retain(r->content);
}

void write_reference(ReferenceObject* r, Object* content) {
  {
    std::lock_guard<std::mutex> guard(lock());
    std::swap(r->content, content);
  }
  release(content);
}

Object* ReferenceHeap::make(Object* content) {
  void* memory = std::malloc(sizeof(ReferenceObject));
  if (memory == nullptr) return nullptr;
  ReferenceObject* r = new (memory) ReferenceObject;
  r->kind = ObjectKind::Reference;
  r->has_references = true;
  r->content = content;
  bool full = false;
  {
    std::lock_guard<std::mutex> guard(lock());
    link(r);
    full = live_ >= collect_at_;
  }
  if (full) collect();
  return r;
}

size_t ReferenceHeap::live() const {
  std::lock_guard<std::mutex> guard(lock());
  return live_;
}

// Visits the objects that `o` links to and that reach references. Requires the lock.
template <class Visit>
static void for_each_link(Object* o, Visit visit) {
  if (o->kind == ObjectKind::Reference) {
    Object* content = static_cast<ReferenceObject*>(o)->content;
    if (content && content->has_references) visit(content);
  } else if (o->kind != ObjectKind::Tensor) {
    for (uint32_t i = 0; i < o->size; ++i)
      if (fields(o)[i]->has_references) visit(fields(o)[i]);
  }
}

bool ReferenceHeap::adopt(std::span<Object* const> values) {
  std::vector<Object*> work;
  for (Object* v : values)
    if (v->has_references) work.push_back(v);
  if (work.empty()) return true;
  std::lock_guard<std::mutex> guard(lock());
  std::unordered_set<Object*> seen(work.begin(), work.end());
  std::vector<ReferenceObject*> found;
  while (!work.empty()) {
    Object* o = work.back();
    work.pop_back();
    if (o->kind == ObjectKind::Reference) {
      ReferenceObject* r = static_cast<ReferenceObject*>(o);
      if (r->heap != &resting()) return false;
      found.push_back(r);
    }
    for_each_link(o, [&](Object* linked) {
      if (seen.insert(linked).second) work.push_back(linked);
    });
  }
  for (ReferenceObject* r : found) {
    r->heap->unlink(r);
    link(r);
  }
  return true;
}

void ReferenceHeap::collect() {
  struct Count {
    uint32_t inside = 0;  // links from objects reachable from this heap's references
    bool alive = false;
  };
  std::vector<ReferenceObject*> garbage;
  std::vector<Object*> contents;
  {
    std::lock_guard<std::mutex> guard(lock());
    std::unordered_map<Object*, Count> counts;
    std::vector<Object*> work;
    for (ReferenceObject* r = first_; r; r = r->next) {
      counts.try_emplace(r);
      work.push_back(r);
    }
    // References of other heaps must not be freed here; objects that they reach have an additional link and stay.
    auto foreign = [&](Object* o) {
      return o->kind == ObjectKind::Reference && static_cast<ReferenceObject*>(o)->heap != this;
    };
    while (!work.empty()) {
      Object* o = work.back();
      work.pop_back();
      for_each_link(o, [&](Object* linked) {
        if (foreign(linked)) return;
        std::pair<std::unordered_map<Object*, Count>::iterator, bool> entry = counts.try_emplace(linked);
        ++entry.first->second.inside;
        if (entry.second) work.push_back(linked);
      });
    }
    // If the count is 0, another thread is freeing the object and waits for the lock.
    for (std::pair<Object* const, Count>& c : counts) {
      uint32_t count = c.first->count.load(std::memory_order_acquire);
      if (count != 0 && count <= c.second.inside) continue;
      c.second.alive = true;
      work.push_back(c.first);
    }
    while (!work.empty()) {
      Object* o = work.back();
      work.pop_back();
      for_each_link(o, [&](Object* linked) {
        if (foreign(linked)) return;
        Count& c = counts[linked];
        if (!c.alive) work.push_back(linked);
        c.alive = true;
      });
    }
    for (ReferenceObject* r = first_; r; r = r->next) {
      if (counts[r].alive) continue;
      retain(r);
      garbage.push_back(r);
      if (r->content) contents.push_back(std::exchange(r->content, nullptr));
    }
    collect_at_ = std::max<size_t>(256, 2 * (live_ - garbage.size()));
  }
  for (Object* o : contents) release(o);
  for (ReferenceObject* r : garbage) release(r);
}

void ReferenceHeap::rest() {
  ReferenceHeap& to = resting();
  if (this == &to) return;
  bool full = false;
  {
    std::lock_guard<std::mutex> guard(lock());
    while (first_) {
      ReferenceObject* r = first_;
      unlink(r);
      to.link(r);
    }
    full = to.live_ >= to.collect_at_;
  }
  if (full) to.collect();
}

}  // namespace relay::runtime
