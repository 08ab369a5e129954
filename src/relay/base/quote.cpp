#include "relay/base/quote.h"

#include <charconv>
#include <optional>

#include "relay/base/printable.h"
#include "relay/base/text.h"

namespace relay {

std::string quote(std::string_view text) {
  std::string out;
  for (char c : text) switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      default: out += c;
    }
  return format("\"{}\"", printable(out));  // escapes the rest
}

static std::optional<char> hex_byte(std::string_view digits) {
  unsigned char byte = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
  if (digits.size() != 2 || error != std::errc() || end != digits.data() + 2) return std::nullopt;
  return static_cast<char>(byte);
}

std::string unquote(std::string_view quoted) {
  std::string out;
  for (size_t i = 1; i + 1 < quoted.size(); ++i) {
    char c = quoted[i];
    if (c == '\\' && i + 2 < quoted.size()) {
      switch (quoted[i + 1]) {
        case '"': c = '"', ++i; break;
        case '\\': c = '\\', ++i; break;
        case 'n': c = '\n', ++i; break;
        case 't': c = '\t', ++i; break;
        case 'r': c = '\r', ++i; break;
        case 'x':
          if (std::optional<char> byte = hex_byte(quoted.substr(i + 2, 2)); byte && i + 4 < quoted.size())
            c = *byte, i += 3;
          break;
        default: break;
      }
    }
    out += c;
  }
  return out;
}

}  // namespace relay
