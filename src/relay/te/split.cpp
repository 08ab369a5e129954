#include "relay/te/split.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "relay/scalar/simplify.h"

namespace relay::te {

namespace {

using scalar::Bounds;
using scalar::Kind;

// --- proposals -------------------------------------------------------------------------------------------------------

// The dimension along which each tensor is divided, if its readers are divided as assumed.
struct Proposal {
  int64_t ways;
  std::unordered_map<const TensorNode*, int64_t> divided;

  // Notes how a tensor is read; false if another reader needs it in another form.
  bool note(const TensorNode* tensor, int64_t dimension) {
    return divided.try_emplace(tensor, dimension).first->second == dimension;
  }
};

const TensorNode* loaded(const Expr& e) {
  return e->kind == Kind::Load ? dynamic_cast<const TensorNode*>(e->source.get()) : nullptr;
}

bool has_loads(const Expr& e) {
  bool found = false;
  scalar::visit(e, [&](const Expr& part) { found = found || part->kind == Kind::Load; });
  return found;
}

// index(var = step) - index(var = 0), all other variables 0; nullopt if it depends on data.
std::optional<int64_t> moved(const Expr& index, const Expr& var, int64_t step) {
  if (has_loads(index)) {
    for (const Expr& v : scalar::free_vars(index))
      if (v == var) return std::nullopt;
    return 0;
  }
  std::vector<std::pair<Expr, int64_t>> values;
  for (const Expr& v : scalar::free_vars(index)) values.emplace_back(v, 0);
  const std::optional<int64_t> before = scalar::evaluate(index, values);
  for (auto& [v, value] : values)
    if (v == var) value = step;
  const std::optional<int64_t> after = scalar::evaluate(index, values);
  if (!before || !after) return std::nullopt;
  return *after - *before;
}

// The dimension of the source that must be divided when a load's variable moves by `step`, or `whole`.
std::optional<int64_t> divided_by(const Expr& load, const TensorNode& source, const Expr& var, int64_t step,
                                  int64_t ways) {
  int64_t dimension = Split::whole;
  for (size_t d = 0; d < load->args.size(); ++d) {
    const std::optional<int64_t> by = moved(load->args[d], var, step);
    if (by && *by == 0) continue;
    const bool fits = scalar::is_int(source.shape[d]) && source.shape[d]->ivalue % ways == 0;
    if (!by) continue;  // an index from data: the source is whole, or the proof fails
    if (!fits || *by * ways != source.shape[d]->ivalue || dimension != Split::whole) return std::nullopt;
    dimension = static_cast<int64_t>(d);
  }
  return dimension;
}

bool is_plain(const TensorNode& stage) { return !stage.is_program() && !stage.before; }

// Follows the loads of one stage whose variable `var` (null if there is none) is divided.
bool follow_stage(const TensorNode& stage, const Expr& var, int64_t step, Proposal& proposal) {
  if (!is_plain(stage)) return false;
  bool fits = true;
  visit(stage, [&](const Expr& e) {
    const TensorNode* source = loaded(e);
    if (!fits || !source) return;
    const std::optional<int64_t> dimension =
        var ? divided_by(e, *source, var, step, proposal.ways) : std::optional<int64_t>(Split::whole);
    fits = dimension && proposal.note(source, *dimension);
  });
  return fits;
}

// Follows all stages below a result; nullopt if they cannot be divided consistently.
std::optional<Proposal> follow(const Tensor& result, int64_t dimension, const Expr& reduced, int64_t ways) {
  Proposal proposal{ways, {}};
  proposal.note(result.get(), dimension);
  Tensors order = topological({result});
  for (size_t i = order.size(); i-- > 0;) {
    const TensorNode& stage = *order[i];
    if (stage.is_placeholder()) continue;
    const auto found = proposal.divided.find(&stage);
    if (found == proposal.divided.end()) continue;
    Expr var, extent;
    if (&stage == result.get() && reduced) {
      for (const Axis& a : stage.reduce_axes)
        if (a.var == reduced) var = a.var, extent = a.extent;
    } else if (found->second >= 0) {
      const Axis& axis = stage.axes[static_cast<size_t>(found->second)];
      var = axis.var, extent = axis.extent;
    }
    if (var && (!scalar::is_int(extent) || extent->ivalue % ways != 0 || extent->ivalue == 0)) return std::nullopt;
    if (!follow_stage(stage, var, var ? extent->ivalue / ways : 0, proposal)) return std::nullopt;
  }
  return proposal;
}

bool same_shape(const TensorNode& a, const TensorNode& b) {
  if (a.shape.size() != b.shape.size()) return false;
  for (size_t d = 0; d < a.shape.size(); ++d)
    if (!scalar::is_int(a.shape[d]) || !scalar::is_int(b.shape[d], a.shape[d]->ivalue)) return false;
  return true;
}

struct Anchored {
  std::vector<int64_t> inputs;
  int64_t result;
  Combiner combiner;
};

// Every way to divide one result.
std::vector<Anchored> ways_of(const Tensors& inputs, const Tensor& result, int64_t ways) {
  std::vector<Anchored> out;
  auto add = [&](int64_t dimension, const Expr& reduced, Combiner combiner) {
    const std::optional<Proposal> proposal = follow(result, reduced ? Split::whole : dimension, reduced, ways);
    if (!proposal) return;
    Anchored found{{}, dimension, combiner};
    for (const Tensor& input : inputs) {
      const auto use = proposal->divided.find(input.get());
      const bool is_read = use != proposal->divided.end();
      const bool is_like = !is_read && same_shape(*input, *result);  // an input that only states the result's shape
      found.inputs.push_back(is_read ? use->second : is_like ? std::max(dimension, Split::whole) : Split::whole);
    }
    out.push_back(std::move(found));
  };
  for (size_t d = 0; d < result->shape.size(); ++d)
    if (scalar::is_int(result->shape[d]) && result->shape[d]->ivalue > 0 && result->shape[d]->ivalue % ways == 0)
      add(static_cast<int64_t>(d), {}, Combiner::None);
  const bool combines =
      result->combiner == Combiner::Sum || result->combiner == Combiner::Max || result->combiner == Combiner::Min;
  for (const Axis& a : result->reduce_axes)
    if (combines) add(Split::partial, a.var, result->combiner);
  return out;
}

// --- proofs ----------------------------------------------------------------------------------------------------------

class Proof {
 public:
  Proof(const Tensors& inputs, const Tensors& local_inputs, int64_t ways)
      : inputs_(inputs), local_inputs_(local_inputs), ways_(ways), part_(scalar::var("part")) {}

  // Each result is divided along the dimension, or partial.
  bool result(const Tensor& whole, const Tensor& local, int64_t dimension) {
    for (size_t d = 0; d < whole->shape.size(); ++d) {
      const bool divided = static_cast<int64_t>(d) == dimension;
      if (!local || d >= local->shape.size() || is_divided(whole->shape[d], local->shape[d]) != divided) return false;
    }
    return stage(whole.get(), local.get(), dimension == Split::partial);
  }

 private:
  // True if the local extent is a part, false if it is the whole extent; nullopt otherwise.
  std::optional<bool> is_divided(const Expr& whole, const Expr& local) const {
    if (!scalar::is_int(whole) || !scalar::is_int(local)) return std::nullopt;
    if (whole->ivalue == local->ivalue) return false;
    if (local->ivalue * ways_ == whole->ivalue) return true;
    return std::nullopt;
  }

  bool placeholders(const TensorNode* whole, const TensorNode* local) const {
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i].get() == whole) return local_inputs_[i].get() == local;
    return false;
  }

  bool stage(const TensorNode* whole, const TensorNode* local, bool partial) {
    const auto [known, fresh] = proved_.try_emplace({whole, local}, false);
    if (!fresh) return known->second && !partial;
    const bool holds = new_stage(whole, local, partial);
    proved_[{whole, local}] = holds;
    return holds;
  }

  bool new_stage(const TensorNode* whole, const TensorNode* local, bool partial) {
    if (whole->is_placeholder() || local->is_placeholder()) return !partial && placeholders(whole, local);
    if (!is_plain(*whole) || !is_plain(*local) || whole->combiner != local->combiner || whole->dtype != local->dtype ||
        whole->axes.size() != local->axes.size() || whole->reduce_axes.size() != local->reduce_axes.size() ||
        whole->value_types != local->value_types)
      return false;
    if (whole->combiner == Combiner::Several && !same_merge(*whole->merge, *local->merge)) return false;
    std::vector<scalar::Binding> names;
    Bounds bounds;
    bounds.set(part_, 0, ways_);
    if (!axes(whole->axes, local->axes, true, names, bounds)) return false;
    const size_t before = divided_;
    if (!axes(whole->reduce_axes, local->reduce_axes, partial, names, bounds)) return false;
    if (partial && divided_ == before) return false;
    return same(whole->body, local->body, names, bounds);
  }

  // Pairs axes; the variables of the whole computation become expressions over those of the part.
  bool axes(const std::vector<Axis>& whole, const std::vector<Axis>& local, bool may_divide,
            std::vector<scalar::Binding>& names, Bounds& bounds) {
    for (size_t d = 0; d < whole.size(); ++d) {
      const std::optional<bool> divided = is_divided(whole[d].extent, local[d].extent);
      if (!divided || (*divided && !may_divide)) return false;
      divided_ += *divided ? 1 : 0;
      bounds.set(local[d].var, 0, local[d].extent->ivalue);
      names.push_back({whole[d].var, *divided ? part_ * local[d].extent->ivalue + local[d].var : local[d].var});
    }
    return true;
  }

  static bool same_merge(const Merge& a, const Merge& b) {
    if (a.name != b.name || a.left.size() != b.left.size() || a.combined.size() != b.combined.size()) return false;
    std::vector<scalar::Binding> names;
    for (size_t i = 0; i < a.left.size(); ++i) {
      names.push_back({a.left[i], b.left[i]});
      names.push_back({a.right[i], b.right[i]});
    }
    for (size_t i = 0; i < a.combined.size(); ++i)
      if (!scalar::equal(scalar::substitute(a.combined[i], names), b.combined[i])) return false;
    return true;
  }

  bool same_load(const Expr& whole, const Expr& local, const std::vector<scalar::Binding>& names,
                 const Bounds& bounds) {
    const TensorNode *from = loaded(whole), *to = loaded(local);
    if (!from || !to || whole->args.size() != local->args.size()) return false;
    for (size_t d = 0; d < whole->args.size(); ++d) {
      const std::optional<bool> divided = is_divided(from->shape[d], to->shape[d]);
      if (!divided) return false;
      if (!*divided) {
        if (!same(whole->args[d], local->args[d], names, bounds)) return false;
        continue;
      }
      if (has_loads(whole->args[d]) || has_loads(local->args[d])) return false;
      const Expr there = local->args[d] + part_ * to->shape[d]->ivalue;
      if (!scalar::prove_equal(scalar::substitute(whole->args[d], names), there, bounds).value_or(false)) return false;
    }
    return stage(from, to, false);
  }

  bool same(const Expr& whole, const Expr& local, const std::vector<scalar::Binding>& names, const Bounds& bounds) {
    if (whole->kind == local->kind && whole->dtype == local->dtype) {
      if (whole->kind == Kind::Load) return same_load(whole, local, names, bounds);
      const bool same_node = whole->unary == local->unary && whole->binary == local->binary &&
                             whole->ivalue == local->ivalue && whole->args.size() == local->args.size() &&
                             (whole->kind != Kind::Float || scalar::equal(whole, local)) && whole->kind != Kind::Any &&
                             (whole->kind != Kind::Var || scalar::equal(scalar::substitute(whole, names), local));
      bool fits = same_node;
      for (size_t i = 0; fits && i < whole->args.size(); ++i)
        fits = same(whole->args[i], local->args[i], names, bounds);
      if (fits) return true;
    }
    const bool provable = whole->dtype == local->dtype && (whole->dtype == DType::int64() || whole->dtype.is_bool());
    if (!provable || has_loads(whole) || has_loads(local)) return false;
    const Expr there = scalar::simplify(scalar::substitute(whole, names), bounds);
    const Expr here = scalar::simplify(local, bounds);
    if (scalar::equal(there, here)) return true;
    return whole->dtype == DType::int64() && scalar::prove_equal(there, here, bounds).value_or(false);
  }

  const Tensors &inputs_, &local_inputs_;
  int64_t ways_;
  Expr part_;
  size_t divided_ = 0;
  std::map<std::pair<const TensorNode*, const TensorNode*>, bool> proved_;
};

}  // namespace

std::vector<Split> splits(const Tensors& inputs, const Tensors& results, int64_t ways) {
  std::vector<Split> out;
  for (const Anchored& first : ways_of(inputs, results[0], ways)) {
    Split split{first.inputs, {first.result}, first.combiner};
    for (size_t k = 1; k < results.size(); ++k) {
      for (const Anchored& other : ways_of(inputs, results[k], ways))
        if (split.results.size() == k && other.inputs == first.inputs &&
            (other.combiner == Combiner::None || other.combiner == first.combiner ||
             first.combiner == Combiner::None)) {
          split.results.push_back(other.result);
          if (other.combiner != Combiner::None) split.combiner = other.combiner;
        }
      if (split.results.size() == k) break;
    }
    if (split.results.size() == results.size() && std::find(out.begin(), out.end(), split) == out.end())
      out.push_back(std::move(split));
  }
  return out;
}

bool computes_part(const Tensors& inputs, const Tensors& results, const Tensors& local_inputs,
                   const Tensors& local_results, const Split& split, int64_t ways) {
  if (inputs.size() != local_inputs.size() || results.size() != local_results.size()) return false;
  Proof proof(inputs, local_inputs, ways);
  for (size_t k = 0; k < results.size(); ++k)
    if (!proof.result(results[k], local_results[k], split.results[k])) return false;
  return true;
}

}  // namespace relay::te
