// Compiles a stage's body to instructions. See stage.h.
#include <algorithm>
#include <map>

#include "relay/eval/stage.h"
#include "relay/scalar/eval.h"
#include "relay/scalar/linear.h"

namespace relay::eval {

using scalar::Bounds;
using scalar::Expr;
using scalar::Exprs;
using scalar::Kind;
using scalar::Linear;
using scalar::Term;

Holder holder(DType dtype) { return !dtype.is_float() ? Holder::I64 : dtype.bits == 64 ? Holder::F64 : Holder::F32; }

namespace {

class Compiler {
 public:
  Compiler(const te::Tensor& stage, const KnownShapes& shapes, const ShapeValues& values, const EvalOptions& options)
      : stage_(stage), shapes_(shapes), options_(options) {
    for (const auto& [var, value] : values) known_.push_back({var, scalar::imm(value)});
  }

  StageProgram compile() {
    program_.name = stage_->name;
    program_.combiner = stage_->combiner;
    program_.dtype = computed(stage_->dtype);
    program_.shape = shapes_.at(stage_.get());
    int64_t points = 1, reduced = 1;
    for (int64_t e : program_.shape) points *= e;
    std::vector<int64_t> reduce_extents;
    for (const te::Axis& a : stage_->reduce_axes) {
      std::optional<int64_t> e = scalar::evaluate(scalar::substitute(a.extent, known_), {});
      RELAY_CHECK(e, "the extent {} of {} in {} is unknown", str(a.extent), a.var->name, stage_->name);
      reduce_extents.push_back(std::max<int64_t>(*e, 0));
      reduced *= reduce_extents.back();
    }
    const bool several = te::has_several_values(*stage_);
    program_.swapped = !several && points < 16 && reduced >= 32 && reduced > points * 4;
    for (size_t d = 0; d < stage_->axes.size(); ++d) axis(stage_->axes[d].var, program_.shape[d], !program_.swapped);
    for (size_t d = 0; d < reduce_extents.size(); ++d)
      axis(stage_->reduce_axes[d].var, reduce_extents[d], program_.swapped);
    Expr body = scalar::substitute(stage_->body, known_);
    if (several)
      values(body);
    else if (!try_dot(body))
      program_.result = expression(body, -1);
    program_.levels.resize(program_.step_extents.size() + 1);
    for (size_t i = 0; i < program_.code.size(); ++i)
      program_.levels[static_cast<size_t>(program_.code[i].level)].push_back(static_cast<int>(i));
    return std::move(program_);
  }

 private:
  // For a reduction, combined with the value accumulated in earlier steps.
  void values(const Expr& body) {
    const te::Merge* merge = stage_->merge.get();
    const Exprs elements = te::values_of(*stage_, body);
    std::vector<scalar::Binding> bindings;
    for (size_t v = 0; v < elements.size(); ++v) {
      program_.types.push_back(computed(stage_->value_types[v]));
      if (!merge) {
        program_.results.push_back(expression(elements[v], -1));
        continue;
      }
      const Expr& start = merge->identity[v];
      const DType t = program_.types.back();
      program_.start.push_back(t.is_float() ? scalar::float_value(start->fvalue, t)
                                            : scalar::int_value(start->ivalue, t));
      bindings.push_back({merge->right[v], elements[v]});
      accumulators_.push_back(merge->left[v]);
    }
    if (merge)
      for (const Expr& e : merge->combined) program_.results.push_back(expression(scalar::substitute(e, bindings), -1));
  }

  DType computed(DType t) const { return options_.float64 && t.is_float() ? DType::float64() : t.element(); }

  // An axis of extent 1 is 0; the others become lanes or steps.
  void axis(const Expr& var, int64_t extent, bool lane) {
    if (extent == 1) {
      known_.push_back({var, scalar::imm(0)});
      return;
    }
    bounds_.set(var, 0, extent);
    (lane ? lane_vars_ : step_vars_).push_back(var);
    (lane ? program_.lane_extents : program_.step_extents).push_back(extent);
  }

  int emit(Instruction in) {
    bool uniform = in.code != Code::LaneAxis && in.code != Code::Accumulator;
    int level = in.code == Code::StepAxis      ? static_cast<int>(in.extra) + 1
                : in.code == Code::Accumulator ? static_cast<int>(program_.step_extents.size())
                                               : 0;
    auto use = [&](int r) {
      if (r < 0) return;
      uniform &= program_.code[static_cast<size_t>(r)].uniform;
      level = std::max(level, program_.code[static_cast<size_t>(r)].level);
    };
    for (int r : in.args) use(r);
    use(in.mask);
    in.uniform = uniform, in.level = level;
    program_.code.push_back(in);
    return static_cast<int>(program_.code.size()) - 1;
  }

  // True if e has a load that may be outside of its tensor. Only such loads depend on a mask. Without this distinction,
  // nested selects that share their sides would be compiled once for each path to them.
  bool needs_mask(const Expr& e) {
    if (e->args.empty()) return false;
    auto it = needs_mask_.find(e.get());
    if (it != needs_mask_.end()) return it->second;
    const bool found = std::any_of(e->args.begin(), e->args.end(), [&](const Expr& a) { return needs_mask(a); }) ||
                       (e->kind == Kind::Load && !offset(e).checks.empty());
    kept_.push_back(e);
    return needs_mask_[e.get()] = found;
  }

  // The register of e where `mask` holds.
  int expression(const Expr& e, int mask) {
    if (!needs_mask(e)) mask = -1;
    std::pair<const scalar::Node*, int> key{e.get(), mask};
    auto it = registers_.find(key);
    if (it != registers_.end()) return it->second;
    int r = make(e, mask);
    kept_.push_back(e);
    registers_[key] = r;
    return r;
  }

  int make(const Expr& e, int mask) {
    Instruction in;
    in.dtype = computed(e->dtype);
    switch (e->kind) {
      case Kind::Int: {
        in.integer = scalar::int_value(e->ivalue, e->dtype).i;
        return emit(in);
      }
      case Kind::Float: in.value = scalar::round_to(e->dtype, e->fvalue); return emit(in);
      case Kind::Var: return variable(e, in);
      case Kind::Unary:
        in.code = Code::Unary, in.unary = e->unary;
        in.from = computed(e->args[0]->dtype);
        in.args[0] = expression(e->args[0], mask);
        return emit(in);
      case Kind::Binary:
        in.code = Code::Binary, in.binary = e->binary;
        in.from = computed(e->args[0]->dtype);
        in.args[0] = expression(e->args[0], mask);
        in.args[1] = expression(e->args[1], mask);
        return emit(in);
      case Kind::Select: {
        in.code = Code::Select;
        in.args[0] = expression(e->args[0], mask);
        in.args[1] = expression(e->args[1], needs_mask(e->args[1]) ? narrowed(Code::MaskAnd, mask, in.args[0]) : -1);
        in.args[2] = expression(e->args[2], needs_mask(e->args[2]) ? narrowed(Code::MaskAndNot, mask, in.args[0]) : -1);
        return emit(in);
      }
      case Kind::Cast:
        in.from = computed(e->args[0]->dtype);
        in.args[0] = expression(e->args[0], mask);
        if (in.from == in.dtype) return in.args[0];
        in.code = Code::Cast;
        return emit(in);
      case Kind::Reinterpret:
        in.code = Code::Reinterpret, in.from = e->args[0]->dtype, in.to = e->dtype, in.extra = options_.float64;
        in.args[0] = expression(e->args[0], mask);
        return emit(in);
      case Kind::Load: return load(e, mask, 0, e->dtype);
      case Kind::Get: return load(e->args[0], mask, static_cast<size_t>(e->ivalue), e->dtype);
      case Kind::Dot: return expression(scalar::without_dot(e), mask);
      default: break;
    }
    RELAY_CHECK(false, "{} in stage {}", str(e), stage_->name);
    return -1;
  }

  int variable(const Expr& e, Instruction in) {
    if (auto a = std::find(accumulators_.begin(), accumulators_.end(), e); a != accumulators_.end()) {
      in.code = Code::Accumulator, in.extra = a - accumulators_.begin();
      return emit(in);
    }
    auto lane = std::find(lane_vars_.begin(), lane_vars_.end(), e);
    auto step = std::find(step_vars_.begin(), step_vars_.end(), e);
    if (lane != lane_vars_.end()) {
      in.code = Code::LaneAxis, in.extra = lane - lane_vars_.begin();
    } else {
      RELAY_CHECK(step != step_vars_.end(), "variable {} of stage {} has no value", e->name, stage_->name);
      in.code = Code::StepAxis, in.extra = step - step_vars_.begin();
    }
    return emit(in);
  }

  int narrowed(Code code, int mask, int condition) {
    std::tuple<Code, int, int> key{code, mask, condition};
    auto it = masks_.find(key);
    if (it != masks_.end()) return it->second;
    Instruction in;
    in.code = code, in.dtype = DType::boolean();
    in.args[0] = mask, in.args[1] = condition;
    return masks_[key] = emit(in);
  }

  int tensor_number(const te::TensorNode* t, size_t v = 0) {
    for (size_t i = 0; i < program_.tensors.size(); ++i)
      if (program_.tensors[i].first.get() == t && program_.tensors[i].second == v) return static_cast<int>(i);
    program_.tensors.push_back({te::Tensor(t), v});
    return static_cast<int>(program_.tensors.size()) - 1;
  }

  static bool uses(const Expr& e, const Exprs& vars) {
    bool found = false;
    scalar::visit(e, [&](const Expr& n) { found |= std::find(vars.begin(), vars.end(), n) != vars.end(); });
    return found;
  }

  static bool has_load(const Expr& e) {
    bool found = false;
    scalar::visit(e, [&](const Expr& n) { found |= n->kind == Kind::Load; });
    return found;
  }

  // The flat offset of a load as lane part + uniform part; `checks` are the dimensions that must be checked at run
  // time. Dimension `moved` counts as the innermost one (-1 if none).
  struct Offset {
    Linear lanes, uniform;
    std::vector<size_t> checks;
  };
  Offset offset(const Expr& e, int moved = -1) {
    const Shape& dims = shapes_.at(static_cast<const te::TensorNode*>(e->source.get()));
    RELAY_CHECK(dims.size() == e->args.size(), "{} indices for {} in stage {}", e->args.size(), e->source->name,
                stage_->name);
    Offset out;
    Linear flat;
    int64_t stride = 1;
    std::vector<size_t> order;  // innermost first
    if (moved >= 0) order.push_back(static_cast<size_t>(moved));
    for (size_t d = dims.size(); d-- > 0;)
      if (static_cast<int>(d) != moved) order.push_back(d);
    for (size_t d : order) {
      Linear index = scalar::split(scalar::simplify(e->args[d], bounds_));
      scalar::Interval range = scalar::range_of(index, bounds_);
      if (!range.min || *range.min < 0 || !range.max || *range.max >= dims[d]) out.checks.push_back(d);
      RELAY_CHECK(scalar::add(&flat, index, stride), "the offset into {} overflows", e->source->name);
      stride *= dims[d];
    }
    if (dims.size() > 1) flat = scalar::split(scalar::simplify(scalar::join(flat), bounds_));
    out.uniform.constant = flat.constant;
    for (const Term& t : flat.terms) (uses(t.product, lane_vars_) ? out.lanes : out.uniform).terms.push_back(t);
    return out;
  }

  // Value `v`, of type t, of an element.
  int load(const Expr& e, int mask, size_t v, DType t) {
    const te::TensorNode* source = static_cast<const te::TensorNode*>(e->source.get());
    Offset at = offset(e);
    // Under a mask a loaded index is known only in active lanes, and lane 0 may be inactive.
    if (mask >= 0)
      for (size_t i = at.uniform.terms.size(); i-- > 0;)
        if (needs_mask(at.uniform.terms[i].product)) {
          at.lanes.terms.push_back(at.uniform.terms[i]);
          at.uniform.terms.erase(at.uniform.terms.begin() + static_cast<std::ptrdiff_t>(i));
        }
    Instruction in;
    in.code = Code::Load, in.dtype = computed(t), in.mask = mask, in.tensor = tensor_number(source, v);
    for (size_t d : at.checks) {
      Instruction check;
      check.code = Code::Check, check.dtype = DType::boolean(), check.mask = mask, check.tensor = in.tensor;
      check.args[0] = expression(e->args[d], mask);
      check.extra = shapes_.at(source)[d], check.dimension = static_cast<int>(d);
      emit(check);
    }
    if (!at.lanes.is_constant()) in.args[0] = expression(scalar::join(at.lanes), mask);
    if (!at.uniform.is_constant() || at.uniform.constant != 0) in.args[1] = expression(scalar::join(at.uniform), mask);
    return emit(in);
  }

  // The dimension to move to the end so that the innermost lane axis is contiguous in memory; -1 if it already is, if
  // that is impossible, or if there is too little work to pay for the copy.
  int dimension_to_move(const Expr& e) {
    const Shape& dims = shapes_.at(static_cast<const te::TensorNode*>(e->source.get()));
    double work = 1, elements = 1;
    for (int64_t n : program_.lane_extents) work *= static_cast<double>(n);
    for (int64_t n : program_.step_extents) work *= static_cast<double>(n);
    for (int64_t n : dims) elements *= static_cast<double>(n);
    if (lane_vars_.empty() || work < 4 * elements) return -1;
    int found = -1;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (!uses(e->args[d], {lane_vars_.back()})) continue;
      std::optional<scalar::Affine> affine = scalar::as_affine(e->args[d], {lane_vars_.back()});
      if (found >= 0 || !affine || affine->coefficients[0] != 1) return -1;
      found = static_cast<int>(d);
    }
    return found + 1 == static_cast<int>(dims.size()) ? -1 : found;
  }

  static const Expr& without_casts(const Expr& e, bool float64) {
    return float64 && e->kind == Kind::Cast && e->dtype.is_float() && e->args[0]->dtype.is_float() ? e->args[0] : e;
  }

  // Handles a sum of load * load whose offsets are linear in the last step axis.
  bool try_dot(const Expr& body) {
    DType t = program_.dtype;
    if (program_.combiner != te::Combiner::Sum || program_.swapped || step_vars_.empty()) return false;
    if (t != DType::float32() && t != DType::float64()) return false;
    if (body->kind != Kind::Binary || body->binary != BinaryOp::Mul) return false;
    Dot dot;
    const Expr last = step_vars_.back();
    std::vector<Offset> offsets;
    Exprs loads;
    for (size_t s = 0; s < 2; ++s) {
      Expr e = without_casts(body->args[s], options_.float64);
      if (e->kind != Kind::Load || computed(e->dtype) != t || std::any_of(e->args.begin(), e->args.end(), has_load))
        return false;
      dot.sides[s].moved = dimension_to_move(e);
      Offset at = offset(e, dot.sides[s].moved);
      if (!at.checks.empty() || uses(scalar::join(at.lanes), {last})) return false;
      dot.sides[s].step = 0;
      for (size_t i = 0; i < at.uniform.terms.size(); ++i) {
        if (at.uniform.terms[i].product == last) {
          dot.sides[s].step = at.uniform.terms[i].coefficient;
          at.uniform.terms.erase(at.uniform.terms.begin() + static_cast<std::ptrdiff_t>(i--));
        } else if (uses(at.uniform.terms[i].product, {last})) {
          return false;
        }
      }
      offsets.push_back(std::move(at));
      loads.push_back(std::move(e));
    }
    for (size_t s = 0; s < 2; ++s) {
      dot.sides[s].tensor = tensor_number(static_cast<const te::TensorNode*>(loads[s]->source.get()));
      dot.sides[s].lanes = offsets[s].lanes.is_constant() ? -1 : expression(scalar::join(offsets[s].lanes), -1);
      dot.sides[s].uniform = expression(scalar::join(offsets[s].uniform), -1);
    }
    program_.dot = dot;
    return true;
  }

  const te::Tensor& stage_;
  const KnownShapes& shapes_;
  const EvalOptions& options_;
  std::vector<scalar::Binding> known_;
  Bounds bounds_;
  Exprs lane_vars_, step_vars_, accumulators_;
  StageProgram program_;
  std::unordered_map<const scalar::Node*, bool> needs_mask_;
  std::map<std::pair<const scalar::Node*, int>, int> registers_;
  std::map<std::tuple<Code, int, int>, int> masks_;
  Exprs kept_;  // keys of the maps stay alive
};

}  // namespace

StageProgram compile(const te::Tensor& stage, const KnownShapes& shapes, const ShapeValues& values,
                     const EvalOptions& options) {
  return Compiler(stage, shapes, values, options).compile();
}

}  // namespace relay::eval
