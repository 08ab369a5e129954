// The printer. A graph of shared nodes becomes lines:
//
//   %0 = add(%x, %y);      every call, tuple, ... that is used twice, or not at the end of a block
//   multiply(%0, %0)       the end of the block
//
// Three steps, none recursive: find for each node the block that contains all its uses (a common ancestor in the tree
// of blocks); list the lines of each block in evaluation order; write the blocks.
#include <algorithm>

#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/text/metadata.h"
#include "relay/text/names.h"
#include "relay/text/text.h"

namespace relay::text {

using namespace ir;

namespace {

// True for nodes that are printed in place at every use, never on a separate line.
bool is_leaf(const ExprNode* e) {
  switch (e->kind) {
    case ExprKind::Constant:
    case ExprKind::Var:
    case ExprKind::GlobalVar:
    case ExprKind::Constructor:
    case ExprKind::Op: return true;
    case ExprKind::Tuple: return static_cast<const Tuple*>(e)->elements.empty();
    case ExprKind::Call: {  // Nil
      const Call* call = static_cast<const Call*>(e);
      return call->args.empty() && as<Constructor>(call->callee) != nullptr;
    }
    default: return false;
  }
}

// The tree of blocks. `jump` is an ancestor further up, so that common ancestors are found in logarithmic time at any
// depth (a chain of lets has one block per let).
struct Block {
  uint32_t parent = 0, jump = 0, depth = 0;
  std::vector<const ExprNode*> lines;
};

struct Blocks {
  std::vector<Block> all{1};

  uint32_t open(uint32_t parent) {
    uint32_t jump = all[parent].jump;
    bool far = all[parent].depth - all[jump].depth == all[jump].depth - all[all[jump].jump].depth;
    all.push_back({parent, far ? all[jump].jump : parent, all[parent].depth + 1, {}});
    return static_cast<uint32_t>(all.size() - 1);
  }
  uint32_t common(uint32_t a, uint32_t b) const {
    if (all[a].depth < all[b].depth) std::swap(a, b);
    while (all[a].depth > all[b].depth) a = all[all[a].jump].depth >= all[b].depth ? all[a].jump : all[a].parent;
    while (a != b) {
      bool far = all[a].jump != all[b].jump;
      a = far ? all[a].jump : all[a].parent;
      b = far ? all[b].jump : all[b].parent;
    }
    return a;
  }
};

struct NodeInfo {
  static constexpr uint32_t nowhere = UINT32_MAX;
  uint32_t uses = 0;
  uint32_t block = nowhere;
  uint32_t first_inner = 0;   // the blocks it opens, in the order of its parts
  uint32_t number = nowhere;  // of %N
  bool at_end = false;        // the end of a block or the value of a let: no separate line if used once
};

class Printer {
 public:
  Printer(const PrintOptions& options, MetadataWriter& metadata, std::string& out)
      : options_(options), metadata_(metadata), out_(out) {}

  void definition(const std::string& name, const Function* f) {
    plan(f->body);
    names_.open_function();
    out_ += "def @" + written_name(name);
    function_head(f);
    for (const VarRef& v : free_vars_of(f)) free_var(v);
    run({.kind = Task::Lines, .block = 0, .end = f->body.get(), .indent = 1});
    out_ += "\n}\n";
  }

  void expression(const Expr& e) {
    plan(e);
    for (const VarRef& v : ir::free_vars(e)) free_var(v);
    run({.kind = Task::Lines, .block = 0, .end = e.get(), .indent = 0});
    out_ += "\n";
  }

 private:
  struct Task {
    enum Kind : uint8_t { Text, Lines, Node, Clauses, CloseFunction } kind;
    uint32_t block = 0;             // Lines
    size_t next = 0;                // Lines, Clauses: the number done
    const ExprNode* end = nullptr;  // Lines: the end of the block; Node: the node to write; Clauses: the match
    int indent = 0;
    std::string text = {};
  };

  // --- which block ---------------------------------------------------------------------------------------------------
  void plan(const Expr& root) {
    std::vector<const ExprNode*> order = post_order(root);
    info_[root.get()].block = 0;
    info_[root.get()].at_end = true;
    info_[root.get()].uses += 1;
    for (size_t i = order.size(); i-- > 0;) place_children(order[i]);
    uint32_t count = 0;
    for (const ExprNode* e : order) {
      NodeInfo& info = info_[e];
      if (info.at_end && info.uses == 1) continue;
      info.number = count++;
      blocks_.all[info.block].lines.push_back(e);
    }
  }

  // Each node that is not a leaf, once, after its operands.
  std::vector<const ExprNode*> post_order(const Expr& root) {
    std::vector<const ExprNode*> order;
    std::vector<std::pair<const ExprNode*, bool>> stack;
    NodeMap<char> entered;
    if (!is_leaf(root.get())) stack.emplace_back(root.get(), false);
    std::vector<const ExprNode*> children;
    while (!stack.empty()) {
      auto& [e, leaving] = stack.back();
      if (leaving) {
        order.push_back(e);
        stack.pop_back();
        continue;
      }
      if (!entered.insert(e, 1)) {
        stack.pop_back();
        continue;
      }
      leaving = true;
      children.clear();
      for_each_child(Expr(e), [&](const Expr& child) {
        if (is_leaf(child.get())) return;
        info_[child.get()].uses++;
        if (!entered.contains(child.get())) children.push_back(child.get());
      });
      for (size_t i = children.size(); i-- > 0;) stack.emplace_back(children[i], false);
    }
    return order;
  }

  void use(const Expr& child, uint32_t block, bool at_end = false) {
    if (is_leaf(child.get())) return;
    NodeInfo& info = info_[child.get()];
    info.block = info.block == NodeInfo::nowhere ? block : blocks_.common(info.block, block);
    info.at_end = at_end;
  }

  void place_children(const ExprNode* e) {
    uint32_t block = info_[e].block;
    auto inner = [&](const Expr& end) {
      uint32_t opened = blocks_.open(block);
      if (info_[e].first_inner == 0) info_[e].first_inner = opened;
      use(end, opened, true);
    };
    switch (e->kind) {
      case ExprKind::Function: inner(static_cast<const Function*>(e)->body); break;
      case ExprKind::Let: {
        const Let* let = static_cast<const Let*>(e);
        use(let->value, block, true);
        inner(let->body);
        break;
      }
      case ExprKind::If: {
        const If* branch = static_cast<const If*>(e);
        use(branch->condition, block);
        inner(branch->then_branch);
        inner(branch->else_branch);
        break;
      }
      case ExprKind::Match: {
        const Match* match = static_cast<const Match*>(e);
        use(match->data, block);
        for (const Clause& clause : match->clauses) inner(clause.body);
        break;
      }
      default: for_each_child(Expr(e), [&](const Expr& child) { use(child, block); });
    }
  }

  // --- writing -------------------------------------------------------------------------------------------------------
  void run(Task first) {
    tasks_.push_back(std::move(first));
    while (!tasks_.empty()) {
      Task task = std::move(tasks_.back());
      tasks_.pop_back();
      switch (task.kind) {
        case Task::Text: out_ += task.text; break;
        case Task::Lines: lines(task); break;
        case Task::Node: node(task.end, task.indent); break;
        case Task::Clauses: clauses(task); break;
        case Task::CloseFunction: names_.close_function(); break;
      }
    }
  }
  void then_text(std::string text) { tasks_.push_back({.kind = Task::Text, .text = std::move(text)}); }

  // Indentation is limited, so deep nesting does not make lines ever longer.
  void indent(int level) { out_.append(2 * std::min(level, 40), ' '); }
  static std::string indentation(int level) { return std::string(2 * std::min(level, 40), ' '); }

  // The lines of a block from task.next on, then its end. A let at the end opens its body as the next lines.
  void lines(const Task& task) {
    const Block& block = blocks_.all[task.block];
    if (task.next < block.lines.size()) {
      const ExprNode* e = block.lines[task.next];
      indent(task.indent);
      out_ += format("%{} = ", info_[e].number);
      tasks_.push_back(
          {.kind = Task::Lines, .block = task.block, .next = task.next + 1, .end = task.end, .indent = task.indent});
      then_text(";\n");
      tasks_.push_back({.kind = Task::Node, .end = e, .indent = task.indent});
      return;
    }
    indent(task.indent);
    if (is_named(task.end)) {
      out_ += operand(task.end);
    } else if (task.end->kind == ExprKind::Let) {
      let_line(static_cast<const Let*>(task.end), task.indent);
    } else {
      tasks_.push_back({.kind = Task::Node, .end = task.end, .indent = task.indent});
    }
  }

  void let_line(const Let* let, int level) {
    out_ += "let " + names_.var(let->var.get(), let->var->name);
    if (let->var->annotation) out_ += ": " + names_.type(let->var->annotation);
    comment(let->var.get());
    out_ += " = ";
    tasks_.push_back({.kind = Task::Lines, .block = info_[let].first_inner, .end = let->body.get(), .indent = level});
    then_text(";\n");
    const ExprNode* value = let->value.get();
    if (is_named(value)) {
      then_text(operand(value));
    } else {
      tasks_.push_back({.kind = Task::Node, .end = value, .indent = level});
    }
  }

  bool is_named(const ExprNode* e) { return is_leaf(e) || info_[e].number != NodeInfo::nowhere; }

  // The text for a node at its use.
  std::string operand(const ExprNode* e) {
    switch (e->kind) {
      case ExprKind::Constant: return metadata_.constant(static_cast<const Constant*>(e)) + type_comment(e);
      case ExprKind::Var: return names_.var(e, static_cast<const Var*>(e)->name);
      case ExprKind::GlobalVar: return "@" + written_name(static_cast<const GlobalVar*>(e)->name);
      case ExprKind::Constructor: return static_cast<const Constructor*>(e)->name;
      case ExprKind::Op: return static_cast<const Op*>(e)->name;
      case ExprKind::Tuple:
        if (is_leaf(e)) return "()";
        break;
      case ExprKind::Call:
        if (is_leaf(e)) {
          const Constructor* constructor = as<Constructor>(static_cast<const Call*>(e)->callee);
          return constructor->name + (constructor->inputs.empty() ? "" : "()") + type_comment(e);
        }
        break;
      default: break;
    }
    return format("%{}", info_[e].number);
  }
  std::string operand(const Expr& e) { return operand(e.get()); }
  std::string operands(const Exprs& es) {
    std::string out;
    for (size_t i = 0; i < es.size(); ++i) out += (i ? ", " : "") + operand(es[i]);
    return out;
  }

  void node(const ExprNode* e, int level) {
    auto block = [&](uint32_t index, const Expr& end) {
      tasks_.push_back(
          {.kind = Task::Lines, .block = info_[e].first_inner + index, .end = end.get(), .indent = level + 1});
    };
    switch (e->kind) {
      case ExprKind::Call: {
        if (is_leaf(e)) break;
        const Call* call = static_cast<const Call*>(e);
        std::string attrs = names_.attrs(call->attrs);
        out_ += operand(call->callee) + "(" + operands(call->args) + (attrs.empty() || call->args.empty() ? "" : ", ") +
                attrs + ")";
        return comment(e);
      }
      case ExprKind::Tuple: {
        const Tuple* tuple = static_cast<const Tuple*>(e);
        out_ += "(" + operands(tuple->elements) + (tuple->elements.size() == 1 ? ",)" : ")");
        return comment(e);
      }
      case ExprKind::TupleGetItem: {
        const TupleGetItem* item = static_cast<const TupleGetItem*>(e);
        out_ += format("{}.{}", operand(item->tuple), item->index);
        return comment(e);
      }
      case ExprKind::RefCreate:
        out_ += "ref(" + operand(static_cast<const RefCreate*>(e)->value) + ")";
        return comment(e);
      case ExprKind::RefRead:
        out_ += "ref_read(" + operand(static_cast<const RefRead*>(e)->ref) + ")";
        return comment(e);
      case ExprKind::RefWrite: {
        const RefWrite* write = static_cast<const RefWrite*>(e);
        out_ += "ref_write(" + operand(write->ref) + ", " + operand(write->value) + ")";
        return comment(e);
      }
      case ExprKind::Function: {
        const Function* f = static_cast<const Function*>(e);
        names_.open_function();
        out_ += "fn ";
        function_head(f);
        then_text(type_comment(e));
        tasks_.push_back({.kind = Task::CloseFunction});
        then_text("\n" + indentation(level) + "}");
        return block(0, f->body);
      }
      case ExprKind::Let: {
        out_ += "(\n";
        then_text("\n" + indentation(level) + ")");
        indent(level + 1);
        return let_line(static_cast<const Let*>(e), level + 1);
      }
      case ExprKind::If: {
        const If* branch = static_cast<const If*>(e);
        out_ += "if (" + operand(branch->condition) + ") {\n";
        then_text("\n" + indentation(level) + "}");
        block(1, branch->else_branch);
        then_text("\n" + indentation(level) + "} else {\n");
        return block(0, branch->then_branch);
      }
      case ExprKind::Match: {
        const Match* match = static_cast<const Match*>(e);
        out_ += format("match{} ({}) {{\n", match->complete ? "" : "?", operand(match->data));
        then_text(indentation(level) + "}");
        tasks_.push_back({.kind = Task::Clauses, .end = e, .indent = level});
        return;
      }
      default: break;
    }
    out_ += operand(e);
  }

  void clauses(const Task& task) {
    const Match* match = static_cast<const Match*>(task.end);
    if (task.next == match->clauses.size()) return;
    const Clause& clause = match->clauses[task.next];
    indent(task.indent + 1);
    out_ += pattern(clause.pattern) + " => {\n";
    tasks_.push_back({.kind = Task::Clauses, .next = task.next + 1, .end = task.end, .indent = task.indent});
    then_text("\n" + indentation(task.indent + 1) + "},\n");
    tasks_.push_back({.kind = Task::Lines,
                      .block = info_[match].first_inner + static_cast<uint32_t>(task.next),
                      .end = clause.body.get(),
                      .indent = task.indent + 2});
  }

  std::string pattern(const Pattern& p) {
    std::string nested;
    for (size_t i = 0; i < p->patterns.size(); ++i) nested += (i ? ", " : "") + pattern(p->patterns[i]);
    switch (p->kind) {
      case PatternKind::Wildcard: return "_";
      case PatternKind::Var:
        return names_.var(p->var.get(), p->var->name) +
               (p->var->annotation ? ": " + names_.type(p->var->annotation) : "");
      case PatternKind::Constructor:
        return as<Constructor>(p->constructor)->name + (nested.empty() ? "" : "(" + nested + ")");
      case PatternKind::Tuple: return "(" + nested + (p->patterns.size() == 1 ? ",)" : ")");
    }
    return "_";
  }

  // The devices of a function's parameters, which are printed after their names; "" for parameters without one.
  static Strings take_devices(DictAttrs* attrs, size_t params) {
    const DictAttrs::iterator found = attrs->find("param_virtual_devices");
    const Strings* devices = found == attrs->end() ? nullptr : std::get_if<Strings>(&found->second);
    if (!devices || devices->size() != params ||
        std::all_of(devices->begin(), devices->end(), [](const std::string& device) { return device.empty(); }))
      return Strings(params);
    const Strings out = *devices;
    attrs->erase(found);
    return out;
  }

  // [A](%x: T, Primitive=1) -> R {
  void function_head(const Function* f) {
    if (!f->type_params.empty()) {
      out_ += "[";
      for (size_t i = 0; i < f->type_params.size(); ++i) out_ += (i ? ", " : "") + names_.type(f->type_params[i]);
      out_ += "]";
    }
    out_ += "(";
    bool first = true;
    DictAttrs attrs = f->attrs;
    const Strings devices = take_devices(&attrs, f->params.size());
    for (size_t i = 0; i < f->params.size(); ++i) {
      const VarRef& param = f->params[i];
      out_ += (first ? "" : ", ") + names_.var(param.get(), param->name);
      if (!devices[i].empty()) out_ += format(" {{virtual_device={}}}", ir::str(AttrValue(devices[i])));
      if (param->annotation) out_ += ": " + names_.type(param->annotation);
      first = false;
    }
    if (!attrs.empty()) out_ += (first ? "" : ", ") + names_.attrs(attrs);
    out_ += ")";
    if (f->result_type) out_ += " -> " + names_.type(f->result_type);
    out_ += " {\n";
  }

  static std::vector<VarRef> free_vars_of(const Function* f) { return ir::free_vars(Expr(f)); }
  void free_var(const VarRef& v) {
    out_ += "free_var " + names_.var(v.get(), v->name);
    if (v->annotation) out_ += ": " + names_.type(v->annotation);
    out_ += ";\n";
  }

  std::string type_comment(const ExprNode* e) {
    if (options_.annotate) return options_.annotate(Expr(e));
    return options_.types && e->type ? " /* ty=" + names_.type(e->type) + " */" : "";
  }
  void comment(const ExprNode* e) { out_ += type_comment(e); }

  const PrintOptions& options_;
  MetadataWriter& metadata_;
  std::string& out_;
  Names names_;
  Blocks blocks_;
  NodeMap<NodeInfo> info_;
  std::vector<Task> tasks_;
};

std::string type_definition(const TypeDef& def) {
  Names names;
  std::string out = format("{}type {}", def.is_extern ? "extern " : "", def.name);
  for (size_t i = 0; i < def.type_params.size(); ++i) out += (i ? ", " : "[") + names.type(def.type_params[i]);
  if (!def.type_params.empty()) out += "]";
  if (def.constructors.empty()) return out + "\n";
  out += " {\n";
  for (const Ref<const Constructor>& c : def.constructors) {
    out += "  " + c->name;
    for (size_t i = 0; i < c->inputs.size(); ++i) out += (i ? ", " : "(") + names.type(c->inputs[i]);
    out += c->inputs.empty() ? ",\n" : "),\n";
  }
  return out + "}\n";
}

constexpr const char* version_line = "#[version = \"0.0.5\"]\n";

}  // namespace

std::string str(const Module& module, const PrintOptions& options) {
  std::string out;
  if (options.version) out += version_line;
  MetadataWriter metadata(options);
  const char* separator = "";
  for (const auto& [name, def] : module.types) {
    out += separator + type_definition(def);
    separator = "\n";
  }
  for (const auto& [name, function] : module.functions) {
    out += separator;
    Printer(options, metadata, out).definition(name, function.get());
    separator = "\n";
  }
  if (options.version) out += metadata.section(module.attrs);
  return out;
}

std::string str(const Expr& expr, PrintOptions options) {
  std::string out;
  if (options.version) out += version_line;
  MetadataWriter metadata(options);
  Printer(options, metadata, out).expression(expr);
  if (options.version) out += metadata.section({});
  return out;
}

}  // namespace relay::text
