// The names of a model: what each stands for, in scopes that lie in one another (a graph, the branches and bodies
// inside its nodes, which see the names outside).
//
//   Scopes scopes;                               // with the outermost scope
//   scopes.define("x", value);                   // false: this scope has an x
//   { Scopes::Inner body(scopes); ... }          // a scope of its own until the end of the block
//   const Value* x = scopes.lookup("x");         // innermost scope first; null: not defined (yet)
//
// Names are views: the model that holds them must outlive the scopes. Values that lookup() gives live as long as their
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

  // What becomes of a value that is found outside of a scope and used inside.
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

  // In the innermost scope. An empty value is that of a node that failed: what uses it is passed over in silence.
  bool define(std::string_view name, Value value);
  // The same for a value that is made when it is first looked up, such as a weight that is read from the file.
  bool define_lazily(std::string_view name, std::function<Value()> make);
  bool is_defined_here(std::string_view name) const { return scopes_.back().entries.count(name) != 0; }
  const Value* lookup(std::string_view name);

 private:
  struct Entry {
    Value value;
    std::function<Value()> make;  // not called yet
  };
  struct Scope {
    std::unordered_map<std::string_view, Entry> entries;
    Enter enter;             // null: as it is
    bool is_closed = false;  // what is outside is not seen
  };
  std::vector<Scope> scopes_;
};

// Foreign names as identifiers of Relay's text form: readable, and each given out once.
//
//   names("seq length")   is seq_length
//   names("seq.length")   is seq_length_2
class UniqueNames {
 public:
  // `prefix` goes in front of a name that is empty or begins with a digit.
  explicit UniqueNames(std::string prefix) : prefix_(std::move(prefix)) {}
  std::string operator()(std::string_view wanted);

 private:
  std::string prefix_;
  std::set<std::string> taken_;
};

}  // namespace relay::frontend
