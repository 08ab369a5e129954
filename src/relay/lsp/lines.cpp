#include "relay/lsp/lines.h"

#include <algorithm>

namespace relay::lsp {

static bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }
static int units_of(char first) {
  return continues_character(first) ? 0 : static_cast<unsigned char>(first) >= 0xF0 ? 2 : 1;
}

Lines::Lines(std::string_view text) : text_(text), begins_{0} {
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n' || (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n')))
      begins_.push_back(static_cast<uint32_t>(i + 1));
}

int Lines::units(std::string_view text) {
  int out = 0;
  for (char c : text) out += units_of(c);
  return out;
}

Position Lines::position(uint32_t offset) const {
  offset = std::min<uint32_t>(offset, static_cast<uint32_t>(text_.size()));
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), offset);
  const uint32_t begin = *std::prev(after);
  return {static_cast<int>(after - begins_.begin()) - 1, units(text_.substr(begin, offset - begin))};
}

uint32_t Lines::offset(const Position& position) const {
  if (position.line < 0) return 0;
  const size_t line = static_cast<size_t>(position.line);
  if (line >= begins_.size()) return static_cast<uint32_t>(text_.size());
  uint32_t at = begins_[line];
  int left = std::max(position.character, 0);
  while (left > 0 && at < text_.size() && text_[at] != '\n' && text_[at] != '\r') {
    left -= units_of(text_[at]);
    for (++at; at < text_.size() && continues_character(text_[at]);) ++at;
  }
  return at;
}

}  // namespace relay::lsp
