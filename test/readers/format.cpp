// Fuzzes the formatter with comments in every gap of a program: the result stays as it is when it is formatted again, has
// the same comments in the same order, and reads as the same program.
#include "relay/text/format.h"

#include <cstring>

#include "input.h"
#include "relay/text/pieces.h"
#include "relay/text/text.h"

namespace relay {
namespace {

// Longer programs only take longer: every mistake on a line is rendered with the whole line.
constexpr size_t most_bytes = 4096;

using SharedSource = std::shared_ptr<const Source>;

SharedSource source_of(std::string text) { return std::make_shared<const Source>(Source{"input", std::move(text)}); }

std::vector<text::Piece> pieces_of(const SharedSource& source) {
  DiagnosticSink sink;
  return text::pieces_of(source, text::find_metadata(source->text), sink);
}

std::vector<std::string> comments_of(const SharedSource& source) {
  std::vector<std::string> comments;
  for (const text::Piece& piece : pieces_of(source)) {
    if (piece.kind != text::Tok::Comment) continue;
    std::string comment = source->text.substr(piece.begin, piece.end - piece.begin);
    comment.erase(comment.find_last_not_of(" \t\r") + 1);
    comments.push_back(std::move(comment));
  }
  return comments;
}

// The program with a comment in every gap between its pieces, of the kind that a bit of `choice` tells. A name such as
// nn.relu has pieces without gaps.
std::string with_comments(const SharedSource& source, uint8_t choice) {
  std::string text;
  size_t at = 0, end = 0, count = 0;
  for (const text::Piece& piece : pieces_of(source)) {
    text += source->text.substr(at, piece.begin - at);
    const bool is_gap = piece.begin > end || (end > 0 && std::strchr("(,;{[=", source->text[end - 1]));
    if (is_gap && piece.kind != text::Tok::End)
      text += (choice >> (count % 8) & 1) ? format("/* {} */", count) : format("// {}\n", count);
    ++count;
    at = piece.begin;
    end = piece.end;
  }
  return text + source->text.substr(at);
}

// The text of the parsed program, empty if it has a mistake.
std::string printed(const SharedSource& source) {
  const Result<ir::Module> module = text::parse(source);
  return readers::is_sound(module) ? text::str(*module) : "";
}

void check_formatted(const SharedSource& source) {
  const Result<std::string> once = text::formatted(source);
  if (!readers::is_sound(once)) return;
  const SharedSource after = source_of(*once);
  const Result<std::string> twice = text::formatted(after);
  if (!readers::is_sound(twice) || *twice != *once) std::abort();
  if (comments_of(after) != comments_of(source) || printed(after) != printed(source)) std::abort();
}

}  // namespace
}  // namespace relay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace relay;
  if (size == 0 || size > most_bytes) return 0;
  const SharedSource source = source_of(std::string(readers::text_of(data + 1, size - 1)));
  check_formatted(source);
  if (text::formatted(source)) check_formatted(source_of(with_comments(source, data[0])));
  return 0;
}
