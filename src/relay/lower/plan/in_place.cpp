#include "relay/lower/plan/in_place.h"

#include <algorithm>
#include <set>

#include "relay/lower/group/facts.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

namespace {

// The data of for i0 in 0..n { .. result[i0, ..] = data[i0, ..] }, over all elements of a task.
te::Tensor copied(const te::TensorNode& stage, loop::Stmt s) {
  std::vector<std::pair<Expr, Expr>> loops;  // variables and extents
  for (; s->kind == loop::StmtKind::For && s->for_kind == loop::ForKind::Serial; s = s->body[0]) {
    if (!scalar::is_int(s->min, 0)) return {};
    loops.emplace_back(s->var, s->extent);
  }
  if (s->kind != loop::StmtKind::Store || s->condition || s->buffer != stage.result) return {};
  if (s->value->kind != scalar::Kind::Load || s->value->args.size() != s->indices.size()) return {};
  const te::Tensor data(dynamic_cast<const te::TensorNode*>(s->value->source.get()));
  if (!data || !data->is_placeholder() || data->dtype != stage.dtype || data->shape.size() != stage.shape.size())
    return {};
  const std::set<size_t> batch(stage.batch_axes.begin(), stage.batch_axes.end());
  for (size_t d = 0; d < s->indices.size(); ++d) {
    if (!scalar::equal(s->indices[d], s->value->args[d])) return {};
    if (!scalar::prove_equal(data->shape[d], stage.shape[d]).value_or(false)) return {};
    if (batch.count(d) && s->indices[d] == stage.axes[d].var) continue;
    const auto loop = std::find_if(loops.begin(), loops.end(), [&](const auto& l) { return l.first == s->indices[d]; });
    if (loop == loops.end() || !scalar::prove_equal(loop->second, stage.shape[d]).value_or(false)) return {};
    loops.erase(loop);
  }
  const bool all = std::all_of(loops.begin(), loops.end(), [](const auto& l) { return scalar::is_int(l.second, 1); });
  return all ? data : te::Tensor();
}

class Taker {
 public:
  explicit Taker(FunctionPlan& plan)
      : plan_(plan),
        last_reader_(plan.arrays.size(), -1),
        writer_(plan.arrays.size(), -1),
        written_(plan.arrays.size(), 0),
        is_returned_(plan.arrays.size(), false) {
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
      const Group& group = plan_.groups[g];
      std::set<const te::TensorNode*> read;
      for (const te::Tensor& t : te::topological(group.te.outputs)) read.insert(t.get());
      for (size_t p = 0; p < group.params.size(); ++p)  // for some, only the shape is read
        if (group.check || read.count(group.te.params[p].get()))
          last_reader_[at(group.params[p])] = static_cast<int>(g);
      if (group.when >= 0) last_reader_[at(group.when)] = static_cast<int>(g);
      for (int o : group.outputs) writer_[at(o)] = static_cast<int>(g), ++written_[at(o)];
    }
    for (const Array& a : plan_.arrays)
      if (a.alias >= 0) is_returned_[at(a.alias)] = true;
  }

  void run() {
    for (size_t a = 0; a < plan_.arrays.size(); ++a)
      if (plan_.arrays[a].kind == Array::Kind::Output && plan_.arrays[a].alias < 0) take(static_cast<int>(a));
    for (size_t a = 0; a < plan_.arrays.size(); ++a)
      if (plan_.arrays[a].kind == Array::Kind::Input && !taken_.count(static_cast<int>(a)))
        plan_.not_in_place.emplace(static_cast<int>(plan_.arrays[a].index), reason(static_cast<int>(a)));
  }

 private:
  static size_t at(int array) { return static_cast<size_t>(array); }
  Array& array(int a) { return plan_.arrays[at(a)]; }

  // A group's result and the array that it may overwrite.
  struct Made {
    size_t group;
    int of;
    std::optional<Update> update;
  };

  // For `result`, which is to share the storage of `output`.
  std::optional<Made> made(int result, int output) {
    if (written_[at(result)] != 1) return std::nullopt;
    const size_t g = static_cast<size_t>(writer_[at(result)]);
    const Group& group = plan_.groups[g];
    if (group.when >= 0 || group.check || group.form.schedule) return std::nullopt;
    const auto own = std::find(group.outputs.begin(), group.outputs.end(), result);
    const size_t output_of_group = static_cast<size_t>(own - group.outputs.begin());
    if (own == group.outputs.end()) return std::nullopt;
    std::optional<Update> update = update_of(group.te);
    for (size_t p = 0; p < group.params.size(); ++p) {
      if (update ? update->param != p : !reads_by_elements(group.te, p, output_of_group)) continue;
      if (may_lie_in(group.params[p], output, group, g)) return Made{g, group.params[p], std::move(update)};
    }
    return std::nullopt;
  }

  bool may_lie_in(int of, int output, const Group& group, size_t g) {
    const Array &a = array(of), &r = array(output);
    if (a.dtype != r.dtype || a.shape.size() != r.shape.size() || a.view) return false;
    for (size_t d = 0; d < a.shape.size(); ++d)
      if (!scalar::prove_equal(a.shape[d], r.shape[d]).value_or(false)) return false;
    auto blocked = [&](std::string why) { return why_.emplace(of, std::move(why)), false; };
    if (!a.layout.is_row_major() || !r.layout.is_row_major()) return blocked("it is stored in another order");
    if (is_returned_[at(of)]) return blocked("it is a result itself");
    if (taken_.count(of)) return blocked("another result uses its storage");
    if (last_reader_[at(of)] > static_cast<int>(g))
      return blocked(format("`{}` reads it after `{}` has computed the result",
                            plan_.groups[static_cast<size_t>(last_reader_[at(of)])].te.name, group.te.name));
    if (std::count(group.params.begin(), group.params.end(), of) != 1)
      return blocked(format("`{}` also reads it at other positions", group.te.name));
    return a.kind == Array::Kind::Input || a.kind == Array::Kind::Temporary;
  }

  void take(int output) {
    std::vector<Made> chain;  // from the output to the input
    for (int now = output;;) {
      std::optional<Made> m = made(now, output);
      if (!m) return;
      now = m->of;
      chain.push_back(std::move(*m));
      if (array(now).kind == Array::Kind::Input) break;
    }
    const int input = chain.back().of;
    taken_.insert(input);
    array(output).in_place = runtime::InPlace{array(input).index, chain.back().update.has_value()};
    for (const Made& m : chain) {
      if (m.update) plan_.groups[m.group].te.outputs[0] = m.update->changes;
      if (m.of != input) array(m.of).view = ArrayView{output, 0, 0};
    }
  }

  std::string reason(int input) {
    if (is_returned_[at(input)]) return "it is a result itself";
    if (auto why = why_.find(input); why != why_.end()) return why->second;
    for (const Array& a : plan_.arrays) {
      if (a.kind != Array::Kind::Output || a.dtype != array(input).dtype || a.shape.size() != array(input).shape.size())
        continue;
      bool same = true;
      for (size_t d = 0; d < a.shape.size(); ++d)
        same &= scalar::prove_equal(a.shape[d], array(input).shape[d]).value_or(false);
      if (same) return "no result is computed from it element by element, or by changing some of its elements";
    }
    return "no result has its type and shape";
  }

  FunctionPlan& plan_;
  std::vector<int> last_reader_, writer_, written_;  // by array: groups, and number of writers
  std::vector<bool> is_returned_;
  std::set<int> taken_;
  std::map<int, std::string> why_;  // by array
};

}  // namespace

std::optional<Update> update_of(const GroupTe& group) {
  if (group.outputs.size() != 1 || !group.outputs[0]->is_program()) return std::nullopt;
  const te::TensorNode& stage = *group.outputs[0];
  if (stage.program->kind != loop::StmtKind::Block || stage.program->body.empty()) return std::nullopt;
  const te::Tensor data = copied(stage, stage.program->body[0]);
  const auto param = std::find(group.params.begin(), group.params.end(), data);
  if (!data || param == group.params.end()) return std::nullopt;
  te::TensorNode* changes = new te::TensorNode(stage);
  const te::Tensor made(changes);
  changes->program = loop::block(loop::Stmts(stage.program->body.begin() + 1, stage.program->body.end()));
  for (const te::Tensor& t : te::topological({made}))
    if (t == data) return std::nullopt;  // its reads come before its changes
  return Update{static_cast<size_t>(param - group.params.begin()), made};
}

bool reads_by_elements(const GroupTe& group, size_t param, size_t output) {
  const te::Tensor& result = group.outputs[output];
  std::set<const te::TensorNode*> made_of{group.params[param].get()};
  for (const te::Tensor& t : te::topological(group.outputs)) {
    if (t->is_placeholder()) continue;
    for (const te::Tensor& in : te::inputs(t)) {
      if (!made_of.count(in.get()) || in == result) continue;  // elements of the result are read as stored
      if (!reads_pointwise(t, in)) return false;
      made_of.insert(t.get());
    }
  }
  for (const te::Tensor& other : group.outputs)
    if (other != result && made_of.count(other.get())) return false;
  return made_of.count(result.get()) > 0;
}

void find_in_place_outputs(FunctionPlan& plan) { Taker(plan).run(); }

}  // namespace relay::lower
