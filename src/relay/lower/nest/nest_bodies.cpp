// The computation at one point of the loops: loads of tensors become loads of buffers, with the masks that tails need.
#include "relay/lower/nest/nest_builder.h"

namespace relay::lower {

using scalar::Binding;
using scalar::floormod;
using scalar::imm;
using scalar::lt;

bool depends_on(const Expr& e, const Expr& variable) {
  bool found = false;
  scalar::visit(e, [&](const Expr& n) { found |= n == variable; });
  return found;
}

loop::Stmt KernelBuilder::program(const te::Tensor& stage, const Ranges& ranges) {
  std::vector<Binding> bindings;
  loop::Stmt guarded = loop::redirect(stage->program, [&](const loop::Access& a) -> loop::Access {
    const bool own = a.source.get() == static_cast<const scalar::Source*>(stage->result.get());
    const TensorNode* t = own ? stage.get() : dynamic_cast<const TensorNode*>(a.source.get());
    if (!t) return a;
    auto [buffer, indices] = address(*t, a.indices);
    return {buffer, std::move(indices)};
  });
  for (size_t d : stage->batch_axes) {
    const te::Axis& axis = stage->axes[d];
    const Range& r = ranges.at(axis.var.get());
    if (!scalar::is_int(r.extent, 1))
      refuse(format("end its loops with {}/1", axis.var->name),
             "the loops of stage '{}' do not cover axis '{}': {} elements are left", stage->name, axis.var->name,
             scalar::str(r.extent));
    bindings.push_back({axis.var, r.min});
  }
  guarded = loop::substitute(guarded, bindings);
  for (size_t d : stage->batch_axes)  // for an unrolled tile whose last tasks may not exist
    if (const Range& r = ranges.at(stage->axes[d].var.get()); r.limit) guarded = loop::if_(lt(r.min, r.limit), guarded);
  return guarded;
}

scalar::Named KernelBuilder::named_parts(const TensorNode& stage) {
  Bounds axes;
  for (const te::Axis& a : stage.axes) axes.set_range(a.var, imm(0), a.extent);
  for (const te::Axis& a : stage.reduce_axes) axes.set_range(a.var, imm(0), a.extent);
  auto is_inside = [&](const Expr& load) {
    const TensorNode* t = dynamic_cast<const TensorNode*>(load->source.get());
    for (size_t d = 0; t && d < load->args.size(); ++d)
      if (!scalar::prove(scalar::le(imm(0), load->args[d]), axes).value_or(false) ||
          !scalar::prove(lt(load->args[d], t->shape[d]), axes).value_or(false))
        return false;
    return t != nullptr;
  };
  return scalar::name_shared(bodies_.body(stage), is_inside,
                             [&](size_t i) { return fresh(format("{}_part{}", stage.name, i)); });
}

loop::Stmt KernelBuilder::element(const te::Tensor& stage, const Ranges& ranges, bool init) {
  if (stage->is_program()) return program(stage, ranges);
  // The zeros of a warp's tile read nothing.
  const bool zeros_of_tile = init && !threads_.empty() && is_at(*stage) && of(*stage).storage == Storage::Tiles;
  const bool passes_limits = zeros_of_tile || may_pass_limits(*stage, ranges);
  std::vector<Binding> bindings, rows, past;  // for rows that may be past a limit: those that are read, and they
  Exprs at;
  for (const te::Axis& a : stage->axes) {
    const Range& r = ranges.at(a.var.get());
    if (!scalar::is_int(r.extent, 1))
      refuse(format("end its loops with {}/1", a.var->name),
             "the loops of stage '{}' do not cover axis '{}': {} elements are left", stage->name, a.var->name,
             scalar::str(r.extent));
    at.push_back(r.min);
    bindings.push_back({a.var, r.min});
    if (init || !passes_limits || !r.limit || !threads_.empty()) continue;
    const Expr row = scalar::var(a.var->name);
    bounds_.set_range(row, imm(0), a.extent);
    rows.push_back({row, scalar::simplify(scalar::min(r.min, r.limit - 1), bounds_)});
    past.push_back({row, r.min});
    bindings.back().value = row;
  }
  for (const te::Axis& a : stage->reduce_axes) {
    if (init) break;
    const Range& r = ranges.at(a.var.get());
    if (!scalar::is_int(r.extent, 1))
      refuse(format("end its loops with {}/1", a.var->name),
             "the loops of stage '{}' do not cover axis '{}': {} elements are left", stage->name, a.var->name,
             scalar::str(r.extent));
    bindings.push_back({a.var, r.min});
  }
  const scalar::Named body = init ? scalar::Named{{}, te::identity(*stage)} : named_parts(*stage);
  const Expr computed = init ? body.value : decided(scalar::substitute(body.value, bindings));
  loop::Stmt element;
  if (te::has_several_values(*stage)) {
    element = store_values(stage, at, computed);
  } else {
    auto [buffer, indices] = address(*stage, at);
    Expr value = scalar::substitute(resolve(computed, past), rows);
    if (!init && stage->combiner != te::Combiner::None)
      value = te::combine(stage->combiner, read(buffer, indices), value);
    element = store(buffer, indices, value);
  }
  for (size_t i = body.parts.size(); i-- > 0;) {
    const Expr part = resolve(decided(scalar::substitute(body.parts[i].value, bindings)), past);
    element = loop::let(body.parts[i].var, scalar::substitute(part, rows), element);
  }
  if (passes_limits) return element;
  for (const te::Axis& a : stage->axes)  // for an unrolled tile whose last rows may not exist
    if (const Range& r = ranges.at(a.var.get()); r.limit) element = loop::if_(lt(r.min, r.limit), element);
  return element;
}

te::Tensor KernelBuilder::value_source(const TensorNode& stage, size_t v) {
  if (v == 0) return te::Tensor(&stage);
  te::Tensor& source = value_sources_[{&stage, v}];
  if (!source) {
    source = te::placeholder(format("{}_{}", stage.name, v), stage.shape, stage.value_types.at(v));
    value_of_[source.get()] = {&stage, v};
  }
  return source;
}

bool KernelBuilder::is_in_order(const TensorNode& stage) const {
  size_t reached = 0;
  for (const Loop& l : of(stage).loops)
    for (size_t k = 0; k < stage.reduce_axes.size(); ++k) {
      if (stage.reduce_axes[k].var->name != l.axis) continue;
      if (k < reached) return false;
      reached = k;
    }
  return true;
}

Expr KernelBuilder::combined(const te::Tensor& stage, const Exprs& at, const Exprs& values) {
  const te::Merge& merge = *stage->merge;
  std::vector<Binding> bindings;
  for (size_t v = 0; v < values.size(); ++v) {
    auto [buffer, indices] = address(*value_source(*stage, v), at);
    bindings.push_back({merge.left[v], read(buffer, indices)});
    bindings.push_back({merge.right[v], values[v]});
  }
  const bool next = stage->of_elements && !merge.next.empty() && is_in_order(*stage);
  return scalar::substitute(scalar::tuple(next ? merge.next : merge.combined), bindings);
}

loop::Stmt KernelBuilder::store_values(const te::Tensor& stage, const Exprs& at, const Expr& element) {
  std::vector<std::pair<Expr, Expr>> named;  // variables and their values
  auto as_variables = [&](Exprs values, const char* name) {
    for (size_t v = 0; v < values.size(); ++v) {
      const Expr var = scalar::var_like(fresh(format("{}_{}{}", stage->name, name, v)), values[v]);
      named.emplace_back(var, values[v]);
      values[v] = var;
    }
    return values;
  };
  Exprs values = te::values_of(*stage, element);
  const bool is_identity = stage->merge && element->args == stage->merge->identity;
  if (!is_identity) {
    for (Expr& v : values) v = resolve(v);
    if (stage->merge) values = combined(stage, at, as_variables(std::move(values), "b"))->args;
    values = as_variables(std::move(values), "v");
  }
  loop::Stmts stores;
  for (size_t v = 0; v < values.size(); ++v) {
    auto [buffer, indices] = address(*value_source(*stage, v), at);
    stores.push_back(store(buffer, indices, values[v]));
  }
  loop::Stmt out = loop::block(std::move(stores));
  for (size_t i = named.size(); i-- > 0;) out = loop::let(named[i].first, named[i].second, out);
  return out;
}

Expr KernelBuilder::decided(const Expr& body) {
  return scalar::rewrite(body, [&](const Expr& e) -> Expr {
    if (e->kind != scalar::Kind::Select) return e;
    bool on_values = false;
    scalar::visit(e->args[0], [&](const Expr& n) { on_values |= n->kind == scalar::Kind::Load; });
    const std::optional<bool> known = on_values ? std::nullopt : scalar::prove(e->args[0], bounds_);
    return known ? e->args[*known ? 1 : 2] : e;
  });
}

loop::Stmt KernelBuilder::store(const loop::BufferRef& buffer, const Exprs& indices, const Expr& value) {
  bool all_lanes = buffer->scope == loop::Scope::Register;  // lanes past the end exist and are never read
  return loop::store(buffer, indices, value, all_lanes ? Expr{} : mask_);
}

Expr KernelBuilder::read(const loop::BufferRef& buffer, const Exprs& indices, bool padded) {
  Expr value = scalar::load(buffer, indices);
  if (!mask_ || padded) return value;
  bool per_lane = false;
  for (const Expr& i : indices) per_lane |= depends_on(i, lane_);
  // In registers, lanes past the end exist along the last dimension.
  if (buffer->scope == loop::Scope::Register && !indices.empty() && depends_on(indices.back(), lane_)) return value;
  return per_lane ? scalar::select(mask_, value, imm(0, value->dtype)) : value;
}

std::pair<loop::BufferRef, Exprs> KernelBuilder::address(const TensorNode& tensor, const Exprs& at) {
  if (const auto value = value_of_.find(&tensor); value != value_of_.end()) {
    const auto& [stage, v] = value->second;
    std::pair<loop::BufferRef, Exprs> first = address(*stage, at);
    first.first = locals_.at(stage).further.at(v - 1);
    return first;
  }
  const TensorNode* scan = placement_.scan_of(tensor);
  const TensorNode& t = scan ? *scan : tensor;
  Exprs indices;
  if (auto it = locals_.find(&t); it != locals_.end()) {
    const Local& local = it->second;
    if (local.place) indices.push_back(local.place);
    for (int d : local.order)
      indices.push_back(
          scalar::simplify(d == local.ring_dim ? floormod(at[d], local.ring_size) : at[d] - local.origin[d], bounds_));
    return {local.buffer, indices};
  }
  auto it = params_.find(&t);
  if (it == params_.end() && is_at(t))
    refuse(format("place '{}' at the root", t.name),
           "stage '{}' is computed inside {} loops of '{}', but '{}' needs it outside of them", t.name, of(t).level,
           of(t).consumer, root_->name);
  RELAY_CHECK(it != params_.end(), "stage '{}' is not a parameter of the kernel of '{}'", t.name, root_->name);
  for (const Expr& i : layouts_.at(t.name).physical_indices(at)) indices.push_back(scalar::simplify(i, bounds_));
  return {it->second, indices};
}

Expr KernelBuilder::resolve(const Expr& e, const std::vector<Binding>& past) {
  const Expr of_values = scalar::rewrite(e, [&](const Expr& n) -> Expr {
    if (n->kind != scalar::Kind::Get) return n;
    const TensorNode* t = dynamic_cast<const TensorNode*>(n->args[0]->source.get());
    return scalar::load(value_source(*t, static_cast<size_t>(n->ivalue)), n->args[0]->args);
  });
  return scalar::rewrite(of_values, [&](const Expr& n) -> Expr {
    if (n->kind != scalar::Kind::Load) return n;
    const TensorNode* t = dynamic_cast<const TensorNode*>(n->source.get());
    if (!t) return n;
    auto [buffer, indices] = address(*t, n->args);
    if (!past.empty() && buffer->scope == loop::Scope::Register) {
      Exprs in_registers = n->args;
      for (Expr& index : in_registers) index = scalar::substitute(index, past);
      indices = address(*t, in_registers).second;
    }
    // In a layout of whole blocks of lanes, padded with zeros, lanes past the end read existing elements if the vector
    // begins at a multiple of the lanes: then it stays in its block.
    bool padded = false;
    if (auto it = layouts_.find(t->name);
        it != layouts_.end() && !locals_.count(t) && !it->second.dims.empty() && lane_) {
      size_t along = indices.size(), dims = 0;  // the dimension of the lanes, and the number of such dimensions
      for (size_t i = 0; i < indices.size(); ++i)
        if (depends_on(indices[i], lane_)) along = i, ++dims;
      if (dims == 1) {
        const LayoutDim& dim = it->second.dims[along];
        Expr begin = scalar::simplify(scalar::substitute(indices[along], {{lane_, imm(0)}}), bounds_);
        padded = dim.inner && dim.block % lanes_ == 0 &&
                 scalar::is_int(scalar::simplify(floormod(begin, imm(lanes_)), bounds_), 0) &&
                 scalar::equal(scalar::simplify(indices[along] - begin, bounds_), lane_);
      }
    }
    return read(buffer, indices, padded);
  });
}

}  // namespace relay::lower
