#include "relay/base/diagnostics.h"

#include <algorithm>

namespace relay {

const std::vector<DiagnosticInfo>& all_diagnostics() {
  static const std::vector<DiagnosticInfo> table = {
#define RELAY_DIAGNOSTIC(kind, code, sentence) {DiagnosticKind::kind, #kind, code, sentence},
#include "relay/base/diagnostics.def"
#undef RELAY_DIAGNOSTIC
  };
  return table;
}

const DiagnosticInfo& info(DiagnosticKind kind) { return all_diagnostics()[static_cast<size_t>(kind)]; }

std::pair<uint32_t, uint32_t> line_column(const Source& source, uint32_t offset) {
  offset = std::min<uint32_t>(offset, source.text.size());
  uint32_t line = 1 + std::count(source.text.begin(), source.text.begin() + offset, '\n');
  size_t start = offset == 0 ? std::string::npos : source.text.rfind('\n', offset - 1);
  return {line, offset - (start == std::string::npos ? 0 : start + 1) + 1};
}

// "  --> file:3:14", the line and a caret under the range.
static std::string render_place(const Span& span, const std::string& text) {
  std::string out;
  if (span.node) out += format("  --> {}{}\n", span.source ? span.source->name + ": " : "", *span.node);
  if (!span.source || span.node) return out + (text.empty() ? "" : format("      {}\n", text));
  const Source& source = *span.source;
  auto [line, column] = line_column(source, span.begin);
  out += format("  --> {}:{}:{}\n", source.name, line, column);
  if (source.text.empty()) return out + (text.empty() ? "" : format("      {}\n", text));
  size_t begin = std::min<size_t>(span.begin, source.text.size()) - (column - 1);
  std::string shown = source.text.substr(begin, std::min<size_t>(source.text.find('\n', begin) - begin, 160));
  std::replace(shown.begin(), shown.end(), '\t', ' ');
  size_t width = std::max<size_t>(1, std::min<size_t>(span.end > span.begin ? span.end - span.begin : 1,
                                                      shown.size() + 1 > column ? shown.size() + 1 - column : 1));
  std::string number = std::to_string(line);
  std::string margin(number.size(), ' ');
  out += format("{} |\n{} | {}\n", margin, number, shown);
  if (column <= shown.size() + 1)
    out += format("{} | {}{} {}\n", margin, std::string(column - 1, ' '), std::string(width, '^'), text);
  while (out.size() > 1 && out[out.size() - 2] == ' ') out.erase(out.size() - 2, 1);
  return out;
}

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

// Names and source lines come from files that may hold anything: what is not UTF-8, and control characters, which a terminal
// would obey, become \xNN.
static std::string printable(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t length = utf8_length(text, i);
    unsigned char byte = static_cast<unsigned char>(text[i]);
    bool control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
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

std::string render(const Diagnostic& d) {
  std::string out =
      format("{}[{}]: {}\n", d.severity == Severity::Error ? "error" : "warning", info(d.kind).code, d.message);
  if (d.span) out += render_place(d.span, "");
  for (const Label& label : d.labels) out += render_place(label.span, label.text);
  for (const std::string& note : d.notes) out += format("  note: {}\n", note);
  if (!d.help.empty()) out += format("  help: {}\n", d.help);
  return printable(out);
}

std::string render(const std::vector<Diagnostic>& diagnostics) {
  std::string out;
  for (const Diagnostic& d : diagnostics) out += render(d);
  return out;
}

void DiagnosticSink::report(Diagnostic d) {
  if (d.severity == Severity::Error && ++errors_ > limit) return;
  diagnostics_.push_back(std::move(d));
}

void DiagnosticSink::report(const std::vector<Diagnostic>& diagnostics) {
  for (const Diagnostic& d : diagnostics) report(d);
}

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  throw InternalError(
      format("internal error at {}:{}: {} (check failed: {}). This is a bug in Relay, not in your program.", file, line,
             message, condition));
}

}  // namespace relay
