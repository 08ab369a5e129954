// The text form of kernels.
//
//   kernel relu(x: float32[n, 32] read, y: float32[n, 32]), shape (n), task i < n {
//     for j in 0..2 unrolled {
//       alloc t: float32[16] in register
//       for l in j * 16 ..+ 16 vectorised {
//         t[l - j * 16] = max(x[i, l], 0f)
//       }
//     }
//   }
//
// `a..b` is a loop from a = 0, `a ..+ n` one of n steps from a. An alloc or let extends to the end of its block; one
// that ends earlier is enclosed in braces. Variables and buffers are nodes, so two may share a name: the printer
// numbers the inner one.
#include <unordered_map>
#include <unordered_set>

#include "relay/base/diagnostics.h"
#include "relay/loop/loop.h"

namespace relay::loop {
namespace {

const char* scope_name(Scope scope) {
  switch (scope) {
    case Scope::Param: return "param";
    case Scope::Register: return "register";
    case Scope::Stack: return "stack";
    case Scope::Scratch: return "scratch";
    case Scope::Tile: return "tile";
    case Scope::Shared: return "shared";
  }
  return "";
}

std::string list(const Exprs& exprs) {
  std::string out;
  for (const Expr& e : exprs) out += (out.empty() ? "" : ", ") + scalar::str(e);
  return out;
}

// Gives every variable and buffer in scope a unique name that the parser can read.
class Names {
 public:
  // The node under its name from here on; undefine() it when its scope ends.
  Expr define(const Expr& var) {
    std::string name = unique(var->name);
    Expr renamed = name == var->name ? var : scalar::var_like(name, var);
    vars_.insert_or_assign(var.get(), renamed);
    return renamed;
  }
  BufferRef define(const BufferRef& buffer) {
    Buffer b;
    b.name = unique(buffer->name), b.dtype = buffer->dtype, b.scope = buffer->scope, b.read_only = buffer->read_only;
    for (const Expr& e : buffer->shape) b.shape.push_back(rename(e));
    BufferRef renamed = b.name == buffer->name && b.shape == buffer->shape ? buffer : make<Buffer>(std::move(b));
    buffers_.insert_or_assign(buffer.get(), renamed);
    return renamed;
  }
  void undefine(const Expr& var) { used_.erase(vars_.at(var.get())->name); }
  void undefine(const BufferRef& buffer) { used_.erase(buffers_.at(buffer.get())->name); }

  Expr rename(const Expr& e) const {
    return scalar::rewrite(e, [&](const Expr& n) -> Expr {
      if (n->kind == scalar::Kind::Var) {
        std::unordered_map<const scalar::Node*, Expr>::const_iterator it = vars_.find(n.get());
        return it == vars_.end() ? n : it->second;
      }
      if (n->kind == scalar::Kind::Load) {
        std::unordered_map<const scalar::Source*, BufferRef>::const_iterator it = buffers_.find(n->source.get());
        return it == buffers_.end() || it->second == n->source ? n : scalar::load(it->second, n->args);
      }
      return n;
    });
  }
  std::string name(const BufferRef& buffer) const {
    std::unordered_map<const scalar::Source*, BufferRef>::const_iterator it = buffers_.find(buffer.get());
    return it == buffers_.end() ? buffer->name : it->second->name;
  }

 private:
  std::string unique(const std::string& wanted) {
    std::string base;
    for (char c : wanted) base += isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
    if (base.empty() || isdigit(static_cast<unsigned char>(base[0]))) base = "v" + base;
    std::string name = base;
    for (int i = 1; !used_.insert(name).second; ++i) name = format("{}_{}", base, i);
    return name;
  }

  std::unordered_set<std::string> used_{"for",   "in",   "if",      "else",  "alloc",     "let",      "kernel",
                                        "shape", "task", "select",  "ramp",  "broadcast", "prefetch", "true",
                                        "false", "read", "barrier", "async", "commit",    "wait"};
  std::unordered_map<const scalar::Node*, Expr> vars_;
  std::unordered_map<const scalar::Source*, BufferRef> buffers_;
};

class Printer {
 public:
  Names names;
  std::string out;

  void stmt(const Stmt& s, int indent, bool last) {
    std::string pad(indent, ' ');
    switch (s->kind) {
      case StmtKind::For: {
        std::string min = text(s->min), extent = text(s->extent);
        std::string range = scalar::is_int(s->min, 0) ? "0.." + extent : min + " ..+ " + extent;
        Expr var = names.define(s->var);
        const char* kind = s->for_kind == ForKind::Unrolled     ? " unrolled"
                           : s->for_kind == ForKind::Vectorised ? " vectorised"
                           : s->for_kind == ForKind::Tile       ? " tile"
                           : s->for_kind == ForKind::Block      ? " block"
                           : s->for_kind == ForKind::Thread     ? " thread"
                                                                : "";
        out += format("{}for {} in {}{} {{\n", pad, var->name, range, kind);
        stmt(s->body[0], indent + 2, true);
        out += pad + "}\n";
        names.undefine(s->var);
        break;
      }
      case StmtKind::Store:
        out += format("{}{}[{}] = {}{}\n", pad, names.name(s->buffer), texts(s->indices), text(s->value),
                      s->condition ? " if " + text(s->condition) : "");
        break;
      case StmtKind::Let:
      case StmtKind::Alloc:
        if (!last) {
          out += pad + "{\n";
          stmt(s, indent + 2, true);
          out += pad + "}\n";
        } else if (s->kind == StmtKind::Let) {
          std::string value = text(s->value);
          out += format("{}let {} = {}\n", pad, names.define(s->var)->name, value);
          stmt(s->body[0], indent, true);
          names.undefine(s->var);
        } else {
          BufferRef b = names.define(s->buffer);
          out +=
              format("{}alloc {}: {}[{}] in {}\n", pad, b->name, b->dtype.str(), list(b->shape), scope_name(b->scope));
          stmt(s->body[0], indent, true);
          names.undefine(s->buffer);
        }
        break;
      case StmtKind::If:
        out += format("{}if {} {{\n", pad, text(s->condition));
        stmt(s->body[0], indent + 2, true);
        if (s->body.size() > 1) {
          out += pad + "} else {\n";
          stmt(s->body[1], indent + 2, true);
        }
        out += pad + "}\n";
        break;
      case StmtKind::Block:
        for (size_t i = 0; i < s->body.size(); ++i) stmt(s->body[i], indent, last && i + 1 == s->body.size());
        break;
      case StmtKind::Prefetch:
        out += format("{}prefetch {}[{}]\n", pad, names.name(s->buffer), texts(s->indices));
        break;
      case StmtKind::Barrier: out += pad + "barrier\n"; break;
      case StmtKind::AsyncCopy:
        out += format("{}async {} {}[{}] = {}\n", pad, scalar::str(s->extent), names.name(s->buffer), texts(s->indices),
                      text(s->value));
        break;
      case StmtKind::Commit: out += pad + "commit\n"; break;
      case StmtKind::Wait: out += format("{}wait {}\n", pad, scalar::str(s->extent)); break;
    }
  }

 private:
  std::string text(const Expr& e) { return scalar::str(names.rename(e)); }
  std::string texts(const Exprs& exprs) {
    std::string joined;
    for (const Expr& e : exprs) joined += (joined.empty() ? "" : ", ") + text(e);
    return joined;
  }
};

}  // namespace

std::string str(const Stmt& s, int indent) {
  Printer printer;
  printer.stmt(s, indent, true);
  return printer.out;
}

std::string str(const Kernel& kernel) {
  Printer printer;
  Exprs shape_vars;
  for (const Expr& v : kernel.shape_vars) shape_vars.push_back(printer.names.define(v));
  std::string params;
  for (const BufferRef& p : kernel.params) {
    BufferRef b = printer.names.define(p);
    params += format("{}{}: {}[{}]{}", params.empty() ? "" : ", ", b->name, b->dtype.str(), list(b->shape),
                     b->read_only ? " read" : "");
  }
  Expr task = printer.names.define(kernel.task);
  printer.out = format("kernel {}({}), shape ({}), task {} < {} {{\n", kernel.name, params, list(shape_vars),
                       task->name, scalar::str(printer.names.rename(kernel.tasks)));
  printer.stmt(kernel.body, 2, true);
  return printer.out + "}\n";
}

}  // namespace relay::loop
