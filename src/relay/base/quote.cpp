#include "relay/base/quote.h"

namespace relay {

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      default: out += c;
    }
  return out + "\"";
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
        default: break;
      }
    }
    out += c;
  }
  return out;
}

}  // namespace relay
