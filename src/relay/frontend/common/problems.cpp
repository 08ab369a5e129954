#include "relay/frontend/common/problems.h"

#include <algorithm>

namespace relay::frontend {

static constexpr size_t max_problems = 100;

void Problems::add(Diagnostic diagnostic) {
  if (shown_.size() < max_problems)
    shown_.push_back(std::move(diagnostic));
  else
    ++more_;
}

Diagnostics Problems::since(size_t count) const {
  return {shown_.begin() + static_cast<std::ptrdiff_t>(std::min(count, shown_.size())), shown_.end()};
}

Diagnostics Problems::all() const {
  Diagnostics all = shown_;
  if (more_)
    all.back().notes.push_back(
        format("{} more are not shown", plural(static_cast<int64_t>(more_), "problem", "problems")));
  return all;
}

void OperatorUses::add(std::string_view domain, std::string_view name, int64_t version, bool has_converter,
                       function_ref<Span()> place) {
  OperatorUse& use = uses_[{domain, name}];
  if (use.count++) return;
  use.op = domain.empty() ? std::string(name) : format("{}.{}", domain, name);
  use.version = version, use.has_converter = has_converter, use.first = place();
}

std::vector<OperatorUse> OperatorUses::sorted() const {
  std::vector<OperatorUse> all;
  for (const auto& [name, use] : uses_) all.push_back(use);
  std::sort(all.begin(), all.end(), [](const OperatorUse& a, const OperatorUse& b) {
    if (a.has_converter != b.has_converter) return b.has_converter;
    return a.count != b.count ? a.count > b.count : a.op < b.op;
  });
  return all;
}

void OperatorUses::report_missing(Problems& problems, const char* version_word, Explain explain) const {
  for (const auto& [name, use] : uses_) {
    if (use.has_converter) continue;
    const std::string version = *version_word ? format(" ({} {})", version_word, use.version) : "";
    Diagnostic d{DiagnosticKind::unsupported_operator,
                 format("operator {}{} cannot be imported; the model uses it {}", use.op, version,
                        plural(static_cast<int64_t>(use.count), "time", "times")),
                 use.first,
                 {},
                 {},
                 "export the model without this operator"};
    explain(name.first, name.second, d);
    problems.add(std::move(d));
  }
}

}  // namespace relay::frontend
