// Imports: the definitions of a part of the prelude join those of a module. Equal definitions are merged, so parts may
// depend on each other and be imported in any order.
#include "relay/base/quote.h"
#include "relay/ir/rewrite.h"
#include "relay/prelude/prelude.h"
#include "relay/text/parser.h"

namespace relay::text {

using namespace ir;

static Diagnostics unknown_part(std::string_view name, Span span) {
  std::vector<std::string> names = prelude::parts();
  Diagnostic d{.kind = DiagnosticKind::unknown_import,
               .message = format("the prelude has no part \"{}\"", name),
               .span = std::move(span)};
  d.notes.push_back(
      format("its parts are: {}, and tensor arrays such as tensor_array_float32 and tensor_array_float32_any_3",
             join(names, ", ")));
  std::optional<std::string> near = nearest(name, names);
  d.help = near ? format("did you mean \"{}\"?", *near) : "import \"prelude\" takes all of it";
  return {d};
}

// The module of a part; its places refer to a text named after the part.
static Result<Module> part(std::string_view name, Span span) {
  std::optional<std::string> text = prelude::find(name);
  if (!text) return unknown_part(name, std::move(span));
  return parse(std::make_shared<const Source>(Source{format("prelude/{}.relay", name), *std::move(text)}));
}

// Merges `from` into `into`; definitions of the same name must be equal.
static Status merge(Module* into, const Module& from, std::string_view name, const Span& span) {
  auto taken = [&](std::string what) {
    return Diagnostic{.kind = DiagnosticKind::duplicate_definition,
                      .message = format("{} is defined twice: import \"{}\" defines another", what, name),
                      .span = span,
                      .help = "rename one of them, or leave the import out"};
  };
  for (const auto& [type, def] : from.types) {
    auto [it, added] = into->types.emplace(type, def);
    if (added) continue;
    Module mine, other;
    mine.types.insert(*it), other.types.emplace(type, def);
    if (!equal(mine, other)) return taken(format("the type {}", type));
  }
  for (const auto& [function, f] : from.functions) {
    auto [it, added] = into->functions.emplace(function, f);
    if (!added && !equal(Expr(it->second), Expr(f))) return taken("@" + function);
  }
  return ok();
}

Result<Module> import_prelude(const Module& module, std::string_view name) {
  Module out = module;
  RELAY_ASSIGN(Module imported, part(name, {}));
  RELAY_RETURN_IF_ERROR(merge(&out, imported, name, {}));
  return out;
}

// import "list"
bool Parser::import() {
  take();
  Token token = peek();
  if (!expect(Tok::String, "that names a part of the prelude, after 'import'", "it has the form: import \"list\""))
    return false;
  std::string name = unquote(lexer_.text(token));
  Result<Module> imported = part(name, span(token));
  if (!imported) return sink_.report(imported.errors()), true;
  if (Status merged = merge(&module_, *imported, name, span(token)); !merged)
    return sink_.report(merged.errors()), true;
  for (const auto& [type, def] : imported->types) {
    type_names_.insert(type);
    for (const Ref<const Constructor>& c : def.constructors) constructors_.emplace(c->name, c);
  }
  return true;
}

}  // namespace relay::text
