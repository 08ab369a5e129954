#include "relay/lsp/completion.h"

#include <algorithm>
#include <set>

#include "relay/lsp/describe.h"
#include "relay/op/registry.h"
#include "relay/prelude/prelude.h"

namespace relay::lsp {

using namespace ir;
using llvm::lsp::CompletionItem;
using llvm::lsp::CompletionItemKind;

namespace {

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

class Completing {
 public:
  Completing(const Document& document, uint32_t offset) : document_(document), end_(offset), begin_(offset) {
    const std::string& text = document.source->text;
    auto part_of_name = [&](uint32_t at) { return is_name(text[at]) || text[at] == '/'; };
    while (begin_ > 0 && part_of_name(begin_ - 1)) --begin_;
    if (begin_ > 0 && (text[begin_ - 1] == '%' || text[begin_ - 1] == '@')) --begin_;
    // `m/2` is a division: only names after % and @ contain a slash.
    if (begin_ == end_ || (text[begin_] != '%' && text[begin_] != '@'))
      for (begin_ = end_; begin_ > 0 && is_name(text[begin_ - 1]);) --begin_;
    sigil_ = begin_ < end_ ? text[begin_] : ' ';
  }

  llvm::json::Value run() {
    if (document_.in_comment_or_string(end_)) return list();
    const text::Reading before = read_up_to(document_, begin_);
    if (!before.end.in_definition) {
      for (const char* word : {"def", "type", "extern type", "import"}) add(word, CompletionItemKind::Keyword, "", "");
      return list();
    }
    if (sigil_ == '%') {
      add_variables(before);
    } else if (sigil_ == '@') {
      add_globals(before);
    } else if (wants_type()) {
      add_types();
    } else {
      add_attributes(before);
      add_values();
      add_variables(before);
      add_globals(before);
    }
    return list();
  }

 private:
  void add(const std::string& label, CompletionItemKind kind, const std::string& detail, const std::string& doc,
           const char* order = "5") {
    CompletionItem item(label, kind, order + label);
    item.detail = llvm::json::fixUTF8(detail);
    if (!doc.empty()) item.documentation = {llvm::lsp::MarkupKind::Markdown, llvm::json::fixUTF8(doc)};
    item.filterText = label;
    item.textEdit = llvm::lsp::TextEdit{document_.lines.range(begin_, end_), label};
    items_.push_back(llvm::lsp::toJSON(item));
  }

  llvm::json::Value list() {
    return llvm::json::Object{{"isIncomplete", false}, {"items", llvm::json::Array(std::move(items_))}};
  }

  void add_variables(const text::Reading& before) {
    for (const VarRef& var : before.end.variables)
      add("%" + written(var->name), CompletionItemKind::Variable, type_of(Expr(var)), "", "2");
    for (const auto& [number, value] : before.end.graphs)
      add(format("%{}", number), CompletionItemKind::Variable, type_of(value), "", "3");
  }
  static std::string written(const std::string& name) {
    return std::all_of(name.begin(), name.end(), [](char c) { return (is_name(c) && c != '.') || c == '/'; })
               ? name
               : ir::str(AttrValue(name));
  }

  void add_globals(const text::Reading& before) {
    for (const auto& [name, function] : before.module.functions)
      add("@" + written(name), CompletionItemKind::Function, head_of(name, *function), "", "4");
  }

  // Attributes of the operator around that are not given yet.
  void add_attributes(const text::Reading& before) {
    const Op* op = before.end.call ? as<Op>(before.end.call->callee) : nullptr;
    if (!op || !op->def->attrs_type) return;
    const std::vector<std::string>& given = before.end.call->attributes;
    for (const AttrField& field : op->def->attrs_type->fields)
      if (std::find(given.begin(), given.end(), field.name) == given.end())
        add(format("{}=", field.name), CompletionItemKind::Property,
            format("{}; {}", field.type_name,
                   field.required ? "required" : format("{} by default", ir::str(field.default_value))),
            field.doc, "1");
  }

  void add_values() {
    for (const op::OpDef* op : op::all())
      add(op->name, CompletionItemKind::Function, signature_of(*op).label, op->doc, "6");
    for (const auto& [name, def] : document_.reading.module.types)
      for (const Ref<const Constructor>& c : def.constructors)
        add(c->name, CompletionItemKind::Constructor, signature_of(document_.reading.module, *c).label, "", "4");
    for (const char* word : {"let", "fn", "if", "match", "ref", "ref_read", "ref_write", "True", "False", "free_var"})
      add(word, CompletionItemKind::Keyword, "", "", "7");
  }

  bool wants_type() const {
    const auto after = std::lower_bound(document_.pieces.begin(), document_.pieces.end(), begin_,
                                        [](const text::Piece& piece, uint32_t at) { return piece.begin < at; });
    for (auto at = after; at != document_.pieces.begin();) {
      --at;
      if (at->kind == text::Tok::Comment) continue;
      return at->kind == text::Tok::Colon || at->kind == text::Tok::Arrow;
    }
    return false;
  }

  void add_types() {
    for (const char* name : {"Tensor", "fn", "ref", "bool", "float16", "float32", "float64", "bfloat16", "int8",
                             "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"})
      add(name, CompletionItemKind::Class, "", "", "6");
    for (const auto& [name, def] : document_.reading.module.types) add(name, CompletionItemKind::Class, "", "", "4");
    std::set<std::string> variables;
    for (const text::Thing& thing : document_.reading.names.things)
      if (thing.kind == text::NameKind::TypeVariable && variables.insert(thing.name).second)
        add(thing.name, CompletionItemKind::TypeParameter, "", "", "5");
  }

  const Document& document_;
  uint32_t end_, begin_;  // of the word to complete
  char sigil_;
  std::vector<llvm::json::Value> items_;
};

}  // namespace

llvm::json::Value completions(const Document& document, uint32_t offset) { return Completing(document, offset).run(); }

llvm::json::Value signature_help(const Document& document, uint32_t offset) {
  if (document.in_comment_or_string(offset)) return nullptr;
  // A lone % or @ is not a token yet.
  const char last = offset > 0 ? document.source->text[offset - 1] : ' ';
  const text::Reading before = read_up_to(document, last == '%' || last == '@' ? offset - 1 : offset);
  if (!before.end.call) return nullptr;
  const text::Situation::Call& call = *before.end.call;
  std::optional<Signature> signature;
  if (const Op* op = as<Op>(call.callee)) {
    signature = signature_of(*op->def);
  } else if (const GlobalVar* global = as<GlobalVar>(call.callee)) {
    signature = signature_of(before.module, global->name);
  } else if (const Constructor* constructor = as<Constructor>(call.callee)) {
    signature = signature_of(before.module, *constructor);
  }
  if (!signature) return nullptr;
  llvm::lsp::SignatureInformation shown;
  shown.label = llvm::json::fixUTF8(signature->label), shown.documentation = signature->doc;
  size_t active = call.argument;
  for (size_t i = 0; i < signature->parts.size(); ++i) {
    const Signature::Part& part = signature->parts[i];
    shown.parameters.push_back({"", std::pair(part.begin, part.end), part.doc});
    if (!call.attributes.empty() && part.name == call.attributes.back()) active = i;
  }
  llvm::lsp::SignatureHelp help;
  help.signatures.push_back(std::move(shown));
  help.activeParameter = static_cast<int>(active);
  return llvm::lsp::toJSON(help);
}

}  // namespace relay::lsp
