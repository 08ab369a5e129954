#include "relay/codegen/c/c_kernel.h"

#include <cctype>

#include "relay/codegen/scalar_form.h"
#include "relay/loop/async_copies.h"
#include "relay/scalar/simplify.h"

namespace relay::codegen {

using loop::Scope;
using loop::Stmt;
using loop::StmtKind;

// `text` with a number in place of each `mark`.
static std::string with(std::string text, std::string_view mark, size_t number) {
  for (size_t at; (at = text.find(mark)) != std::string::npos;) text.replace(at, mark.size(), format("{}", number));
  return text;
}

std::string CKernelWriter::unique(const std::string& name) {
  std::string base;
  for (char c : name) base += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  const bool is_ours = starts_with(base, "relay_") || starts_with(base, "kernel_");  // helpers, kernels
  if (base.empty() || std::isdigit(static_cast<unsigned char>(base[0])) || base[0] == '_' || is_ours) base = "v" + base;
  std::string out = base;
  for (int n = 2; !used_names_.insert(out).second; ++n) out = format("{}_{}", base, n);
  return out;
}

std::string CKernelWriter::run() {
  used_names_.insert(form_.dialect->keywords.begin(), form_.dialect->keywords.end());
  used_names_.insert(form_.dialect->functions.begin(), form_.dialect->functions.end());
  for (const Expr& v : kernel_.shape_vars) names_[v.get()] = unique(v->name);
  for (const loop::BufferRef& b : kernel_.params) names_[b.get()] = unique(b->name);
  const std::string task = names_[kernel_.task.get()] = unique(kernel_.task->name);
  if (form_.thread) names_[form_.thread.get()] = unique(form_.thread->name);
  std::set<const loop::Buffer*> stored, loaded;
  for_each_access(kernel_.body, [&](const loop::Buffer& b, const scalar::Exprs&, bool stores) {
    if (b.scope == Scope::Param) (stores ? stored : loaded).insert(&b);
  });
  for (const loop::Buffer* b : stored) reads_results_ |= loaded.contains(b);
  blocks_.push_back({});
  nested(kernel_.body);
  const std::string body = std::move(lines());
  blocks_.pop_back();
  switch (form_.entry) {
    case CKernelForm::Entry::Static: return static_function(task, body);
    case CKernelForm::Entry::WorkItems:
      return *form_.dialect->memory ? entry_in_memory(task, body) : entry_of_work_items(task, body);
    case CKernelForm::Entry::Pointers: break;
  }
  return called_by_pointer(task, body);
}

std::string CKernelWriter::called_by_pointer(const std::string& task, const std::string& body) {
  for (size_t i = 0; i < kernel_.shape_vars.size(); ++i)
    if (const void* v = kernel_.shape_vars[i].get(); used_.count(v))
      line(format("const int64_t {} = shape[{}];", names_[v], i));
  for (size_t i = 0; i < kernel_.params.size(); ++i) {
    const loop::Buffer& b = *kernel_.params[i];
    const std::string type = (b.read_only ? "const " : "") + stored_type(b.dtype);
    if (used_.count(&b)) line(format("{0} *const {1} = ({0} *)params[{2}];", type, names_[&b], i));
  }
  return format(
      "/* {0}: {1} bytes of scratch memory */\nvoid {2}(void *const *params, const int64_t *shape, int64_t begin, "
      "int64_t end, "
      "void *scratch) {{\n  (void)params, (void)shape, (void)scratch;\n{3}  for (int64_t {4} = begin; {4} < end; "
      "++{4}) {{\n"
      "{5}  }}\n}}\n",
      kernel_.name, scratch_most_, c_name(kernel_.name), lines(), task, body);
}

std::string CKernelWriter::static_function(const std::string& task, const std::string& body) {
  statement_begins({kernel_.tasks});
  const std::string tasks = in(value(kernel_.tasks), Sum);
  std::vector<std::string> params, unused;
  for (const loop::BufferRef& b : kernel_.params) {
    params.push_back(format("{}{} *{}{}", b->read_only ? "const " : "", stored_type(b->dtype),
                            form_.may_overlap ? "" : "restrict ", names_[b.get()]));
    if (!used_.count(b.get())) unused.push_back(format("(void){}", names_[b.get()]));
  }
  for (const Expr& v : kernel_.shape_vars) {
    params.push_back(format("int64_t {}", names_[v.get()]));
    if (!used_.count(v.get())) unused.push_back(format("(void){}", names_[v.get()]));
  }
  if (scratch_most_ > 0) params.push_back("void *scratch");
  if (params.empty()) params.push_back("void");
  if (!unused.empty()) line(format("{};", join(unused, ", ")));
  return format("RELAY_KERNEL void {0}({1}) {{\n{2}  for ({6} {3} = 0; {3} < {4}; ++{3}) {{\n{5}  }}\n}}\n",
                c_name(kernel_.name), join(params, ", "), lines(), task, tasks, body, index_type());
}

// Each work-item runs every n-th task of [begin, end), where n is the number of work-items.
std::string CKernelWriter::entry_of_work_items(const std::string& task, const std::string& body) {
  const Dialect& d = *form_.dialect;
  const DeviceEntry& device = d.device;
  const char *bytes = d.unsigned_types[0], *position = d.signed_types[3];
  std::vector<std::string> params;
  auto add = [&](const std::string& text) { params.push_back(text + with(device.number, "$I", params.size())); };
  for (const loop::BufferRef& b : kernel_.params) {
    const std::string type = d.array_space + std::string(b->read_only ? "const " : "");
    if (!device.has_positions) {
      add(format("{}{} *{}", type, stored_type(b->dtype), names_[b.get()]));
      continue;
    }
    const std::string memory = unique(names_[b.get()] + "_memory"), at = unique(names_[b.get()] + "_at");
    add(format("{}{} *{}", type, bytes, memory)), add(format("{} {}", position, at));
    if (used_.count(b.get()))
      line(format("{0}{1} *const {2} = ({0}{1} *)({3} + {4});", type, stored_type(b->dtype), names_[b.get()], memory,
                  at));
  }
  std::vector<std::string> sizes;
  for (const Expr& v : kernel_.shape_vars) sizes.push_back(names_[v.get()]);
  sizes.insert(sizes.end(), {"begin", "end"});
  if (*device.sizes_space) add(format("{}{} *sizes", device.sizes_space, position));
  for (size_t i = 0; i < sizes.size(); ++i)
    if (*device.sizes_space)
      line(d.constant(position, sizes[i], format("sizes[{}]", i)));
    else
      add(format("{} {}", position, sizes[i]));
  if (scratch_most_ > 0) {
    add(format("{}{} *scratch_memory", d.array_space, bytes));
    line(format("{0}{1} *const scratch = scratch_memory + {3} * {2};", d.array_space, bytes, scratch_most_,
                device.item));
  }
  std::string first = "begin", last = "end";
  if (form_.per_task && !scalar::is_int(form_.per_task, 1)) {
    statement_begins({form_.per_task});
    const std::string each = in(value(form_.per_task), Prefix);
    first += " * " + each, last += " * " + each;
  }
  if (form_.thread && used_.count(form_.thread.get()))
    line(format("const {0} {1} = ({0}){2};", index_type(), names_[form_.thread.get()], device.thread));
  return format("{} void {}({}{}) {{\n{}{}{}}}\n",
                form_.thread ? with(device.of_blocks, "$N", static_cast<size_t>(form_.threads)) : device.plain,
                c_name(kernel_.name), join(params, ", "), device.built_in, shared_, lines(),
                items_loop(first, last, task, body));
}

// Blocks that one work-group runs share its memory: a block begins when all threads have left the one before.
std::string CKernelWriter::items_loop(const std::string& first, const std::string& last, const std::string& task,
                                      const std::string& body) {
  const Dialect& d = *form_.dialect;
  return format(
      "  for ({0} {6} = {3} + ({0}){7}; {6} < {4}; {6} += ({0}){8}) {{\n"
      "    const {1} {2} = ({1}){6};\n{5}{9}  }}\n",
      d.signed_types[3], index_type(), task, first, last, body, form_.thread ? "group" : "item",
      form_.thread ? d.device.block : d.device.item, form_.thread ? d.device.blocks : d.device.items,
      shared_.empty() ? "" : format("    {}\n", d.barrier));
}

void CKernelWriter::nested(const Stmt& s) {
  const std::set<std::string> outside = used_names_;
  ++indent_;
  stmt(s);
  --indent_;
  used_names_ = outside;
}

void CKernelWriter::statement_begins(const scalar::Exprs& exprs) {
  uses_.clear();
  blocks_.back().known.clear();
  std::set<const scalar::Node*> seen;
  for (const Expr& root : exprs) {
    if (!root) continue;
    ++uses_[root.get()];
    scalar::visit(root, [&](const Expr& e) {
      if (seen.insert(e.get()).second)
        for (const Expr& a : e->args) ++uses_[a.get()];
    });
  }
}

void CKernelWriter::stmt(const Stmt& s) {
  switch (s->kind) {
    case StmtKind::For: {
      const Expr end = scalar::simplify(s->min + s->extent);
      kept_.push_back(end);
      statement_begins({s->min, end});
      const std::string first = top(s->min), last = in(value(end), Sum);
      const std::string var = names_[s->var.get()] = unique(s->var->name);
      line(form_.dialect->loop(index_type(), var, first, last));
      nested(s->body[0]);
      line("}");
      used_names_.erase(var);
      break;
    }
    case StmtKind::Store: store(s); break;
    case StmtKind::Let: let(s); break;
    case StmtKind::If: {
      statement_begins({s->condition});
      line(format("if ({}) {{", top(s->condition)));
      nested(s->body[0]);
      if (s->body.size() > 1) {
        line("} else {");
        nested(s->body[1]);
      }
      line("}");
      break;
    }
    case StmtKind::Alloc: alloc(s); break;
    case StmtKind::Block:
      for (const Stmt& b : s->body) stmt(b);
      break;
    case StmtKind::Prefetch: break;  // C99 has none
    case StmtKind::AsyncCopy: stmt(loop::synchronous(s)); break;
    case StmtKind::Commit:
    case StmtKind::Wait: break;
    case StmtKind::Barrier: line(reads_results_ ? form_.dialect->barrier_of_arrays : form_.dialect->barrier); break;
  }
}

// Left out if unused.
void CKernelWriter::let(const Stmt& s) {
  statement_begins({s->value});
  if (!is_index(s->value)) of_loads_.insert(s->var.get());
  const std::string text = top(s->value), var = names_[s->var.get()] = unique(s->var->name);
  blocks_.push_back({});
  stmt(s->body[0]);
  const std::string body = std::move(lines());
  blocks_.pop_back();
  if (used_.count(s->var.get())) line(form_.dialect->constant(type_of(s->value), var, text));
  lines() += body;
}

void CKernelWriter::store(const Stmt& s) {
  if (const std::optional<std::string> scalar = scalar_of(*s->buffer, s->indices); scalar && scalar->empty()) return;
  scalar::Exprs all = s->indices;
  all.push_back(s->value), all.push_back(s->condition);
  statement_begins(all);
  std::string condition;
  if (s->condition) {
    line(format("if ({}) {{", top(s->condition)));
    ++indent_;
  }
  std::string text = top(s->value);
  const DType t = s->buffer->dtype;
  if (is_half(t)) text = format("{}({})", helpers_.store(t), text);
  if (t.is_bool()) text = converted(stored_type(t), {text, Disjunction}).text;
  if (is_in_memory(*s->buffer)) text = as_word(form_.dialect->integer(false, 32), stored_type(t), text);
  const std::string to = element(*s->buffer, s->indices);
  if (to != text) line(format("{} = {};", to, text));  // clang warns of a variable that is assigned to itself
  if (s->condition) {
    --indent_;
    line("}");
  }
}

void CKernelWriter::alloc(const Stmt& s) {
  if (alloc_tile(s)) return;
  const loop::Buffer& b = *s->buffer;
  int64_t elements = 1;
  for (const Expr& e : b.shape) elements *= e->ivalue;
  std::string name = unique(b.name);
  if (b.scope == Scope::Shared)  // declared in front of all others
    while (!shared_names_.insert(name).second) name = unique(b.name);
  names_[&b] = name;
  const std::string type = stored_type(b.dtype);
  const int64_t before = scratch_used_;
  if (b.scope == Scope::Scratch && is_in_memory(b)) {
    constexpr int64_t word_bytes = 4;
    line(form_.dialect->constant(index_type(), name, format("scratch + {}", before / word_bytes)));
    scratch_used_ += (elements * word_bytes + 63) / 64 * 64;
    scratch_most_ = std::max(scratch_most_, scratch_used_);
  } else if (b.scope == Scope::Scratch) {
    const bool is_item = form_.entry == CKernelForm::Entry::WorkItems;
    const std::string to = is_item ? form_.dialect->array_space + type : type;
    line(format("{0} *const {1} = ({0} *){2}scratch + {3});", to, name, is_item ? "(" : "(void *)((char *)", before));
    scratch_used_ += (elements * b.dtype.bytes() + 63) / 64 * 64;
    scratch_most_ = std::max(scratch_most_, scratch_used_);
  } else if (b.scope == Scope::Shared) {
    const Dialect& d = *form_.dialect;
    if (d.names_first) names_[&b] = name = format("{}_{}", c_name(kernel_.name), name);  // for the whole module
    shared_ += format("{}{}\n", d.names_first ? "" : "  ", d.array(type, name, elements, d.shared_space));
  } else {
    line(form_.dialect->array(type, name, std::max<int64_t>(elements, 1)));
  }
  stmt(s->body[0]);
  scratch_used_ = before;
}

}  // namespace relay::codegen
