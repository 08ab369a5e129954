#include "relay/text/occurrences.h"

#include <algorithm>

namespace relay::text {

const Occurrence* Occurrences::at(uint32_t offset) const {
  const auto after = std::upper_bound(places.begin(), places.end(), offset,
                                      [](uint32_t at, const Occurrence& o) { return at < o.begin; });
  if (after == places.begin()) return nullptr;
  const Occurrence& last = *std::prev(after);
  return offset <= last.end ? &last : nullptr;
}

const ir::Expr* Occurrences::call_at(uint32_t callee) const {
  const auto found = std::lower_bound(calls.begin(), calls.end(), callee,
                                      [](const CallPlace& c, uint32_t at) { return c.callee < at; });
  return found != calls.end() && found->callee == callee ? &found->call : nullptr;
}

uint32_t OccurrenceRecorder::add(uint32_t begin, uint32_t end, uint32_t thing, bool defines) {
  out_.places.push_back({begin, end, thing});
  if (defines && out_.things[thing].definition == nowhere) out_.things[thing].definition = begin;
  return thing;
}

uint32_t OccurrenceRecorder::note(uint32_t begin, uint32_t end, NameKind kind, std::string_view name, const void* key,
                                  const ir::Expr& expr, bool defines) {
  const auto [found, added] = by_key_.try_emplace(key, static_cast<uint32_t>(out_.things.size()));
  if (added) out_.things.push_back({kind, std::string(name), expr});
  return add(begin, end, found->second, defines);
}

uint32_t OccurrenceRecorder::note_named(uint32_t begin, uint32_t end, NameKind kind, std::string_view name,
                                        bool defines) {
  const auto [found, added] =
      by_name_.try_emplace(format("{} {}", static_cast<int>(kind), name), static_cast<uint32_t>(out_.things.size()));
  if (added) out_.things.push_back({kind, std::string(name), nullptr});
  return add(begin, end, found->second, defines);
}

uint32_t OccurrenceRecorder::define_graph(uint32_t begin, uint32_t end, int64_t number) {
  const uint32_t thing = static_cast<uint32_t>(out_.things.size());
  out_.things.push_back({NameKind::Graph, std::to_string(number), nullptr});
  graphs_[number].push_back(thing);
  return add(begin, end, thing, true);
}

void OccurrenceRecorder::bind_graph(int64_t number, const ir::Expr& value) {
  const std::vector<uint32_t>& things = graphs_[number];
  for (size_t i = things.size(); i-- > 0;)
    if (!out_.things[things[i]].expr) {
      out_.things[things[i]].expr = value;
      return;
    }
}

void OccurrenceRecorder::note_graph(uint32_t begin, uint32_t end, int64_t number, const ir::Expr& value) {
  const std::vector<uint32_t>& things = graphs_[number];
  for (size_t i = things.size(); i-- > 0;)
    if (out_.things[things[i]].expr == value) {
      add(begin, end, things[i], false);
      return;
    }
}

void OccurrenceRecorder::set_extent(uint32_t thing, uint32_t begin, uint32_t end) {
  if (out_.things[thing].begin == nowhere) out_.things[thing].begin = begin, out_.things[thing].end = end;
}

void OccurrenceRecorder::finish() {
  std::sort(out_.places.begin(), out_.places.end(),
            [](const Occurrence& a, const Occurrence& b) { return a.begin < b.begin; });
  std::sort(out_.calls.begin(), out_.calls.end(), [](const CallPlace& a, const CallPlace& b) {
    return std::pair(a.callee, a.call->span.end) < std::pair(b.callee, b.call->span.end);
  });
}

}  // namespace relay::text
