// The names of a model and their values, in nested scopes (a graph, and the branches and bodies inside its nodes, which
// see the names outside).
//
//   Scopes scopes;                               // with the outermost scope
//   scopes.define("x", value);                   // false: this scope already has an x
//   { Scopes::Inner body(scopes); ... }          // a new scope until the end of the block
//   const Value* x = scopes.lookup("x");         // innermost scope first; null: not defined (yet)
//
// Names are views: the model that holds them must outlive the scopes. Values returned by lookup() live as long as their
// scope.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <unordered_map>

#include "relay/frontend/common/value.h"

namespace relay::frontend {

class Scopes {
 public:
  Scopes() { scopes_.emplace_back(); }

  // Converts a value that is found outside of a scope and used inside.
  using Enter = std::function<Value(const Value&)>;
  enum class Sees : uint8_t { Outside, Nothing };

  class Inner {
   public:
    explicit Inner(Scopes& scopes, Sees sees = Sees::Outside, Enter enter = {}) : scopes_(scopes) {
      scopes_.scopes_.push_back({{}, std::move(enter), sees == Sees::Nothing});
    }
    ~Inner() { scopes_.scopes_.pop_back(); }
    Inner(const Inner&) = delete;

   private:
    Scopes& scopes_;
  };

  // Defines a name in the innermost scope. An empty value belongs to a node that failed: its uses are skipped silently.
  bool define(std::string_view name, Value value);
  // The same for a value that is made at its first lookup, such as a weight that is read from the file.
  bool define_lazily(std::string_view name, std::function<Value()> make);
  bool is_defined_here(std::string_view name) const { return scopes_.back().entries.count(name) != 0; }
  const Value* lookup(std::string_view name);

 private:
  struct Entry {
    Value value;
    std::function<Value()> make;  // set until it is called
  };
  struct Scope {
    std::unordered_map<std::string_view, Entry> entries;
    Enter enter;             // null if values enter unchanged
    bool is_closed = false;  // outer scopes are invisible
  };
  std::vector<Scope> scopes_;
};

// Foreign names as identifiers of Relay's text form: readable and unique.
//
//   names("seq length")   is seq_length
//   names("seq.length")   is seq_length_2
class UniqueNames {
 public:
  // `prefix` is put in front of a name that is empty or begins with a digit.
  explicit UniqueNames(std::string prefix) : prefix_(std::move(prefix)) {}
  std::string operator()(std::string_view wanted);

 private:
  std::string prefix_;
  std::set<std::string> taken_;
};

}  // namespace relay::frontend
