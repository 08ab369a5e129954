#include "relay/base/text.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace relay {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string_view trim(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

bool starts_with(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

static size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t cost = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = std::exchange(row[j], cost);
    }
  }
  return row[b.size()];
}

std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  size_t best_distance = std::max<size_t>(2, name.size() / 3) + 1;  // and at most half of the name
  for (const std::string& candidate : candidates) {
    size_t distance = edit_distance(name.substr(0, 200), candidate);
    // "conv2d" for "nn.conv2d": a missing namespace is the most common mistake.
    if (candidate.size() > name.size() && candidate.ends_with(name) &&
        candidate[candidate.size() - name.size() - 1] == '.')
      distance = 0;
    if (distance < best_distance && 2 * distance <= std::max(name.size(), candidate.size()))
      best_distance = distance, best = candidate;
  }
  return best;
}

std::string plural(int64_t n, std::string_view one, std::string_view many) {
  return format("{} {}", n, n == 1 ? one : many);
}

}  // namespace relay
