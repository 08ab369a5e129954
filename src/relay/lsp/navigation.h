// Places of names: definitions, references, renaming.
#pragma once

#include "relay/lsp/document.h"

namespace relay::lsp {

using llvm::json::Value;

Value definition(const Document& document, uint32_t offset);
Value references(const Document& document, uint32_t offset, bool with_definition);
Value highlights(const Document& document, uint32_t offset);
// The range of a name that may be renamed; null for others.
Value prepare_rename(const Document& document, uint32_t offset);
// An edit after which every name refers to the same thing as before, or a diagnostic with the reason why there is none.
Result<Value> rename(const Document& document, uint32_t offset, const std::string& new_name);

}  // namespace relay::lsp
