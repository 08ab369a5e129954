// Tokens with the comments between them, and what a layout needs to know about each: its partner, the blank before it,
// the columns up to the next place where a line may be broken.
#pragma once

#include "relay/text/lexer.h"

namespace relay::text {

struct Piece {
  Tok kind = Tok::End;
  uint32_t begin = 0, end = 0;
  uint8_t newlines = 0;  // line breaks before it in the text, at most 2
};

// The pieces of text[0, limit). Mistakes of the lexer are reported to `sink`.
std::vector<Piece> pieces_of(const std::shared_ptr<const Source>& source, size_t limit, DiagnosticSink& sink);

struct Measured {
  static constexpr uint32_t none = UINT32_MAX;
  enum class Role : uint8_t { Other, Open, Block, Close, Separator, Infix, Definition, OwnLine, LineComment, Comment };

  Role role = Role::Other;
  bool blank = false;       // before it, on a line with the previous piece
  bool forced = false;      // Block: its parts get lines of their own in any case
  uint32_t partner = none;  // of a bracket
  uint32_t before = 0;      // columns of all pieces before it, on one line
  uint32_t breaks = 0;      // pieces before it that force a line break inside of the brackets around them
  uint32_t tail = 0;        // columns from here to the next place where the line may be broken
};

// An entry for each piece, and one behind the last.
std::vector<Measured> measured(std::string_view text, const std::vector<Piece>& pieces);

}  // namespace relay::text
