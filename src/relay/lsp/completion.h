// Completion of names and attributes at a place, and the signature of the call around it.
#pragma once

#include "relay/lsp/document.h"

namespace relay::lsp {

llvm::json::Value completions(const Document& document, uint32_t offset);
// Null outside of calls.
llvm::json::Value signature_help(const Document& document, uint32_t offset);

}  // namespace relay::lsp
