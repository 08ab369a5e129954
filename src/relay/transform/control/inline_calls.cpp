// inline_calls: replaces calls of global functions marked Inline by their bodies.
//
//   def @twice(%x: float32, Inline=1) { add(%x, %x) }  def @main(%y: float32) { exp(@twice(%y)) }
//     becomes   def @main(%y: float32) { exp(add(%y, %y)) }
//
// Recursive functions, also mutually recursive ones, and functions with type parameters are not inlined. Neither are
// calls of a function that uses a size of an argument whose size is unknown (`?`), and, with a warning, calls that
// would add more than a million nodes in total: doubling forty times is a short program. Marked functions without
// remaining references are dropped.
#include <set>

#include "relay/ir/attribute_names.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/control/effects.h"
#include "relay/transform/copy.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

namespace {

using Names = std::set<std::string>;

Names mentioned(const FunctionRef& f) {
  Names out;
  visit(f, [&](const Expr& e) {
    if (const GlobalVar* g = as<GlobalVar>(e)) out.insert(g->name);
  });
  return out;
}

bool is_marked(const FunctionRef& f) {
  DictAttrs::const_iterator found = f->attrs.find(ir::attribute::inlined);
  int64_t mark = 0;
  return found != f->attrs.end() && AttrConvert<int64_t>::from(found->second, &mark) && mark != 0 &&
         f->type_params.empty();
}

constexpr int64_t max_added = 1000000;  // nodes, in a module

int64_t count_nodes(const FunctionRef& f) {
  int64_t count = 0;
  visit(f, [&](const Expr&) { ++count; });
  return count;
}

class Inliner {
 public:
  Inliner(const Module& module, PassContext& context) : result_(module), effects_(module), context_(context) {
    for (const auto& [name, f] : module.functions) mentions_[name] = mentioned(f);
  }

  Module run() {
    for (const auto& [name, names] : mentions_) finish(name);
    Names used;
    for (const auto& [name, f] : result_.functions)
      for (const std::string& other : mentioned(f)) used.insert(other);
    std::erase_if(result_.functions, [&](const auto& f) { return inlined_.count(f.first) && !used.count(f.first); });
    return std::move(result_);
  }

 private:
  bool reaches_itself(const std::string& name) const {
    Names seen;
    std::vector<std::string> work{name};
    while (!work.empty()) {
      std::map<std::string, Names>::const_iterator found = mentions_.find(work.back());
      work.pop_back();
      if (found == mentions_.end()) continue;
      for (const std::string& next : found->second) {
        if (next == name) return true;
        if (seen.insert(next).second) work.push_back(next);
      }
    }
    return false;
  }

  // The functions that `root` calls are finished first, so inlined bodies are final.
  void finish(const std::string& root) {
    std::vector<std::pair<std::string, bool>> work{{root, false}};
    while (!work.empty()) {
      auto [name, ready] = work.back();
      work.pop_back();
      if (ready) {
        rewrite_calls(name);
      } else if (mentions_.count(name) && begun_.insert(name).second) {
        work.emplace_back(name, true);
        for (const std::string& next : mentions_.at(name)) work.emplace_back(next, false);
      }
    }
  }

  void rewrite_calls(const std::string& name) {
    FunctionRef& f = result_.functions.at(name);
    effects_.look_at(f);
    int64_t left_out = 0;
    Expr changed = rewrite(f, [&](const Expr& before, const Expr& now) -> Expr {
      const Call* call = as<Call>(now);
      const GlobalVar* callee = call ? as<GlobalVar>(call->callee) : nullptr;
      std::map<std::string, int64_t>::const_iterator size = callee ? inlined_.find(callee->name) : inlined_.end();
      if (size == inlined_.end()) return now;
      if (added_ + size->second > max_added) {
        ++left_out;
        return now;
      }
      const Exprs& args = as<Call>(before)->args;
      auto is_pure = [&](size_t i) { return effects_.of(args[i]) == Effect::None; };
      const Expr body = call_in_place(result_.functions.at(callee->name), call->args, is_pure, types_of(args));
      if (!body) return now;
      added_ += size->second;
      return body;
    });
    f = FunctionRef(as<Function>(changed));
    if (left_out > 0)
      context_.warnings.report(
          Diagnostic{DiagnosticKind::limit_exceeded,
                     format("{} of functions marked Inline {} left in @{}: inlining has added {} nodes",
                            plural(left_out, "call", "calls"), left_out == 1 ? "is" : "are", name, added_),
                     f->span,
                     {},
                     {},
                     "mark smaller functions Inline, or fewer",
                     Severity::Warning});
    if (is_marked(f) && !reaches_itself(name)) inlined_[name] = count_nodes(f);
  }

  Module result_;
  Effects effects_;
  std::map<std::string, Names> mentions_;  // in the original module
  Names begun_;
  std::map<std::string, int64_t> inlined_;  // the inlined functions, with their numbers of nodes
  int64_t added_ = 0;
  PassContext& context_;
};

}  // namespace

Result<Module> inline_calls(const Module& module, PassContext& context) { return Inliner(module, context).run(); }

}  // namespace relay::transform
