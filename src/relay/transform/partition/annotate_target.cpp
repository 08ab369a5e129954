// annotate_target: marks every call of an operator for the compiler that is to compute it.
//
//   nn.relu(%x)     becomes     compiler_end(nn.relu(compiler_begin(%x, compiler="other")), compiler="other")
//
// The compiler is the first of PassContext::partitioning that accepts the call; for a composite function, the one named
// before the dot in its name (other.conv_relu). Calls that none accepts are marked "default". Marks are placed around
// tensors: those of a tuple around its fields, and a projection of a tuple expression is its field. Existing marks are
// renewed: a call that an earlier run assigned to another compiler stays with it unless one of this run accepts it.
// Calls with operands or results other than tensors and tuples get no marks.
#include <algorithm>

#include "relay/ir/attribute_names.h"
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/transform/attributes.h"
#include "relay/transform/group/dataflow.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

namespace {

constexpr const char* no_compiler = "default";

bool is_markable(const Type& type) {
  const TupleType* tuple = as<TupleType>(type);
  return tuple ? std::all_of(tuple->fields.begin(), tuple->fields.end(), is_markable) : as<TensorType>(type) != nullptr;
}

// Marks a tensor, or each field of a tuple.
Expr marked(const char* op, const Expr& e, const Type& type, const std::string& compiler) {
  const TupleType* t = as<TupleType>(type);
  if (!t) return op::make(op, {e}, {{"compiler", compiler}}, e->span);
  Exprs fields;
  for (size_t i = 0; i < t->fields.size(); ++i) {
    const Tuple* written = as<Tuple>(e);
    fields.push_back(
        marked(op, written ? written->elements[i] : get(e, static_cast<int64_t>(i), e->span), t->fields[i], compiler));
  }
  return tuple(std::move(fields), e->span);
}

class Annotator {
 public:
  explicit Annotator(const Partitioning& partitioning) : partitioning_(partitioning) {}

  FunctionRef run(const FunctionRef& f) {
    find_earlier(f);
    visit_open(f->body, [&](const Expr& e) { done_[e.get()] = annotated(e); });
    return with_body(f, ended(f->body));
  }

 private:
  // Visits children first; skips composite functions and those of other compilers.
  template <class F>
  static void visit_open(const Expr& root, F leave) {
    NodeSet done;
    walk(
        root,
        [&](const Expr& e) {
          if (done.contains(e.get())) return false;
          const Function* f = as<Function>(e);
          if (!f || (!is_closed(e) && !f->attrs.count(ir::attribute::composite))) return true;
          done.insert(e.get());
          leave(e);
          return false;
        },
        [&](const Expr& e) {
          if (done.insert(e.get())) leave(e);
        });
  }

  void find_earlier(const FunctionRef& f) {
    visit_open(f->body, [&](const Expr& e) {
      const Call* end = call_of(e, "annotation.compiler_end");
      if (!end) return;
      std::string compiler = attribute<std::string>(*end, "compiler", "");
      if (compiler != no_compiler) earlier_[unmarked(end->args[0]).get()] = compiler;
    });
  }

  std::string chosen(const Call& call, const Expr& e) const {
    const Function* function = as<Function>(call.callee);
    std::string composite;
    if (function && function->attrs.count(ir::attribute::composite))
      AttrConvert<std::string>::from(function->attrs.at(ir::attribute::composite), &composite);
    for (const Partitioning::Compiler& compiler : partitioning_.compilers) {
      if (as<Op>(call.callee) && compiler.takes(call)) return compiler.name;
      size_t point = composite.find('.');
      if (point != std::string::npos && composite.substr(0, point) == compiler.name) return compiler.name;
    }
    const std::string* before = earlier_.find(e.get());
    return before ? *before : no_compiler;
  }

  // Removes the marks of an earlier run.
  static Expr unmarked(Expr e) {
    while (true) {
      const Call* begin = call_of(e, "annotation.compiler_begin");
      const Call* call = begin ? begin : call_of(e, "annotation.compiler_end");
      if (!call) return e;
      e = call->args[0];
    }
  }

  // The new form of `e`, for users outside of its compiler's region.
  const Expr& ended(const Expr& given) {
    Expr e = unmarked(given);
    const std::string* compiler = compilers_.find(e.get());
    if (!compiler) return *done_.find(e.get());
    Expr& end = ends_[e.get()];
    if (!end) end = marked("annotation.compiler_end", *done_.find(e.get()), e->type, *compiler);
    return end;
  }

  Expr annotated(const Expr& e) {
    const Call* call = as<Call>(e);
    if (unmarked(e) != e) return e;  // its users look through it
    if (as<Function>(e) && (is_closed(e) || as<Function>(e)->attrs.count(ir::attribute::composite))) return e;
    Exprs operands, children;
    bool is_call = call && (as<Op>(call->callee) || as<Function>(call->callee)) && is_markable(e->type);
    for_each_child(e, [&](const Expr& child) {
      is_call = is_call && (operands.empty() || is_markable(child->type));  // the first child is the callee
      operands.push_back(child);
    });
    std::string compiler = is_call ? chosen(*call, e) : "";
    for (size_t i = 0; i < operands.size(); ++i) {
      const Expr& value = ended(operands[i]);
      bool is_argument = is_call && i > 0;
      children.push_back(is_argument ? marked("annotation.compiler_begin", value, operands[i]->type, compiler) : value);
    }
    if (is_call) compilers_[e.get()] = compiler;
    const TupleGetItem* item = as<TupleGetItem>(e);
    const Tuple* fields = item ? as<Tuple>(children[0]) : nullptr;
    return fields ? fields->elements[static_cast<size_t>(item->index)] : with_children(e, children);
  }

  const Partitioning& partitioning_;
  NodeMap<std::string> earlier_, compilers_;
  NodeMap<Expr> done_, ends_;
};

}  // namespace

Result<Module> annotate_target(const Module& module, PassContext& context) {
  if (context.partitioning.compilers.empty()) return module;
  return for_each_function(
      module, [&](const FunctionRef& f) { return is_closed(f) ? f : Annotator(context.partitioning).run(f); });
}

}  // namespace relay::transform
