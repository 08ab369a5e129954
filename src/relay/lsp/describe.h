// Texts about names: for hover, completion and signature help.
#pragma once

#include "relay/lsp/document.h"
#include "relay/op/op.h"

namespace relay::lsp {

// "nn.dense(data, weight, units=None)", with the range of each input and attribute in the text.
struct Signature {
  struct Part {
    std::string name, doc;
    uint32_t begin, end;  // in `label`
  };
  std::string label, doc;
  std::vector<Part> parts;
};
Signature signature_of(const op::OpDef& op);
// The signature of a function of the program; unset if there is no such function.
std::optional<Signature> signature_of(const ir::Module& module, const std::string& function);
Signature signature_of(const ir::Module& module, const ir::Constructor& constructor);

// "def @f(%x: int32) -> bool"
std::string head_of(const std::string& name, const ir::Function& function);

// "axis: int, -1 by default. The axis to sum."
std::string describe(const ir::AttrField& field);
// Markdown: the purpose, the inputs and the attributes of an operator.
std::string page_of(const op::OpDef& op);

// Markdown about a name in a program, with the comments in front of its definition.
std::string hover_text(const Document& document, const text::Occurrence& name);

}  // namespace relay::lsp
