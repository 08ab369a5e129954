#include "relay/frontend/common/scopes.h"

#include <cctype>

#include "relay/base/text.h"

namespace relay::frontend {

bool Scopes::define(std::string_view name, Value value) {
  return scopes_.back().entries.emplace(name, Entry{std::move(value), nullptr}).second;
}

bool Scopes::define_lazily(std::string_view name, std::function<Value()> make) {
  return scopes_.back().entries.emplace(name, Entry{{}, std::move(make)}).second;
}

const Value* Scopes::lookup(std::string_view name) {
  for (size_t i = scopes_.size(); i-- > 0;) {
    auto found = scopes_[i].entries.find(name);
    if (found == scopes_[i].entries.end()) {
      if (scopes_[i].is_closed) return nullptr;
      continue;
    }
    Entry* entry = &found->second;
    if (std::function<Value()> make = std::exchange(entry->make, nullptr)) entry->value = make();
    for (size_t inner = i + 1; inner < scopes_.size(); ++inner)
      if (const Enter& enter = scopes_[inner].enter)
        entry = &scopes_[inner].entries.emplace(name, Entry{enter(entry->value), nullptr}).first->second;
    return &entry->value;
  }
  return nullptr;
}

std::string UniqueNames::operator()(std::string_view wanted) {
  std::string plain;
  for (char c : wanted) plain += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
  if (plain.empty() || std::isdigit(static_cast<unsigned char>(plain[0]))) plain = prefix_ + plain;
  std::string unique = plain;
  for (int i = 2; !taken_.insert(unique).second; ++i) unique = format("{}_{}", plain, i);
  return unique;
}

}  // namespace relay::frontend
