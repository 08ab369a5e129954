#include "relay/lower/plan/recurrence.h"

#include <algorithm>

#include "relay/lower/group/facts.h"
#include "relay/lower/plan/join.h"
#include "relay/scalar/simplify.h"
#include "relay/te/recurrence.h"

namespace relay::lower {

bool has_recurrence(const te::Tensors& outputs) {
  const te::Tensors stages = te::topological(outputs);
  return std::any_of(stages.begin(), stages.end(),
                     [](const te::Tensor& t) { return te::as_recurrence(*t) != nullptr; });
}

namespace {

using Replacements = std::vector<std::pair<te::Tensor, te::Tensor>>;

class Splitter {
 public:
  Splitter(FunctionPlan& plan, Group group, std::vector<Group>& out) : plan_(plan), g_(std::move(group)), out_(out) {}

  void run() {
    while (first_recurrence()) {
      while (const te::Tensor shared = read_twice(first_recurrence())) compute({shared});
      compute(te::inputs(first_recurrence()));
      take_steps(first_recurrence());
    }
    for (size_t o = 0; o < g_.te.outputs.size(); ++o) add_part(g_.te.name, g_.te.outputs[o], g_.outputs[o]);
  }

 private:
  te::Tensor first_recurrence() const {
    for (const te::Tensor& t : te::topological(g_.te.outputs))
      if (te::as_recurrence(*t)) return t;
    return {};
  }

  void add_part(const std::string& name, const te::Tensor& result, int array) {
    Group part = part_of(g_, name, {result});
    make_names_unique(part.te);
    part.outputs = {array};
    out_.push_back(std::move(part));
  }

  // A parameter of the rest of the group, which is in `array`.
  te::Tensor parameter(const te::Tensor& like, int array) {
    const te::Tensor p = te::placeholder(like->name, like->shape, like->dtype);
    g_.te.params.push_back(p), g_.params.push_back(array);
    return p;
  }

  // The first stage with several readers among those that a recurrence reads: both directions of a layer read the
  // results of the previous one.
  te::Tensor read_twice(const te::Tensor& recurrence) const {
    const Consumers consumers = consumers_of(te::topological(g_.te.outputs));
    for (const te::Tensor& t : te::topological(te::inputs(recurrence)))
      if (!t->is_placeholder() && consumers.at(t.get()).size() > 1) return t;
    return {};
  }

  // A separate group for each.
  void compute(const te::Tensors& stages) {
    Replacements now;
    for (const te::Tensor& t : stages) {
      if (t->is_placeholder()) continue;
      const int array = add_array(plan_, Array::Kind::Temporary, t->name, t->shape, t->dtype);
      add_part(short_name(g_.te.name + "_" + t->name), t, array);
      now.push_back({t, parameter(t, array)});
    }
    g_.te.outputs = te::replace(g_.te.outputs, now);
  }

  int array_of(const te::Tensor& placeholder) const {
    for (size_t p = 0; p < g_.te.params.size(); ++p)
      if (g_.te.params[p] == placeholder) return g_.params[p];
    for (size_t c = 0; c < g_.te.constants.size(); ++c)
      if (g_.te.constants[c].first == placeholder) return g_.constants[c];
    RELAY_CHECK(false, "{} is not an array of the group {}", placeholder->name, g_.te.name);
    return -1;
  }

  void take_steps(const te::Tensor& recurrence) {
    const te::Recurrence& r = *te::as_recurrence(*recurrence);
    std::vector<int> arrays;
    for (size_t s = 0; s < r.initial.size(); ++s) {
      Exprs shape = r.initial[s]->shape;
      shape.insert(shape.begin(), r.steps + 1);
      arrays.push_back(add_array(plan_, Array::Kind::Temporary, r.initial[s]->name, shape, r.initial[s]->dtype));
    }
    Group steps = part_of(g_, short_name(g_.te.name + "_steps"), r.after);
    steps.steps = GroupSteps{r.step, scalar::simplify(r.steps), {}};
    for (const te::Tensor& t : r.initial) steps.steps->initial.push_back(array_of(t));
    steps.te.params.insert(steps.te.params.end(), r.before.begin(), r.before.end());
    steps.params.insert(steps.params.end(), arrays.begin(), arrays.end());
    steps.outputs = arrays;
    make_names_unique(steps.te);
    out_.push_back(std::move(steps));

    Replacements now;
    for (const te::Tensor& t : te::topological(g_.te.outputs))
      if (const te::StateNode* state = te::as_state(*t); state && state->of == recurrence)
        now.push_back({t, parameter(t, arrays[state->state])});
    g_.te.outputs = te::replace(g_.te.outputs, now);
  }

  FunctionPlan& plan_;
  Group g_;
  std::vector<Group>& out_;
};

}  // namespace

void split_recurrences(FunctionPlan& plan) {
  std::vector<Group> groups;
  for (Group& g : std::exchange(plan.groups, {})) {
    if (!g.check && has_recurrence(g.te.outputs))
      Splitter(plan, std::move(g), groups).run();
    else
      groups.push_back(std::move(g));
  }
  plan.groups = std::move(groups);
}

}  // namespace relay::lower
