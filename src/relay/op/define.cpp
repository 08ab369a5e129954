#include "relay/op/define.h"

#include "relay/op/registry.h"

namespace relay::op {

// True for words separated by dots: "mine.swish".
static bool is_name(std::string_view name) {
  bool begins = true;
  for (char c : name) {
    const bool letter = std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (begins ? !letter : !letter && !digit && c != '.') return false;
    begins = c == '.';
  }
  return !begins;
}

Result<ir::Expr> define_operator(OpDef def, std::optional<Callback> callback) {
  auto refuse = [&](std::string message, std::string help) {
    return Diagnostic{DiagnosticKind::bad_option, std::move(message), {}, {}, {}, std::move(help)};
  };
  if (!is_name(def.name))
    return refuse(format("'{}' cannot be the name of an operator", def.name),
                  "give words separated by points, such as mine.swish");
  RELAY_CHECK(def.infer && (def.compute || callback), "the operator {} is not defined", def.name);
  if (!def.complete) def.complete = [](const Attrs&, Types inputs) { return inputs; };
  if (callback) def.fusion = Fusion::Opaque;
  auto taken = [&] {
    return refuse(format("the operator {} exists already", def.name),
                  "give it another name: calls in programs keep the definition that they were made with");
  };
  if (find(def.name)) return taken();
  const OpDef* kept = new OpDef(def);
  const ir::Expr node(new ir::Op(kept->name, kept));
  if (!add_custom(node, std::move(callback))) return taken();
  return node;
}

}  // namespace relay::op
