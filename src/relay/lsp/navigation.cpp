#include "relay/lsp/navigation.h"

#include <algorithm>

#include "relay/base/quote.h"
#include "relay/text/names.h"

namespace relay::lsp {

using llvm::json::Array;
using llvm::json::Object;
using text::NameKind;
using text::Occurrence;
using text::Thing;

static Value range(const Document& document, uint32_t begin, uint32_t end) {
  return llvm::lsp::toJSON(document.lines.range(begin, end));
}

static Value location(const Document& document, const Occurrence& name) {
  return Object{{"uri", document.uri}, {"range", range(document, name.begin, name.end)}};
}

static bool defines(const Document& document, const Occurrence& name) {
  return document.thing(name).definition == name.begin;
}

Value definition(const Document& document, uint32_t offset) {
  const Occurrence* name = document.reading.names.at(offset);
  if (!name || document.thing(*name).definition == text::nowhere) return nullptr;
  for (const Occurrence& other : document.reading.names.places)
    if (other.thing == name->thing && defines(document, other)) return location(document, other);
  return nullptr;
}

Value references(const Document& document, uint32_t offset, bool with_definition) {
  Array out;
  if (const Occurrence* name = document.reading.names.at(offset))
    for (const Occurrence& other : document.reading.names.places)
      if (other.thing == name->thing && (with_definition || !defines(document, other)))
        out.push_back(location(document, other));
  return out;
}

Value highlights(const Document& document, uint32_t offset) {
  constexpr int read = 2, write = 3;  // DocumentHighlightKind
  Array out;
  if (const Occurrence* name = document.reading.names.at(offset))
    for (const Occurrence& other : document.reading.names.places)
      if (other.thing == name->thing)
        out.push_back(Object{{"range", range(document, other.begin, other.end)},
                             {"kind", defines(document, other) ? write : read}});
  return out;
}

// --- renaming --------------------------------------------------------------------------------------------------------

static bool may_be_renamed(const Thing& thing) {
  return thing.definition != text::nowhere && thing.kind != NameKind::Operator && thing.kind != NameKind::Attribute;
}

Value prepare_rename(const Document& document, uint32_t offset) {
  const Occurrence* name = document.reading.names.at(offset);
  if (!name || !may_be_renamed(document.thing(*name))) return nullptr;
  return range(document, name->begin, name->end);
}

static Diagnostic refused(std::string message, std::string help) {
  return {DiagnosticKind::bad_option, std::move(message), {}, {}, {}, std::move(help)};
}

static bool is_identifier(std::string_view name) {
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// The new name as it is written: with % or @, quoted if necessary.
static Result<std::string> written(const Thing& thing, std::string name) {
  const bool is_local = thing.kind == NameKind::Variable || thing.kind == NameKind::Parameter;
  const bool is_global = thing.kind == NameKind::Global;
  if (!name.empty() &&
      ((name[0] == '%' && (is_local || thing.kind == NameKind::Graph)) || (name[0] == '@' && is_global)))
    name.erase(0, 1);
  if (is_local || is_global) {
    if (name.size() > 1 && name.front() == '"' && name.back() == '"') name = unquote(name);
    if (name.empty()) return refused("the new name is empty", "give it a name such as x");
    return (is_local ? "%" : "@") + text::written_name(name);
  }
  if (thing.kind == NameKind::Graph) {
    if (name.empty() || !std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; }))
      return refused(format("%{} is a graph variable: its name is a number", thing.name),
                     "give it a number such as %7");
    return "%" + name;
  }
  if (!is_identifier(name))
    return refused(format("'{}' is not an identifier", name), "use letters, digits and _, and begin with a letter");
  return name;
}

// True if each place in both texts refers to the thing that the same place in the other text refers to.
static bool same_meaning(const text::Occurrences& before, const text::Occurrences& after) {
  if (before.places.size() != after.places.size()) return false;
  std::vector<uint32_t> partner(before.things.size(), text::nowhere), back(after.things.size(), text::nowhere);
  for (size_t i = 0; i < before.places.size(); ++i) {
    const uint32_t a = before.places[i].thing, b = after.places[i].thing;
    if (partner[a] == text::nowhere && back[b] == text::nowhere) partner[a] = b, back[b] = a;
    if (partner[a] != b || back[b] != a) return false;
  }
  return true;
}

Result<Value> rename(const Document& document, uint32_t offset, const std::string& new_name) {
  const Occurrence* name = document.reading.names.at(offset);
  if (!name) return refused("there is no name at this place", "put the cursor on the name of a variable or a function");
  const Thing& thing = document.thing(*name);
  if (!may_be_renamed(thing))
    return refused(format("{} is not defined in this text", thing.name),
                   "rename variables, functions, types, constructors and sizes that it defines");
  if (!document.reading.broken.empty())
    return refused("the text has a mistake in its syntax", "mend it first: uses after the mistake may be overlooked");
  RELAY_ASSIGN(const std::string now, written(thing, new_name));
  Array edits;
  std::string text;
  uint32_t copied = 0;
  for (const Occurrence& other : document.reading.names.places) {
    if (other.thing != name->thing) continue;
    edits.push_back(Object{{"range", range(document, other.begin, other.end)}, {"newText", now}});
    text += document.text_of(copied, other.begin);
    text += now;
    copied = other.end;
  }
  text += document.source->text.substr(copied);
  const text::Reading after = text::read(std::make_shared<const Source>(Source{document.source->name, text}));
  if (!same_meaning(document.reading.names, after.names))
    return refused(format("{} has another meaning at one of the places where {} is used", now,
                          document.text_of(name->begin, name->end)),
                   "choose a name that is not used yet");
  return Value(Object{{"changes", Object{{document.uri, std::move(edits)}}}});
}

}  // namespace relay::lsp
