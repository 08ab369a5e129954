#include "relay/base/diagnostics.h"

#include <algorithm>

#include "relay/base/printable.h"

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

std::string place_text(const Span& span) {
  if (span.node) return *span.node;
  if (!span.source || span.source->text.empty()) return {};
  auto [line, column] = line_column(*span.source, span.begin);
  return format("{}:{}:{}", span.source->name, line, column);
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
