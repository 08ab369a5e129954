#include "relay/loop/async_copies.h"

#include <iterator>
#include <set>

namespace relay::loop {

std::vector<int64_t> async_copy_bytes(const Kernel& kernel) {
  std::set<int64_t> sizes;
  visit(
      kernel.body,
      [&](const Stmt& s) {
        if (s->kind == StmtKind::AsyncCopy) sizes.insert(s->extent->ivalue * s->buffer->dtype.bytes());
      },
      [](const Expr&) {});
  return {sizes.begin(), sizes.end()};
}

Stmt synchronous(const Stmt& copy) {
  const Expr e = scalar::var("e");
  Exprs to = copy->indices, from = copy->value->args;
  to.back() = to.back() + e, from.back() = from.back() + e;
  return for_(e, scalar::imm(0), copy->extent, ForKind::Serial,
              store(copy->buffer, std::move(to), scalar::load(copy->value->source, std::move(from))));
}

void CopiesUnderWay::start(const Element& element) {
  threads_[element.thread].open.push_back(element);
  elements_[{element.buffer, element.number}] = element;
}

void CopiesUnderWay::commit(int64_t thread) {
  OfThread& mine = threads_[thread];
  mine.committed.push_back(std::move(mine.open));
  mine.open.clear();
}

std::vector<CopiesUnderWay::Element> CopiesUnderWay::wait(int64_t thread, int64_t groups) {
  std::vector<Group>& committed = threads_[thread].committed;
  const int64_t done = std::max<int64_t>(0, std::ssize(committed) - groups);
  std::vector<Element> out;
  for (int64_t g = 0; g < done; ++g)
    for (const Element& e : committed[static_cast<size_t>(g)]) {
      out.push_back(e);
      elements_.erase({e.buffer, e.number});
    }
  committed.erase(committed.begin(), committed.begin() + done);
  return out;
}

const CopiesUnderWay::Element* CopiesUnderWay::find(const Buffer& buffer, int64_t number) const {
  const auto found = elements_.find({&buffer, number});
  return found == elements_.end() ? nullptr : &found->second;
}

const CopiesUnderWay::Element* CopiesUnderWay::any() const {
  return elements_.empty() ? nullptr : &elements_.begin()->second;
}

}  // namespace relay::loop
