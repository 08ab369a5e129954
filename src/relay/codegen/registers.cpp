#include "relay/codegen/registers.h"

#include <algorithm>
#include <map>

#include "relay/loop/lanes.h"

namespace relay::codegen {

using loop::Buffer;
using loop::Scope;
using loop::Stmt;
using loop::StmtKind;
using scalar::Expr;
using scalar::Exprs;

std::optional<RegisterAccess> register_access(const Buffer& buffer, const Exprs& indices) {
  int64_t offset = 0, stride = 0;
  int lanes = 1;
  for (size_t d = 0; d < indices.size(); ++d) {
    std::optional<loop::Lanes> part = loop::as_lanes(indices[d]);
    if (!part || !scalar::is_int(buffer.shape[d])) return std::nullopt;
    Expr base = scalar::simplify(part->base);
    if (!scalar::is_int(base)) return std::nullopt;
    offset = offset * buffer.shape[d]->ivalue + base->ivalue;
    stride = stride * buffer.shape[d]->ivalue + part->stride;
    lanes = std::max<int>(lanes, indices[d]->dtype.lanes);
  }
  if (lanes == 1 || stride == 0) return RegisterAccess{offset, 1};
  if (stride < 1) return std::nullopt;
  return RegisterAccess{offset, lanes, stride};
}

static std::string access_text(const Buffer& buffer, const Exprs& indices) {
  std::string text;
  for (const Expr& e : indices) text += (text.empty() ? "" : ", ") + scalar::str(e);
  return format("{}[{}]", buffer.name, text);
}

static Diagnostic illegal(std::string message, std::string help) {
  return {.kind = DiagnosticKind::illegal_schedule, .message = std::move(message), .help = std::move(help)};
}

// Vector registers that the groups of one buffer occupy. Scalar integers are in general registers.
static int64_t vectors_of(const Buffer& buffer, const std::vector<RegisterGroup>& groups, const TargetDesc& target) {
  int64_t bytes = buffer.dtype.is_float() && buffer.dtype.bits == 16 ? 4 : buffer.dtype.bytes();
  int64_t count = 0;
  for (const RegisterGroup& g : groups) {
    if (g.lanes == 1 && !buffer.dtype.is_float()) continue;
    count += (g.lanes * bytes + target.vector_bytes - 1) / target.vector_bytes;
  }
  return count;
}

// The largest number of live vectors in s: an array lives as long as its alloc.
static int64_t live_vectors(const Stmt& s, const RegisterPlan& plan, const TargetDesc& target) {
  int64_t inside = 0;
  for (const Stmt& b : s->body) inside = std::max(inside, live_vectors(b, plan, target));
  if (s->kind == StmtKind::Alloc && s->buffer->scope == Scope::Register)
    if (auto it = plan.groups.find(s->buffer.get()); it != plan.groups.end())
      inside += vectors_of(*s->buffer, it->second, target);
  return inside;
}

Result<RegisterPlan> plan_registers(const loop::Kernel& kernel, const TargetDesc& target) {
  struct Access {
    RegisterAccess run;
    const Exprs* indices;
  };
  std::map<const Buffer*, std::vector<Access>> accesses;
  Diagnostics errors;
  auto note = [&](const Buffer* buffer, const Exprs& indices, bool stored) {
    if (buffer->scope != Scope::Register) return;
    std::optional<RegisterAccess> run = register_access(*buffer, indices);
    if (run && run->stride > 1 && !stored) return;  // reads what others store
    if (!run || run->stride > 1)
      errors.push_back(illegal(format("register buffer {} is accessed at {}, which is not a constant run of elements",
                                      buffer->name, access_text(*buffer, indices)),
                               "unroll the loops that index it, or place it on the stack"));
    else
      accesses[buffer].push_back({*run, &indices});
  };
  loop::visit(
      kernel.body,
      [&](const Stmt& s) {
        if (s->kind == StmtKind::Store) note(s->buffer.get(), s->indices, true);
      },
      [&](const Expr& e) {
        scalar::visit(e, [&](const Expr& n) {
          if (n->kind == scalar::Kind::Load) note(static_cast<const Buffer*>(n->source.get()), n->args, false);
        });
      });
  if (!errors.empty()) return errors;

  RegisterPlan plan;
  for (auto& [buffer, list] : accesses) {
    std::sort(list.begin(), list.end(), [](const Access& a, const Access& b) {
      return std::pair(-a.run.lanes, a.run.offset) < std::pair(-b.run.lanes, b.run.offset);
    });
    std::map<int64_t, RegisterGroup> groups;  // by offset
    for (const Access& a : list) {
      int64_t begin = a.run.offset, end = begin + a.run.lanes;
      std::map<int64_t, RegisterGroup>::iterator it = groups.upper_bound(begin);
      bool inside = false, clash = it != groups.end() && it->first < end;
      if (it != groups.begin()) {
        const RegisterGroup& before = std::prev(it)->second;
        inside = end <= before.offset + before.lanes;
        clash |= !inside && begin < before.offset + before.lanes;
      }
      if (clash)
        return illegal(format("register buffer {} is accessed at {}, which overlaps another access in part",
                              buffer->name, access_text(*buffer, *a.indices)),
                       "use one vector width for it, and make its last dimension a multiple of that");
      if (!inside) groups.insert({begin, {begin, a.run.lanes}});
    }
    for (const auto& [offset, group] : groups) plan.groups[buffer].push_back(group);
  }
  int64_t live = live_vectors(kernel.body, plan, target);
  if (live > target.vector_registers) {
    std::string names;
    for (const auto& [buffer, groups] : plan.groups)
      names += format("{}{} {}", names.empty() ? "" : ", ", buffer->name, vectors_of(*buffer, groups, target));
    return illegal(format("kernel {} needs {} vector registers for its register buffers ({}), {} has {}", kernel.name,
                          live, names, target.name, target.vector_registers),
                   "choose a smaller register tile");
  }
  return plan;
}

}  // namespace relay::codegen
