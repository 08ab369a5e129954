#include "relay/lsp/document.h"

#include <algorithm>

#include "relay/text/weight_files.h"
#include "relay/typing/known_types.h"
#include "relay/typing/typing.h"

namespace relay::lsp {

std::string path_of(std::string_view uri) {
  constexpr std::string_view scheme = "file://";
  if (!uri.starts_with(scheme)) return "";
  auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
  };
  std::string out;
  for (size_t i = scheme.size(); i < uri.size(); ++i) {
    const int high = uri[i] == '%' && i + 2 < uri.size() ? digit(uri[i + 1]) : -1;
    const int low = high >= 0 ? digit(uri[i + 2]) : -1;
    out += low >= 0 ? static_cast<char>(high * 16 + low) : uri[i];
    if (low >= 0) i += 2;
  }
  return out;
}

std::string type_of(const ir::Expr& expr) { return expr && expr->type ? text::type_text(expr->type) : ""; }

static bool same_place(const Span& a, const Span& b) {
  return a.source == b.source && a.begin == b.begin && a.end == b.end;
}

// The mistakes in types of definitions whose syntax is right.
static Diagnostics independent(const text::Reading& reading, const Diagnostics& typing, const Source& source) {
  Diagnostics out;
  for (const Diagnostic& d : typing) {
    const bool broken = std::any_of(reading.broken.begin(), reading.broken.end(), [&](const text::Reading::Range& r) {
      return r.begin <= d.span.begin && d.span.begin < r.end;
    });
    const bool consequence = std::any_of(reading.diagnostics.begin(), reading.diagnostics.end(),
                                         [&](const Diagnostic& other) { return same_place(d.span, other.span); });
    if (d.span.source.get() == &source && !broken && !consequence && d.kind != DiagnosticKind::unknown_global)
      out.push_back(d);
  }
  return out;
}

// The diagnostics of `relay check`, up to typing.
static Diagnostics diagnostics_of(const std::shared_ptr<const Source>& source, const text::ParseOptions& options,
                                  const text::Reading& reading) {
  const Diagnostics typing = typing::infer_known_types(reading.module);
  if (!reading.diagnostics.empty()) {
    Diagnostics out = reading.diagnostics;
    const Diagnostics more = independent(reading, typing, *source);
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  if (typing.empty()) return {};
  // Reading also types values that nothing uses; inference may start anew with sizes that it found equal.
  const Result<ir::Module> module = text::parse(source, options);
  if (!module) return module.errors();
  Diagnostics warnings;
  const Result<ir::Module> typed = typing::infer(*module, &warnings);
  return typed ? warnings : typed.errors();
}

Document::Document(std::string uri_of_it, int64_t version_of_it, std::string text)
    : uri(std::move(uri_of_it)),
      version(version_of_it),
      source(std::make_shared<const Source>(Source{path_of(uri), std::move(text)})),
      lines(source->text),
      program_end(static_cast<uint32_t>(text::find_metadata(source->text))) {
  DiagnosticSink sink;
  pieces = text::pieces_of(source, program_end, sink);
  text::WeightFiles weights(source->name);
  text::ParseOptions options;
  if (!source->name.empty()) options.find_tensor = std::ref(weights);
  reading = text::read(source, options);
  diagnostics = diagnostics_of(source, options, reading);
  if (!weights.errors().empty()) diagnostics = weights.errors();
}

bool Document::in_comment_or_string(uint32_t offset) const {
  const auto after = std::upper_bound(pieces.begin(), pieces.end(), offset,
                                      [](uint32_t at, const text::Piece& piece) { return at <= piece.begin; });
  if (after == pieces.begin()) return offset > program_end;
  const text::Piece& last = *std::prev(after);
  const bool line_comment = last.kind == text::Tok::Comment && source->text[last.begin + 1] == '/';
  const bool quoted = last.kind == text::Tok::String || last.kind == text::Tok::Error;
  return offset > program_end || (line_comment && offset <= last.end) ||
         ((last.kind == text::Tok::Comment || quoted) && offset < last.end);
}

text::Reading read_up_to(const Document& document, uint32_t offset) {
  text::ParseOptions options;
  options.definitions = &document.reading.module;
  text::Reading out = text::read(
      std::make_shared<const Source>(Source{document.source->name, document.source->text.substr(0, offset)}), options);
  for (const auto& function : document.reading.module.functions) out.module.functions.insert(function);
  for (const auto& type : document.reading.module.types) out.module.types.insert(type);
  typing::infer_known_types(out.module);
  return out;
}

}  // namespace relay::lsp
