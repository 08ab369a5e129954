#include "relay/driver/explorer.h"

#include <zlib.h>

namespace relay::driver {

extern const char explorer_page_text[], explorer_style_text[], explorer_style_hash[], explorer_script_text[],
    explorer_script_hash[];

// By RFC 4648.
static std::string base64(std::string_view bytes) {
  static constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve(bytes.size() / 3 * 4 + 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) out += k <= count ? letters[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

// In the form of zlib (RFC 1950), which browsers call "deflate".
static std::string deflated(const std::string& text) {
  uLongf size = compressBound(text.size());
  std::string out(size, '\0');
  const int status = compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
                               text.size(), Z_BEST_COMPRESSION);
  RELAY_CHECK(status == Z_OK, "zlib cannot compress {} bytes: {}", text.size(), status);
  out.resize(size);
  return out;
}

// "sha256-...", as a content security policy names a text. `hash`: hexadecimal.
static std::string source_of(const char* hash) {
  std::string bytes;
  for (const char* at = hash; *at; at += 2) bytes += static_cast<char>(std::stoi(std::string(at, 2), nullptr, 16));
  return "sha256-" + base64(bytes);
}

std::string explorer_page(std::span<const CompilationJson> compilations) {
  std::string data;
  for (size_t i = 0; i < compilations.size(); ++i) {
    data += format("<script type=\"application/octet-stream\" id=\"graph-{}\">{}</script>\n", i,
                   base64(deflated(compilations[i].graph)));
    data += format("<script type=\"application/octet-stream\" id=\"texts-{}\">{}</script>\n", i,
                   base64(deflated(compilations[i].texts)));
  }
  const std::pair<std::string_view, std::string> parts[] = {{"SCRIPT_HASH", source_of(explorer_script_hash)},
                                                            {"STYLE_HASH", source_of(explorer_style_hash)},
                                                            {"STYLE", explorer_style_text},
                                                            {"DATA", std::move(data)},
                                                            {"SCRIPT", explorer_script_text}};
  std::string out;
  std::string_view page = explorer_page_text;
  for (size_t at = 0; at < page.size();) {
    const size_t open = std::min(page.find("{{", at), page.size());
    out += page.substr(at, open - at);
    if (open == page.size()) break;
    const size_t close = page.find("}}", open);
    for (const auto& [name, text] : parts)
      if (page.substr(open + 2, close - open - 2) == name) out += text;
    at = close + 2;
  }
  return out;
}

}  // namespace relay::driver
