// partition_graph: turns the regions that are marked for a compiler into global functions, and removes the marks.
//
//   def @main(%x: float32) { compiler_end(nn.relu(compiler_begin(%x, compiler="other")), compiler="other") }
//     becomes   def @main(%x: float32) { @tvmgen_default_other_main_0(%x) }
//               def @tvmgen_default_other_main_0(%other_0_i0: float32, Compiler="other", Primitive=1, Inline=1,
//                                                global_symbol="tvmgen_default_other_main_0") { nn.relu(%other_0_i0) }
//
// A region with several results returns a tuple. Constants are part of the function unless bind_constants is off.
// Regions for "default" are dissolved. A region that depends on its own result is an error.
#include <algorithm>

#include "relay/ir/attribute_names.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/attributes.h"
#include "relay/transform/partition/regions.h"
#include "relay/transform/pass.h"
#include "relay/typing/typing.h"

namespace relay::transform {

using namespace ir;

namespace {

// Removes the marks for "default".
FunctionRef prepared(const FunctionRef& f) {
  return with_body(f, rewrite(f->body, [](const Expr& now) {
                     const Call* mark = Regions::begin(now) ? Regions::begin(now) : Regions::end(now);
                     return mark && attribute<std::string>(*mark, "compiler", "") == "default" ? mark->args[0] : now;
                   }));
}

class Partitioner {
 public:
  Partitioner(const FunctionRef& f, std::string name, const Partitioning& options, Module* out)
      : f_(f), name_(std::move(name)), options_(options), out_(out), regions_(f) {}

  Status run() {
    find_marks();
    std::vector<std::pair<Expr, bool>> work{{f_->body, false}};
    while (!work.empty()) {
      auto [e, leaving] = work.back();
      work.pop_back();
      if (done_.contains(e.get())) continue;
      const int set = set_of(e);
      const Expr* key = set < 0 ? &e : &region(set).ends[0];
      if (leaving) {
        if (set >= 0)
          take_out(region(set));
        else
          done_[e.get()] = rebuilt(e);
        continue;
      }
      if (!open_.insert(key->get())) return depends_on_itself(*key);
      work.push_back({*key, true});
      size_t first = work.size();
      if (set >= 0)
        for (const Expr& input : region(set).inputs) work.push_back({input, false});
      else
        for_each_child(e, [&](const Expr& child) { work.push_back({child, false}); });
      std::reverse(work.begin() + static_cast<ptrdiff_t>(first), work.end());
      // Finished nodes are not on another path.
      work.erase(std::remove_if(work.begin() + static_cast<ptrdiff_t>(first), work.end(),
                                [&](const auto& w) { return done_.contains(w.first.get()); }),
                 work.end());
    }
    out_->functions[name_] = with_body(f_, *done_.find(f_->body.get()));
    return ok();
  }

 private:
  struct Region {
    std::string compiler;
    std::vector<int> nodes;  // in program order
    Exprs inputs;            // from outside, each once
    Exprs ends;
  };

  // The region whose result the node is, or -1.
  int set_of(const Expr& e) const {
    if (!Regions::end(e)) return -1;
    int i = regions_.flow.index(e);
    return i < 0 ? -1 : regions_.find(i);
  }
  Region& region(int set) { return *found_.find(&regions_.members[static_cast<size_t>(set)]); }

  static bool stays(const Expr& e) {
    return e->kind == ExprKind::Op || e->kind == ExprKind::GlobalVar || e->kind == ExprKind::Constructor ||
           e->kind == ExprKind::Function;
  }

  void find_marks() {
    for (int i = 0; i < regions_.flow.size(); ++i) {
      if (regions_.compiler(i).empty()) continue;
      const int set = regions_.find(i);
      const Expr& e = regions_.flow.nodes[static_cast<size_t>(i)];
      Region& r = found_[&regions_.members[static_cast<size_t>(set)]];
      r.compiler = regions_.compiler(i);
      r.nodes.push_back(i);
      if (Regions::end(e)) r.ends.push_back(e);
      for_each_open_child(e, [&](const Expr& child) {
        bool inside = regions_.find(regions_.flow.index(child)) == set && !Regions::end(child);
        bool known = std::find(r.inputs.begin(), r.inputs.end(), child) != r.inputs.end();
        if (!inside && !known && !stays(child)) r.inputs.push_back(child);
      });
    }
  }

  Expr rebuilt(const Expr& e) {
    Exprs children;
    for_each_child(e, [&](const Expr& child) { children.push_back(*done_.find(child.get())); });
    return with_children(e, children);
  }

  // Makes the function of a region, and the replacements of its ends.
  void take_out(const Region& r) {
    auto symbol_of = [&](int id) { return format("tvmgen_{}_{}_{}_{}", options_.module_name, r.compiler, name_, id); };
    while (out_->functions.count(symbol_of(next_))) ++next_;
    const int id = next_++;
    const std::string symbol = symbol_of(id);
    NodeMap<Expr> inside;
    std::vector<VarRef> params;
    Exprs args;
    for (const Expr& input : r.inputs) {
      const Expr& value = *done_.find(input.get());
      if (value->kind == ExprKind::Constant && options_.bind_constants) {
        inside[input.get()] = value;
        continue;
      }
      params.push_back(var(format("{}_{}_i{}", r.compiler, id, params.size()), input->type, input->span));
      args.push_back(value);
      inside[input.get()] = params.back();
    }
    for (int i : r.nodes) {
      const Expr& e = regions_.flow.nodes[static_cast<size_t>(i)];
      Exprs children;
      for_each_child(e, [&](const Expr& child) {
        const Expr* now = inside.find(child.get());
        children.push_back(now ? *now : child);
      });
      bool is_mark = Regions::begin(e) || Regions::end(e);
      Expr now = is_mark ? children[1] : with_children(e, children);
      inside[e.get()] = std::move(now);
    }
    Exprs results;
    for (const Expr& e : r.ends) results.push_back(*inside.find(e.get()));
    Expr body = results.size() == 1 ? results[0] : tuple(results, results[0]->span);
    DictAttrs attrs{{ir::attribute::compiler, r.compiler},
                    {ir::attribute::global_symbol, symbol},
                    {ir::attribute::primitive, int64_t{1}},
                    {ir::attribute::inlined, int64_t{1}}};
    out_->functions[symbol] = function(std::move(params), body, {}, {}, std::move(attrs), body->span);
    Expr made = call(global(symbol, body->span), std::move(args), {}, body->span);
    for (size_t i = 0; i < r.ends.size(); ++i)
      done_[r.ends[i].get()] = r.ends.size() == 1 ? made : get(made, static_cast<int64_t>(i), body->span);
  }

  Diagnostic depends_on_itself(const Expr& e) {
    const int set = set_of(e);
    return {DiagnosticKind::not_supported,
            format("the region of @{} for compiler '{}' depends on its own result", name_,
                   set < 0 ? "" : region(set).compiler),
            e->span,
            {},
            {},
            "end the region before its result is used, and begin a new one after that; merge_compiler_regions makes "
            "valid regions"};
  }

  FunctionRef f_;
  std::string name_;
  const Partitioning& options_;
  int next_ = 0;
  Module* out_;
  Regions regions_;
  NodeMap<Region> found_;  // by the address of the members
  NodeMap<Expr> done_;
  NodeSet open_;
};

}  // namespace

Result<Module> partition_graph(const Module& module, PassContext& context) {
  Module result = module;
  for (const auto& [name, f] : module.functions) {
    if (is_closed(f)) continue;
    FunctionRef ready = prepared(f);
    // Types only changed parts: parameters of the functions.
    Module typed = module;
    typed.functions[name] = ready;
    RELAY_ASSIGN(typed, typing::infer(typed));
    RELAY_RETURN_IF_ERROR(Partitioner(typed.functions.at(name), name, context.partitioning, &result).run());
  }
  return result;
}

}  // namespace relay::transform
