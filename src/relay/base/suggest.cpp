#include "relay/base/suggest.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <tuple>

#include "relay/base/text.h"

namespace relay {

// Costs of edits; halves of a changed letter are whole numbers.
static constexpr size_t change = 2, case_change = 1, missing_namespace = 1, rest_of_name = 3;

static size_t replacing(char a, char b) {
  if (a == b) return 0;
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return lower(a) == lower(b) ? case_change : change;
}

static size_t edit_cost(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = change * j;
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, above), std::swap(above, row);
    row[0] = change * i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + change, row[j - 1] + change, above[j - 1] + replacing(a[i - 1], b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] != a[i - 2] && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + change);
    }
  }
  return row[b.size()];
}

// Unset if the candidate is too far away: more than a third of the name, or more than half of the longer one, differs.
static std::optional<size_t> near_cost(std::string_view name, std::string_view candidate) {
  const size_t cost = edit_cost(name, candidate), most = change * std::max<size_t>(2, name.size() / 3);
  return cost <= most && cost <= std::max(name.size(), candidate.size()) ? std::optional(cost) : std::nullopt;
}

static std::optional<size_t> cost_of(std::string_view name, std::string_view candidate) {
  const size_t dot = candidate.rfind('.');
  const bool is_inside = dot != candidate.npos && name.find('.') == name.npos;
  const std::string_view last = is_inside ? candidate.substr(dot + 1) : candidate;
  if (is_inside && last == name) return 0;
  std::optional<size_t> best = near_cost(name, candidate);
  const auto offer = [&](size_t cost) { best = std::min(best.value_or(cost), cost); };
  if (is_inside)
    if (const std::optional<size_t> inside = near_cost(name, last)) offer(*inside + missing_namespace);
  if (name.size() >= 3 && (starts_with(last, name) || starts_with(candidate, name))) offer(rest_of_name);
  return best;
}

std::vector<std::string> suggestions(std::string_view name, const std::vector<std::string>& candidates, size_t most) {
  name = name.substr(0, 200);
  std::vector<std::tuple<size_t, size_t, const std::string*>> near;  // cost, size, candidate
  for (const std::string& candidate : candidates)
    if (const std::optional<size_t> cost = cost_of(name, candidate))
      near.emplace_back(*cost, candidate.size(), &candidate);
  std::sort(near.begin(), near.end());
  std::vector<std::string> out;
  for (const auto& [cost, size, candidate] : near)
    if (out.size() < most && std::find(out.begin(), out.end(), *candidate) == out.end()) out.push_back(*candidate);
  return out;
}

std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& candidates) {
  std::vector<std::string> near = suggestions(name, candidates, 1);
  return near.empty() ? std::nullopt : std::optional(std::move(near[0]));
}

std::string did_you_mean(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i)
    out += format("{}'{}'", i == 0 ? "" : i + 1 < names.size() ? ", " : " or ", names[i]);
  return out.empty() ? out : format("did you mean {}?", out);
}

}  // namespace relay
