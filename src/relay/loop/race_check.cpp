#include "relay/loop/race_check.h"

namespace relay::loop {

std::string RaceCheck::text(const StmtNode* statement) {
  std::string all = str(Stmt(statement));
  all = all.substr(0, all.find('\n'));
  return all.ends_with(" {") ? all.substr(0, all.size() - 2) : all;
}

const RaceCheck::Access* RaceCheck::Accesses::meet(const Access& now, bool writes) {
  auto is_other = [&](const Access& before) { return before.who >= 0 && before.who != now.who; };
  if (is_other(writer)) return &writer;
  for (const Access* r : {&reader, &second_reader})
    if (writes && is_other(*r)) return r;
  (writes ? writer : is_other(reader) ? second_reader : reader) = now;
  return nullptr;
}

// "row[2, 7]"; by its number, "row[~71]", if the array's sizes are not constant.
static std::string place(const Buffer& buffer, int64_t element) {
  std::vector<int64_t> at(buffer.shape.size());
  int64_t rest = element;
  for (size_t d = buffer.shape.size(); d-- > 0;) {
    const Expr extent = scalar::simplify(buffer.shape[d]);
    if (d > 0 && !scalar::is_int(extent)) return format("{}[~{}]", buffer.name, element);
    at[d] = d > 0 ? rest % extent->ivalue : rest;
    if (d > 0) rest /= extent->ivalue;
  }
  return format("{}[{}]", buffer.name, join(at, ", "));
}

static std::string name_of(int64_t thread) {
  return thread > RaceCheck::first_step ? "a step on tiles" : format("thread {}", thread);
}

std::string RaceCheck::touch(const Buffer& buffer, int64_t element, int64_t elements, int64_t thread, bool writes,
                             const StmtNode* statement) {
  const bool is_shared = buffer.scope == Scope::Shared;
  std::vector<Element>& all = (is_shared ? shared_ : params_)[&buffer];
  if (all.empty()) all.resize(static_cast<size_t>(elements));
  Element& e = all[static_cast<size_t>(element)];
  if (e.interval != interval_) e.of_threads = {}, e.interval = interval_;
  if (!is_shared)
    if (const Access* other = e.of_blocks.meet({block_, statement}, writes))
      return format("two blocks touch {}, and one writes it: `{}` of block {} and `{}` of block {}",
                    place(buffer, element), text(other->statement), other->who, text(statement), block_);
  if (const Access* other = e.of_threads.meet({thread, statement}, writes))
    return format("two threads touch {} without a barrier between them, and one writes it: `{}` of {} and `{}` of {}",
                  place(buffer, element), text(other->statement), name_of(other->who), text(statement),
                  name_of(thread));
  return {};
}

}  // namespace relay::loop
