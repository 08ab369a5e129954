#include "relay/base/printable.h"

#include <algorithm>

#include "relay/base/text.h"

namespace relay {

// The length of the UTF-8 sequence at `at`, or 0 if it is invalid.
static size_t utf8_length(std::string_view text, size_t at) {
  unsigned char lead = static_cast<unsigned char>(text[at]);
  size_t length = lead < 0x80                   ? 1
                  : lead >= 0xC2 && lead < 0xE0 ? 2
                  : lead >= 0xE0 && lead < 0xF0 ? 3
                  : lead >= 0xF0 && lead < 0xF5 ? 4
                                                : 0;
  if (length == 0 || text.size() - at < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((static_cast<unsigned char>(text[at + i]) & 0xC0) != 0x80) return 0;
  // Overlong encodings, surrogates, beyond the last code point.
  unsigned char second = length > 1 ? static_cast<unsigned char>(text[at + 1]) : 0;
  bool bad = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) || (lead == 0xF0 && second < 0x90) ||
             (lead == 0xF4 && second > 0x8F);
  return bad ? 0 : length;
}

// True for U+202A to U+202E and U+2066 to U+2069.
static bool turns_direction(std::string_view letter) {
  if (letter.size() != 3 || letter[0] != '\xe2') return false;
  unsigned char last = static_cast<unsigned char>(letter[2]);
  return letter[1] == '\x80' ? last >= 0xAA && last <= 0xAE : letter[1] == '\x81' && last >= 0xA6 && last <= 0xA9;
}

std::string printable(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t length = utf8_length(text, i);
    unsigned char byte = static_cast<unsigned char>(text[i]);
    bool control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
    // U+0080 to U+009F are control characters of terminals too.
    if (length == 2 && byte == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0) control = true;
    if (length == 0 || control || turns_direction(text.substr(i, length))) {
      for (size_t end = i + std::max<size_t>(length, 1); i < end; ++i)
        out += format("\\x{:02x}", static_cast<unsigned char>(text[i]));
    } else {
      out.append(text.substr(i, length));
      i += length;
    }
  }
  return out;
}

std::string printable_line(std::string_view text) {
  std::string out;
  for (char c : printable(text))
    if (c == '\n' || c == '\t')
      out += format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  return out;
}

static std::string cut(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  size_t end = most;
  while (end > most - 4 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

std::string shortened(std::string_view text) { return cut(text, 200); }

std::string readable(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size() && out.size() <= 2000;) {
    size_t end = std::min(text.find_first_of(" \n", at), text.size());
    out += shortened(text.substr(at, end - at));
    at = end + 1;
    if (end < text.size()) out += text[end];
  }
  return cut(out, 2000);
}

}  // namespace relay
