#include "relay/base/printable.h"

#include "relay/base/text.h"

namespace relay {

// The length of the UTF-8 sequence at `at`, 0 when there is none.
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
  // Overlong forms, surrogates, beyond the last code point.
  unsigned char second = length > 1 ? static_cast<unsigned char>(text[at + 1]) : 0;
  bool bad = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) || (lead == 0xF0 && second < 0x90) ||
             (lead == 0xF4 && second > 0x8F);
  return bad ? 0 : length;
}

std::string printable(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t length = utf8_length(text, i);
    unsigned char byte = static_cast<unsigned char>(text[i]);
    bool control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
    // U+0080 to U+009F: terminals obey these too.
    if (length == 2 && byte == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0) control = true;
    if (length == 0 || control) {
      out += format("\\x{:02x}", byte);
      ++i;
    } else {
      out.append(text.substr(i, length));
      i += length;
    }
  }
  return out;
}

std::string shortened(std::string_view text) {
  constexpr size_t most = 200;
  if (text.size() <= most) return std::string(text);
  size_t end = most;
  while (end > most - 4 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

}  // namespace relay
