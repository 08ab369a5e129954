// A document as lists: diagnostics and their fixes, symbols, tokens by meaning, types of variables, a formatted text.
#pragma once

#include "relay/lsp/document.h"

namespace relay::lsp {

using llvm::json::Value;

// The parameters of publishDiagnostics.
Value diagnostics(const Document& document);
// Edits that the diagnostics in a range propose: another name, or an import.
Value fixes(const Document& document, const Range& range);

Value symbols(const Document& document);
Value inlay_hints(const Document& document, const Range& range);

// The names of the numbers in `semantic_tokens`.
Value token_legend();
Value semantic_tokens(const Document& document);

// The edits that format a text; none if it has a mistake in its syntax.
Value formatting(const Document& document);

}  // namespace relay::lsp
