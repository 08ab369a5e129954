// Ref<T>: a shared pointer to an immutable, intrusively counted node.
//
// Every node of every IR (scalar, types, expressions, loops) derives from Counted. When the last Ref goes, the node is
// put on a work list and deleted from a loop, never from inside another destructor: a chain of a million nodes is freed
// in constant stack.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

namespace relay {

class Counted {
 public:
  Counted() = default;
  Counted(const Counted&) : refs_(0) {}
  Counted& operator=(const Counted&) { return *this; }
  virtual ~Counted() = default;

  void retain() const { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() const {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(this);
  }
  uint32_t use_count() const { return refs_.load(std::memory_order_relaxed); }

 private:
  static void destroy(const Counted* node);  // ref.cpp: the work list
  mutable std::atomic<uint32_t> refs_{0};
};

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* p) : p_(p) {
    if (p_) p_->retain();
  }
  Ref(const Ref& o) : Ref(o.p_) {}
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  template <class U>
    requires std::is_convertible_v<U*, T*>
  Ref(const Ref<U>& o) : Ref(static_cast<T*>(o.get())) {}
  ~Ref() {
    if (p_) p_->release();
  }
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }

  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  bool operator==(const Ref& o) const { return p_ == o.p_; }  // identity; structural equality has its own functions
  bool operator==(std::nullptr_t) const { return p_ == nullptr; }

 private:
  T* p_ = nullptr;
};

// make<Node>(args...): the only way to create a node.
template <class T, class... Args>
Ref<const T> make(Args&&... args) {
  return Ref<const T>(new T{std::forward<Args>(args)...});
}

}  // namespace relay

template <class T>
struct std::hash<relay::Ref<T>> {
  size_t operator()(const relay::Ref<T>& r) const noexcept { return std::hash<const void*>()(r.get()); }
};
