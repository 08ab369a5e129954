// A text that an editor has open, with all that is known about it. A new version is a new document: reading and typing
// 2,000 lines takes about 20 ms.
#pragma once

#include <memory>

#include "relay/lsp/lines.h"
#include "relay/text/pieces.h"
#include "relay/text/reading.h"

namespace relay::lsp {

struct Document {
  Document(std::string uri, int64_t version, std::string text);

  const text::Thing& thing(const text::Occurrence& name) const { return reading.names.things[name.thing]; }
  std::string_view text_of(uint32_t begin, uint32_t end) const {
    return std::string_view(source->text).substr(begin, end - begin);
  }
  // True if the offset is inside of a comment or a string.
  bool in_comment_or_string(uint32_t offset) const;

  std::string uri;
  int64_t version;
  std::shared_ptr<const Source> source;
  Lines lines;
  text::Reading reading;    // its nodes have the types that are known
  Diagnostics diagnostics;  // those of parsing and typing
  uint32_t program_end;     // where the metadata begins
  std::vector<text::Piece> pieces;
};

// The program up to an offset and the situation there. Functions that `document` defines are known, as are its types.
text::Reading read_up_to(const Document& document, uint32_t offset);

// The path of a file:// URI; empty for others.
std::string path_of(std::string_view uri);

// The type as in a program; empty if it is unknown.
std::string type_of(const ir::Expr& expr);

}  // namespace relay::lsp
