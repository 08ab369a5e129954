#include "relay/lower/lower.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "relay/lower/group/cost.h"
#include "relay/lower/group/flops.h"
#include "relay/lower/nest/halo.h"
#include "relay/lower/plan/join.h"
#include "relay/lower/plan/views.h"
#include "relay/lower/plan_function.h"
#include "relay/lower/schedule_group.h"
#include "relay/lower/steps_kernel.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

namespace {

class Lowering {
 public:
  Lowering(const LowerOptions& options, LoweredFunction& out, LowerNames* names)
      : options_(options), out_(out), names_(names ? *names : own_names_) {}

  Status run(const ir::FunctionRef& function) {
    RELAY_ASSIGN(plan_, plan_function(function, options_));
    out_.arrays = plan_.arrays;
    is_constant_.assign(out_.arrays.size(), false);
    for (size_t i = 0; i < out_.arrays.size(); ++i) is_constant_[i] = out_.arrays[i].kind == Array::Kind::Constant;
    for (size_t i = 0; i < out_.arrays.size(); ++i)
      if (out_.arrays[i].view) is_shared_.insert(stored_in(out_.arrays, static_cast<int>(i)));
    // Weights come from memory in each run if they do not stay in L3, which temporaries and other cores use as well.
    streams_weights_ = options_.target.prefetch_weights || weight_bytes() > part_of_l3(options_.target, 4);
    // The form with the original weights comes first: the other form's weights are computed from them.
    for (size_t i = 0; i + 1 < plan_.groups.size(); ++i)
      if (!plan_.groups[i].form.weight.empty() && plan_.groups[i + 1].form.weight.empty() &&
          plan_.groups[i].outputs == plan_.groups[i + 1].outputs)
        std::swap(plan_.groups[i], plan_.groups[i + 1]), ++i;
    for (const Group& g : plan_.groups) {
      RELAY_RETURN_IF_ERROR(lower_group(g));
      if (failed_algorithm_) break;
    }
    out_.not_in_place = std::move(plan_.not_in_place);
    check_in_place();
    set_sizes(out_);
    return ok();
  }
  // The function has to be lowered without this rule: a group's schedule in its form could not be built.
  std::optional<Rule> failed_algorithm() const { return failed_algorithm_; }

 private:
  // Bytes of all constants as kernels read them: an algorithm's form of a weight may be larger than the weight.
  int64_t weight_bytes() const {
    int64_t bytes = 0;
    for (const Array& a : out_.arrays)
      if (a.kind == Array::Kind::Constant) bytes += static_cast<int64_t>(a.value.bytes());
    for (const Group& g : plan_.groups) {
      if (g.form.weight.empty()) continue;
      for (const te::Tensor& t : te::topological(g.te.outputs))
        if (t->name == g.form.weight) bytes += te::bytes(*t);
    }
    return bytes;
  }

  int add_array(Array a) {
    out_.arrays.push_back(std::move(a));
    is_constant_.push_back(out_.arrays.back().kind == Array::Kind::Constant);
    return static_cast<int>(out_.arrays.size()) - 1;
  }

  // True if readers choose the array's layout: for constants, and for arrays computed from them when the program is
  // built.
  bool is_packable(int array) const {
    const Array& a = out_.arrays[array];
    if (a.kind == Array::Kind::Constant) return true;
    return a.kind == Array::Kind::Temporary && is_constant_[array] && !a.layout.has_halo() && a.layout.row_padding == 0;
  }

  // The constant `array` in the layout that a kernel requests. One that has no value yet is copied by a step on
  // constants.
  Result<int> packed(const Group& user, int array, const Layout& layout) {
    if (out_.arrays[array].layout == layout) return array;
    const auto [known, fresh] = packed_.try_emplace({array, layout.str()}, static_cast<int>(out_.arrays.size()));
    const int made = known->second;
    if (!fresh) return made;
    Array copy = out_.arrays[array];
    copy.layout = layout;
    copy.name += " as " + layout.str();
    const bool has_value = static_cast<bool>(copy.value);
    add_array(std::move(copy));
    if (!has_value) RELAY_RETURN_IF_ERROR(lower_group(copy_group(out_.arrays, "pack", user, array, made)));
    return made;
  }

  std::string unique_group_name(const std::string& name) {
    int n = names_.groups[name]++;
    return n ? format("{}_{}", name, n) : name;
  }

  // Several kernels may compute one output, each reading the input whose place it would take.
  void check_in_place() {
    std::map<uint32_t, int> taken;  // by input: the output
    for (size_t a = 0; a < out_.arrays.size(); ++a)
      if (out_.arrays[a].in_place) taken[out_.arrays[a].in_place->input] = static_cast<int>(a);
    std::set<int> written;
    for (const Step& step : out_.steps) {
      for (int read : step.reads) {
        const Array& input = out_.arrays[read];
        const auto output = input.kind == Array::Kind::Input ? taken.find(input.index) : taken.end();
        if (output == taken.end() || !written.count(output->second)) continue;
        out_.not_in_place.emplace(static_cast<int>(input.index),
                                  format("several kernels compute `{}` from it", out_.arrays[output->second].name));
        out_.arrays[output->second].in_place.reset();
        taken.erase(output);
      }
      written.insert(step.writes.begin(), step.writes.end());
    }
  }

  void add_check(const Group& g) {
    const int indices = on_host(g.params[0]);
    Step step;
    step.kind = Step::Kind::CheckIndices, step.kernel = static_cast<uint32_t>(out_.index_checks.size());
    step.args = {indices}, step.reads = {stored_in(out_.arrays, indices)}, step.sizes = g.check->extents;
    out_.index_checks.push_back(g.check->meaning);
    out_.index_checks.back().rows = out_.arrays[indices].rows;
    out_.steps.push_back(std::move(step));
  }

  void add_opaque(const Group& g) {
    Step step;
    step.kind = g.transfer ? Step::Kind::Copy : Step::Kind::External;
    step.args = step.reads = g.params, step.writes = g.outputs;
    step.args.insert(step.args.end(), g.outputs.begin(), g.outputs.end());
    if (g.external) step.kernel = static_cast<uint32_t>(out_.externals.size()), out_.externals.push_back(g.external);
    out_.steps.push_back(std::move(step));
  }

  // The array in the host's memory: itself, or a temporary to which a step copies it.
  int on_host(int array) {
    if (out_.arrays[array].memory == host_memory) return array;
    const auto [known, fresh] = on_host_.try_emplace(array, static_cast<int>(out_.arrays.size()));
    if (!fresh) return known->second;
    Array copy;
    copy.name = out_.arrays[array].name, copy.dtype = out_.arrays[array].dtype, copy.shape = out_.arrays[array].shape;
    copy.rows = out_.arrays[array].rows;
    copy.layout =
        out_.arrays[array].view ? Layout::row_major(static_cast<int>(copy.shape.size())) : out_.arrays[array].layout;
    add_array(std::move(copy));
    Step step;
    step.kind = Step::Kind::Copy, step.args = {array, known->second};
    step.reads = {stored_in(out_.arrays, array)}, step.writes = {known->second};
    out_.steps.push_back(std::move(step));
    return known->second;
  }

  Status lower_group(const Group& g) {
    if (g.check) return add_check(g), ok();
    if (g.is_opaque()) return add_opaque(g), ok();
    ScheduleDraft draft;
    draft.target = &options_.target;
    draft.set_outputs(g.te.outputs);
    draft.form = g.form;
    draft.streams_weights = streams_weights_;
    draft.is_step = g.steps.has_value();
    std::unordered_map<std::string, int> array_of;  // by te name
    auto place = [&](const te::Tensors& tensors, const std::vector<int>& arrays) {
      for (size_t i = 0; i < tensors.size(); ++i) {
        array_of[tensors[i]->name] = arrays[i];
        draft.layouts[tensors[i]->name] = layout_in(g, tensors[i], arrays[i]);
      }
    };
    auto read = [&](const te::Tensors& tensors, const std::vector<int>& arrays) {
      place(tensors, arrays);
      for (size_t i = 0; i < tensors.size(); ++i) {
        if (!is_packable(arrays[i])) continue;
        draft.constants.insert(tensors[i]->name);
        if (const Tensor& value = out_.arrays[arrays[i]].value) draft.values[tensors[i]->name] = value;
        if (auto known = requested_layouts_.find(arrays[i]); known != requested_layouts_.end())
          draft.stored_layouts.emplace(tensors[i]->name, known->second);
      }
    };
    read(g.te.params, g.params);
    te::Tensors constants;
    for (const auto& [placeholder, value] : g.te.constants) constants.push_back(placeholder);
    read(constants, g.constants);
    place(g.te.outputs, g.outputs);
    const std::string name = unique_group_name(g.te.name);
    std::vector<OutputLayout> layouts;
    for (size_t o = 0; o < g.outputs.size(); ++o)
      layouts.push_back({g.te.outputs[o]->shape.size(), layout_in(g, g.te.outputs[o], g.outputs[o])});
    RELAY_ASSIGN(ScheduledGroup scheduled, schedule_group(draft, layouts, name, options_, known_));
    if (scheduled.refusal) out_.refusals.push_back(*scheduled.refusal);
    if ((failed_algorithm_ = scheduled.failed_algorithm)) return ok();
    draft = std::move(scheduled.draft);
    const te::Tensors& stages = scheduled.stages;
    const std::vector<BuiltKernel>& built = scheduled.kernels;
    // The stages that represent outputs, by position: rules may put copies in front.
    for (size_t o = 0; o < draft.outputs().size(); ++o) array_of[draft.outputs()[o]->name] = g.outputs[o];
    for (const std::string& c : draft.constants)
      if (auto at = array_of.find(c); at != array_of.end()) {
        requested_layouts_.try_emplace(at->second, draft.layouts.at(c));
        RELAY_ASSIGN(at->second, packed(g, at->second, draft.layouts.at(c)));
      }

    std::map<std::string, KernelFlops> flops = kernel_flops(stages, draft.schedule, options_.target);
    add_lowered(g, name, stages, draft, flops);
    out_.groups.back().key = std::move(scheduled.key), out_.groups.back().tuned = scheduled.tuned;
    StepsBuilder steps(g);
    for (const BuiltKernel& b : built) {
      te::Tensors results = b.secondary_roots;
      results.push_back(b.root);
      for (const te::Tensor& t : results) {
        if (array_of.count(t->name)) continue;
        Array a;  // an intermediate of this group
        a.name = format("{}.{}", name, t->name), a.shape = t->shape, a.dtype = t->dtype;
        a.layout = draft.layouts.at(t->name);
        a.memory = out_.arrays[g.outputs[0]].memory;
        array_of[t->name] = add_array(std::move(a));
      }
      if (!g.steps || !steps.take(b, array_of.at(b.root->name)))
        add_step(b, results, array_of, flops[b.root->name], g.when);
    }
    if (g.steps) add_recurrence(g, steps, name, array_of, flops);
    return ok();
  }

  // Adds a call of the kernel, which writes `results`; conditional on the array `when`, or unconditional if that is -1.
  void add_step(const BuiltKernel& b, const te::Tensors& results, const std::unordered_map<std::string, int>& array_of,
                const KernelFlops& flops, int when) {
    Step step;
    step.kernel = add_kernel(b.kernel, b.text);
    step.group = static_cast<int>(out_.groups.size()) - 1;
    step.flops = flops.known, step.symbolic_flops = flops.symbolic;
    step.sizes = b.kernel.shape_vars;
    step.constant = true;
    for (const te::Tensor& p : b.params) {
      int id = array_of.at(p->name);
      step.args.push_back(id);
      const bool written = std::find(results.begin(), results.end(), p) != results.end();
      (written ? step.writes : step.reads).push_back(stored_in(out_.arrays, id));
      if (!written) step.constant &= is_constant_[id];
    }
    // A copy of a constant into a part is not constant, since the rest of the array is computed in each run. Nor is one
    // whose place others take.
    for (const te::Tensor& t : results) {
      const Array& made = out_.arrays[array_of.at(t->name)];
      step.constant &= made.kind == Array::Kind::Temporary && !made.view && step.sizes.empty() &&
                       !is_shared_.contains(array_of.at(t->name));
    }
    for (const te::Tensor& t : results) {
      const int result = stored_in(out_.arrays, array_of.at(t->name));
      if (step.constant) is_constant_[result] = true;
      if (out_.arrays[result].layout.has_halo() && with_halo_.insert(result).second) add_halo(result, step);
    }
    if (when >= 0 && !step.constant) {
      const int condition = on_host(when);
      step.kind = Step::Kind::KernelWhen;
      step.args.push_back(condition), step.reads.push_back(stored_in(out_.arrays, condition));
    }
    out_.steps.push_back(std::move(step));
  }

  // The group as reported to users.
  void add_lowered(const Group& g, const std::string& name, const te::Tensors& stages, const ScheduleDraft& draft,
                   const std::map<std::string, KernelFlops>& flops) {
    LoweredGroup group;
    group.name = name, group.stages = stages, group.rule = draft.schedule.rule;
    group.schedule = str(draft.schedule, stages), group.sources = g.te.sources, group.choices = draft.choices.all;
    if (g.form.schedule && draft.used.count(g.form.schedule->rule))  // its loops may have another form
      group.algorithm = g.form.schedule->rule, group.gain = g.form.gain;
    for (const auto& [kernel, count] : flops) group.flops += count.known;
    out_.groups.push_back(std::move(group));
  }

  // The layout of a tensor of the group in an array, which may hold all values of a state.
  Layout layout_in(const Group& g, const te::Tensor& tensor, int array) const {
    const size_t rank = tensor->shape.size();
    return g.steps && rank + 1 == out_.arrays[array].shape.size() ? Layout::row_major(static_cast<int>(rank))
                                                                  : out_.arrays[array].layout;
  }

  void add_recurrence(const Group& g, const StepsBuilder& steps, const std::string& name,
                      const std::unordered_map<std::string, int>& array_of,
                      const std::map<std::string, KernelFlops>& flops) {
    double of_step = 0;
    for (const auto& [root, own] : flops) of_step += own.known;
    std::vector<RecurrenceKernel> kernels;
    if (steps.is_worth_sharing(options_.target, out_.arrays, array_of, of_step))
      kernels = steps.separate_kernels(name, out_.arrays, array_of);
    else
      kernels.push_back(steps.single_kernel(name, out_.arrays, array_of));
    Repeat repeat{.times = g.steps->count};
    for (RecurrenceKernel& made : kernels) {
      Step step;
      step.args = made.args, step.recurrence = true;
      for (int a : made.args) step.reads.push_back(stored_in(out_.arrays, a));
      for (int a : made.written) step.writes.push_back(stored_in(out_.arrays, a));
      step.sizes = made.kernel.shape_vars;
      if (made.repeated) {
        step.sizes[0] = scalar::imm(0);
        if (repeat.count++ == 0) repeat.first = static_cast<uint32_t>(out_.steps.size());
      }
      step.kernel = add_kernel(std::move(made.kernel));
      step.group = static_cast<int>(out_.groups.size()) - 1;
      for (const std::string& root : made.roots) add_flops(step, flops.at(root), g.steps->count);
      out_.steps.push_back(std::move(step));
    }
    if (repeat.count > 0) out_.repeats.push_back(std::move(repeat));
  }

  // Adds the operations of a kernel in `times` steps of a recurrence; the group already has those of one step.
  void add_flops(Step& step, const KernelFlops& own, const Expr& times) {
    double& of_group = out_.groups.back().flops;
    if (scalar::is_int(times)) {
      step.flops += own.known * static_cast<double>(times->ivalue);
      of_group += own.known * static_cast<double>(times->ivalue - 1);
    } else if (own.known > 0) {
      step.symbolic_flops.push_back({own.known, times});
      of_group -= own.known;
    }
    for (const SymbolicFlops& s : own.symbolic) step.symbolic_flops.push_back({s.each, s.times * times});
  }

  void add_halo(int array, const Step& writer) {
    const Array& a = out_.arrays[array];
    loop::Kernel k = halo_kernel(a.shape, a.dtype, a.layout, options_.target, options_.injected_bug);
    Step step;
    step.sizes = k.shape_vars;
    step.kernel = add_kernel(k);
    step.args = step.writes = {array};
    step.group = writer.group, step.constant = writer.constant;  // whichever step writes it
    out_.steps.push_back(std::move(step));
  }

  uint32_t add_kernel(loop::Kernel k) {
    const std::string text = loop::text_without_name(k);
    return add_kernel(std::move(k), text);
  }

  // Equal kernels, which differ only in name, are compiled once.
  uint32_t add_kernel(loop::Kernel k, const std::string& text) {
    auto [name, fresh] = names_.kernel_of_text.try_emplace(text);
    if (fresh) {
      int n = names_.kernels[k.name]++;
      name->second = n ? format("{}_{}", k.name, n) : k.name;
      while (n && names_.kernels.count(name->second)) name->second += "_";
      names_.kernels[name->second]++;
    }
    auto [it, first] = kernels_.try_emplace(name->second, static_cast<uint32_t>(out_.kernels.size()));
    if (first) {
      k.name = name->second;
      out_.kernels.push_back(std::move(k));
      if (fresh && options_.take_kernel) options_.take_kernel(out_.kernels.back(), text);
    }
    return it->second;
  }

  const LowerOptions& options_;
  LoweredFunction& out_;
  FunctionPlan plan_;
  std::vector<bool> is_constant_;
  bool streams_weights_ = false;
  std::optional<Rule> failed_algorithm_;
  KnownSchedules known_;
  std::map<std::pair<int, std::string>, int> packed_;
  std::map<int, Layout> requested_layouts_;  // by constant: the layout that the first group requested
  std::set<int> is_shared_;                  // arrays that hold others
  std::set<int> with_halo_;                  // arrays whose halo is written, by a step before the first writer
  std::map<int, int> on_host_;               // by array on another device: its copy
  LowerNames own_names_;
  LowerNames& names_;
  std::unordered_map<std::string, uint32_t> kernels_;  // of this function, by name
};

}  // namespace

Status check_schedules(const std::map<std::string, std::string>& schedules, const std::vector<LoweredFunction>& all) {
  std::vector<std::string> names;
  for (const LoweredFunction& f : all)
    for (const LoweredGroup& g : f.groups) names.push_back(g.name);
  for (const auto& [name, text] : schedules) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    std::optional<std::string> near = nearest(name, names);
    return Diagnostic{DiagnosticKind::illegal_schedule,
                      format("a schedule is given for '{}', but no group has this name", name),
                      {},
                      {},
                      {},
                      near ? format("did you mean '{}'?", *near) : format("the groups are: {}", join(names, ", "))};
  }
  return ok();
}

// Lowers with the algorithms that options.without leaves.
static Result<LoweredFunction> lower_with_algorithms(const ir::FunctionRef& function, const std::string& name,
                                                     const LowerOptions& options, LowerNames* names,
                                                     std::optional<Rule>& failed_algorithm) {
  LoweredFunction out;
  out.name = name;
  for (const ir::VarRef& p : function->params) {
    ir::Type type = p->type ? p->type : p->annotation;
    out.input_names.push_back(p->name);
    out.input_types.push_back(type);
    if (const ir::TensorType* t = ir::as<ir::TensorType>(type))
      for (const Expr& e : t->shape)
        for (const Expr& v : scalar::free_vars(e))
          if (std::find(out.shape_vars.begin(), out.shape_vars.end(), v) == out.shape_vars.end())
            out.shape_vars.push_back(v);
  }
  if (options.calls) out.shape_vars.push_back(options.calls);
  out.output_type = function->body->type;
  Lowering lowering(options, out, names);
  RELAY_RETURN_IF_ERROR(lowering.run(function));
  failed_algorithm = lowering.failed_algorithm();
  if (!names && !failed_algorithm) RELAY_RETURN_IF_ERROR(check_schedules(options.schedules, {out}));
  return out;
}

Result<LoweredFunction> lower(const ir::FunctionRef& function, const std::string& name, const LowerOptions& options,
                              LowerNames* names) {
  LowerOptions narrowed = options;
  std::vector<Refusal> refusals;
  for (;;) {
    std::optional<Rule> failed_algorithm;
    RELAY_ASSIGN(LoweredFunction out, lower_with_algorithms(function, name, narrowed, names, failed_algorithm));
    refusals.insert(refusals.end(), out.refusals.begin(), out.refusals.end());
    if (!failed_algorithm) {
      out.refusals = std::move(refusals);
      if (!options.calls) out.conditions = op::conditions_of(function->body);
      return out;
    }
    narrowed.without.insert(*failed_algorithm);
  }
}

}  // namespace relay::lower
