#include "relay/lsp/lines.h"

#include <algorithm>

namespace relay::lsp {

static bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }
static int units_of(char first) {
  return continues_character(first) ? 0 : static_cast<unsigned char>(first) >= 0xF0 ? 2 : 1;
}

Lines::Lines(std::string_view text) : text_(text), begins_{0} {
  uint32_t units = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i % step == 0) counts_.push_back(units);
    units += static_cast<uint32_t>(units_of(text[i]));
    if (text[i] == '\n' || (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n')))
      begins_.push_back(static_cast<uint32_t>(i + 1));
  }
  counts_.push_back(units);
}

uint32_t Lines::units_before(uint32_t offset) const {
  const uint32_t known = std::min<uint32_t>(offset / step, static_cast<uint32_t>(counts_.size()) - 1);
  uint32_t units = counts_[known];
  if (known * step >= text_.size()) return units;
  for (char c : text_.substr(known * step, offset - known * step)) units += static_cast<uint32_t>(units_of(c));
  return units;
}

Position Lines::position(uint32_t offset) const {
  offset = std::min<uint32_t>(offset, static_cast<uint32_t>(text_.size()));
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), offset);
  return {static_cast<int>(after - begins_.begin()) - 1, units(*std::prev(after), offset)};
}

uint32_t Lines::offset(const Position& position) const {
  if (position.line < 0) return 0;
  const size_t line = static_cast<size_t>(position.line);
  if (line >= begins_.size()) return static_cast<uint32_t>(text_.size());
  uint32_t end = line + 1 < begins_.size() ? begins_[line + 1] : static_cast<uint32_t>(text_.size());
  while (end > begins_[line] && (text_[end - 1] == '\n' || text_[end - 1] == '\r')) --end;
  // The first offset with as many units before it as the position asks for.
  const uint32_t wanted = units_before(begins_[line]) + static_cast<uint32_t>(std::max(position.character, 0));
  uint32_t low = begins_[line], high = end;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (units_before(middle) < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  while (low < end && continues_character(text_[low])) ++low;
  return low;
}

}  // namespace relay::lsp
