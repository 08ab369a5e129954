#include "relay/driver/cli/text_difference.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "relay/base/text.h"

namespace relay::cli {

namespace {

// A line for comparison: without the numbers of values (%0) and of constants (meta[relay.Constant][0]).
std::string key_of(std::string_view line) {
  std::string key;
  for (size_t i = 0; i < line.size(); ++i) {
    key += line[i];
    if (line[i] != '%' && !key.ends_with("[relay.Constant][")) continue;
    while (i + 1 < line.size() && std::isdigit(static_cast<unsigned char>(line[i + 1]))) ++i;
  }
  return key;
}

struct Lines {
  explicit Lines(const std::string& whole) : text(split(whole, '\n')) {
    if (text.back().empty()) text.pop_back();  // after the end of the last line
    for (std::string_view line : text) keys.push_back(key_of(line));
  }
  std::vector<std::string_view> text;
  std::vector<std::string> keys;
};

// A line of the difference: of `before` at `a` (' ' and '-'), of `after` at `b` (' ' and '+').
struct Edit {
  char kind;
  size_t a, b;
};

// The shortest edits that turn a[a0, a1) into b[b0, b1), last first. Furthest points of each diagonal are kept for
// every number of edits, and walked back from the end.
bool shortest_edits(const Lines& a, size_t a0, size_t a1, const Lines& b, size_t b0, size_t b1,
                    std::vector<Edit>& out) {
  constexpr int64_t most = 2000;
  const int64_t n = static_cast<int64_t>(a1 - a0), m = static_cast<int64_t>(b1 - b0);
  std::vector<std::vector<int64_t>> furthest;  // [edits][diagonal + edits]
  auto at = [&](int64_t edits, int64_t diagonal) -> int64_t {
    if (edits < 0 || std::abs(diagonal) > edits) return -1;
    return furthest[static_cast<size_t>(edits)][static_cast<size_t>(diagonal + edits)];
  };
  // The point at which the path with `edits` edits reaches `diagonal` before it follows equal lines, and true if an
  // added line led there.
  auto step = [&](int64_t edits, int64_t diagonal) -> std::pair<int64_t, bool> {
    const int64_t added = at(edits - 1, diagonal + 1), removed = at(edits - 1, diagonal - 1);
    return added > removed ? std::pair{added, true} : std::pair{removed + 1, false};
  };
  int64_t edits = 0;
  for (bool done = false; !done; edits += !done) {
    if (edits > most) return false;
    furthest.emplace_back(static_cast<size_t>(2 * edits + 1), -1);
    for (int64_t diagonal = -edits; diagonal <= edits && !done; diagonal += 2) {
      int64_t x = edits == 0 ? 0 : step(edits, diagonal).first, y = x - diagonal;
      while (x < n && y >= 0 && y < m && a.keys[a0 + static_cast<size_t>(x)] == b.keys[b0 + static_cast<size_t>(y)])
        ++x, ++y;
      furthest.back()[static_cast<size_t>(diagonal + edits)] = x;
      done = x >= n && y >= m;
    }
  }
  int64_t x = n, y = m;
  for (; edits >= 0; --edits) {
    const auto [from, by_adding] = edits == 0 ? std::pair<int64_t, bool>{0, false} : step(edits, x - y);
    while (x > from) --x, --y, out.push_back({' ', a0 + static_cast<size_t>(x), b0 + static_cast<size_t>(y)});
    if (edits == 0) break;
    if (by_adding)
      --y, out.push_back({'+', a0 + static_cast<size_t>(x), b0 + static_cast<size_t>(y)});
    else
      --x, out.push_back({'-', a0 + static_cast<size_t>(x), b0 + static_cast<size_t>(y)});
  }
  return true;
}

std::vector<Edit> edits_between(const Lines& a, const Lines& b) {
  size_t begin = 0, a_end = a.keys.size(), b_end = b.keys.size();
  while (begin < a_end && begin < b_end && a.keys[begin] == b.keys[begin]) ++begin;
  while (a_end > begin && b_end > begin && a.keys[a_end - 1] == b.keys[b_end - 1]) --a_end, --b_end;
  std::vector<Edit> out, middle;
  for (size_t i = 0; i < begin; ++i) out.push_back({' ', i, i});
  if (shortest_edits(a, begin, a_end, b, begin, b_end, middle)) {
    out.insert(out.end(), middle.rbegin(), middle.rend());
  } else {
    for (size_t i = begin; i < a_end; ++i) out.push_back({'-', i, begin});
    for (size_t i = begin; i < b_end; ++i) out.push_back({'+', a_end, i});
  }
  for (; a_end < a.keys.size(); ++a_end, ++b_end) out.push_back({' ', a_end, b_end});
  return out;
}

}  // namespace

std::string difference(const std::string& before, const std::string& after, bool colour) {
  constexpr size_t context = 3;
  const Lines a(before), b(after);
  const std::vector<Edit> edits = edits_between(a, b);
  auto paint = [&](std::string_view line, const char* code) {
    return colour ? format("\033[{}m{}\033[0m\n", code, line) : format("{}\n", line);
  };
  std::string out;
  for (size_t i = 0; i < edits.size(); ++i) {
    if (edits[i].kind == ' ') continue;
    // A hunk continues while the next change is within the context of both.
    size_t last = i;
    for (size_t j = i; j < edits.size() && j <= last + 2 * context; ++j)
      if (edits[j].kind != ' ') last = j;
    const size_t first = i - std::min(i, context), end = std::min(edits.size(), last + context + 1);
    size_t removed = 0, added = 0;
    for (size_t j = first; j < end; ++j) removed += edits[j].kind != '+', added += edits[j].kind != '-';
    out += paint(format("@@ -{},{} +{},{} @@", edits[first].a + 1, removed, edits[first].b + 1, added), "36");
    for (size_t j = first; j < end; ++j) {
      const Edit& e = edits[j];
      const std::string_view line = e.kind == '-' ? a.text[e.a] : b.text[e.b];
      const std::string marked = format("{}{}", e.kind, line);
      out += e.kind == '-' ? paint(marked, "31") : e.kind == '+' ? paint(marked, "32") : marked + "\n";
    }
    i = end - 1;
  }
  return out;
}

}  // namespace relay::cli
