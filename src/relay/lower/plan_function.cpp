#include "relay/lower/plan_function.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "relay/ir/rewrite.h"
#include "relay/lower/algorithms/algorithm.h"
#include "relay/lower/assign_devices.h"
#include "relay/lower/group/facts.h"
#include "relay/lower/plan/batch.h"
#include "relay/lower/plan/check_indices.h"
#include "relay/lower/plan/external.h"
#include "relay/lower/plan/in_place.h"
#include "relay/lower/plan/join.h"
#include "relay/lower/plan/recurrence.h"
#include "relay/lower/plan/views.h"
#include "relay/machine/instruction.h"
#include "relay/scalar/simplify.h"
#include "relay/transform/attributes.h"
#include "relay/transform/partition/devices.h"

namespace relay::lower {

namespace {

class Planner {
 public:
  explicit Planner(const LowerOptions& options) : options_(options) {}
  Result<FunctionPlan> run(const ir::FunctionRef& function) {
    function_ = function;
#define RELAY_PLAN_STEP(name, purpose) RELAY_RETURN_IF_ERROR(timed(#name, purpose, [&] { return name(); }));
#include "relay/lower/plan/steps.def"
#undef RELAY_PLAN_STEP
    return std::move(plan_);
  }

 private:
  // --- the steps of steps.def ----------------------------------------------------------------------------------------
  Status form_groups() {
    const ir::FunctionRef& function = function_;
    for (size_t i = 0; i < function->params.size(); ++i)
      RELAY_RETURN_IF_ERROR(add_input(function->params[i], static_cast<int>(i)));
    ir::Expr body = function->body;
    while (const ir::Let* let = ir::as<ir::Let>(body)) {
      RELAY_RETURN_IF_ERROR(visit(let->value));
      values_[let->var.get()] = values_.at(let->value.get());
      body = let->body;
    }
    RELAY_RETURN_IF_ERROR(visit(body));
    add_outputs(values_.at(body.get()));
    return ok();
  }
  void join_groups() { apply_algorithms(plan_, options_, Point::BeforeOrders); }
  // The places of windows are known now; halos are chosen later, since whole tiles read further.
  void give_forms() { apply_algorithms(plan_, options_, Point::AfterOrders); }
  void merge_groups() { apply_algorithms(plan_, options_, Point::Last); }
  void find_in_place() {
    if (!options_.calls) find_in_place_outputs(plan_);
  }
  void order_for_devices() { lower::order_for_devices(plan_, options_); }
  void make_views() {
    int64_t alignment = 1;
    for (const machine::CopyInstruction& i : machine::copy_instructions())
      if (machine::find_copy_instruction(options_.target, i.bytes).instruction)
        alignment = std::max<int64_t>(alignment, i.bytes);
    lower::make_views(plan_, alignment);
  }
  void copy_indices() { copy_checked_indices(plan_); }
  void copy_opaque() { copy_opaque_arrays(plan_); }
  void split_recurrences() { lower::split_recurrences(plan_); }
  Status place_on_devices() { return assign_devices(plan_, options_); }

  template <class Step>
  Status timed(const char* name, const char* purpose, Step&& step) {
    const auto begin = std::chrono::steady_clock::now();
    if constexpr (std::is_void_v<decltype(step())>)
      step();
    else
      RELAY_RETURN_IF_ERROR(step());
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    if (options_.trace_plan) options_.trace_plan({name, purpose, seconds.count(), plan_});
    return ok();
  }

  int new_array(Array::Kind kind, std::string name, const Exprs& shape, DType dtype) {
    return add_array(plan_, kind, std::move(name), shape, dtype);
  }

  Status add_input(const ir::VarRef& param, int index) {
    ir::Type type = param->type ? param->type : param->annotation;
    const ir::TensorType* t = ir::as<ir::TensorType>(type);
    if (!t)
      return Diagnostic{DiagnosticKind::not_supported,
                        format("parameter %{} has the type {}; compiled functions take tensors", param->name,
                               type ? ir::str(type) : "?"),
                        param->span,
                        {},
                        {},
                        "pass the tensors one by one, or use the debug executor"};
    const Exprs shape = options_.calls ? with_rows(t->shape, options_.calls) : t->shape;
    int id = new_array(Array::Kind::Input, param->name, shape, t->dtype);
    plan_.arrays[id].index = static_cast<uint32_t>(index);
    if (options_.calls) plan_.arrays[id].rows = rows_for(t->shape);
    values_[param.get()] = {id};
    return ok();
  }

  Status visit(const ir::Expr& root) {
    // Post-order, each shared node once; the bodies of primitive functions belong to their groups and are not entered.
    std::vector<std::pair<ir::Expr, bool>> work{{root, false}};
    while (!work.empty()) {
      auto [e, expanded] = work.back();
      work.pop_back();
      if (values_.count(e.get())) continue;
      if (!expanded && !ir::as<ir::Function>(e)) {
        work.push_back({e, true});
        size_t first = work.size();
        ir::for_each_child(e, [&](const ir::Expr& child) { work.push_back({child, false}); });
        std::reverse(work.begin() + static_cast<int64_t>(first), work.end());
        continue;
      }
      RELAY_RETURN_IF_ERROR(add(e));
    }
    return ok();
  }

  // The number of tensors in a value, in tuples or alone.
  static size_t tensors_of(const ir::Type& type) {
    const ir::TupleType* tuple = ir::as<ir::TupleType>(type);
    if (!tuple) return 1;
    size_t count = 0;
    for (const ir::Type& field : tuple->fields) count += tensors_of(field);
    return count;
  }

  Status add(const ir::Expr& e) {
    if (const ir::Constant* c = ir::as<ir::Constant>(e)) {
      Exprs shape;
      for (int64_t x : c->value.shape()) shape.push_back(scalar::imm(x));
      int id = new_array(Array::Kind::Constant, format("constant_{}", constants_++), shape, c->value.dtype());
      plan_.arrays[id].value = c->value;
      values_[e.get()] = {id};
    } else if (const ir::Tuple* t = ir::as<ir::Tuple>(e)) {
      std::vector<int> all;
      for (const ir::Expr& f : t->elements)
        all.insert(all.end(), values_.at(f.get()).begin(), values_.at(f.get()).end());
      values_[e.get()] = all;
    } else if (const ir::TupleGetItem* g = ir::as<ir::TupleGetItem>(e)) {
      const std::vector<int>& all = values_.at(g->tuple.get());
      const ir::Types& fields = ir::as<ir::TupleType>(g->tuple->type)->fields;
      size_t begin = 0, count = tensors_of(fields[static_cast<size_t>(g->index)]);
      for (int64_t k = 0; k < g->index; ++k) begin += tensors_of(fields[static_cast<size_t>(k)]);
      values_[e.get()] = std::vector<int>(all.begin() + static_cast<int64_t>(begin),
                                          all.begin() + static_cast<int64_t>(begin + count));
    } else if (const ir::Call* c = ir::as<ir::Call>(e)) {
      return add_group(*c);
    } else if (ir::as<ir::Op>(e) || ir::as<ir::Function>(e)) {
      values_[e.get()] = {};  // a callee; its call is the group
    } else if (const ir::Var* v = ir::as<ir::Var>(e)) {
      return Diagnostic{DiagnosticKind::not_supported,
                        format("%{} is bound inside an expression that cannot be compiled", v->name),
                        e->span,
                        {},
                        {},
                        "use the debug executor"};
    } else {
      return Diagnostic{DiagnosticKind::not_supported,
                        format("{} expressions cannot be compiled to kernels", ir::name(e->kind)),
                        e->span,
                        {},
                        {},
                        "use the debug executor (--executor debug)"};
    }
    return ok();
  }

  Status add_external(const ir::Call& call, const ExternalCall& external) {
    RELAY_CHECK(!options_.calls, "{} is called for several calls at once", external.code.symbol);
    Group g;
    for (const ir::Expr& a : external.args) {
      if (!values_.count(a.get())) RELAY_RETURN_IF_ERROR(add(a));  // a constant inside the call
      g.params.insert(g.params.end(), values_.at(a.get()).begin(), values_.at(a.get()).end());
    }
    g.te = opaque_stages(plan_, external, g.params);
    add_sources(g.te.sources, {call.span});
    g.external = std::make_shared<const ExternalCode>(external.code);
    for (const te::Tensor& t : g.te.outputs)
      g.outputs.push_back(new_array(Array::Kind::Temporary, g.te.name, t->shape, t->dtype));
    values_[&call] = g.outputs;
    plan_.groups.push_back(std::move(g));
    return ok();
  }

  Transfer transfer_of(const ir::Call& call) const {
    const ir::Call& copy = *transform::device_copy_of(call);
    auto index = [&](const char* side) {
      const std::string name = transform::attribute<std::string>(copy, side, "");
      const Result<std::optional<DeviceName>> device = transform::device_of(name, call.span);
      const auto at = std::find(options_.devices.begin(), options_.devices.end(),
                                device ? device->value_or(DeviceName()) : DeviceName());
      RELAY_CHECK(at != options_.devices.end(), "the program has no device {}", name);
      return static_cast<int>(at - options_.devices.begin());
    };
    return {index("src_virtual_device"), index("dst_virtual_device")};
  }

  // A copy to another device. Constants are wherever they are read, and need none.
  Status add_transfer(const ir::Call& call) {
    const std::vector<int> from = values_.at(call.args[0].get());
    if (options_.devices.size() == 1 || plan_.arrays[from.at(0)].kind == Array::Kind::Constant)
      return values_[&call] = from, ok();
    Group g;
    g.params = from;
    g.te = opaque_stages(plan_, "device_copy", call.type, g.params);
    add_sources(g.te.sources, {call.span});
    g.transfer = transfer_of(call);
    g.outputs = {new_array(Array::Kind::Temporary, g.te.name, g.te.outputs[0]->shape, g.te.outputs[0]->dtype)};
    values_[&call] = g.outputs;
    plan_.groups.push_back(std::move(g));
    return ok();
  }

  Status add_group(const ir::Call& call) {
    RELAY_ASSIGN(std::optional<ExternalCall> external, external_call(call, options_.externals));
    if (external) return add_external(call, *external);
    if (transform::device_copy_of(call)) return add_transfer(call);
    Group g;
    RELAY_ASSIGN(g.te, group_of(call));
    for (const ir::Expr& a : call.args)
      g.params.insert(g.params.end(), values_.at(a.get()).begin(), values_.at(a.get()).end());
    for (const auto& [placeholder, value] : g.te.constants) {
      int id =
          new_array(Array::Kind::Constant, format("constant_{}", constants_++), placeholder->shape, placeholder->dtype);
      plan_.arrays[id].value = value;
      g.constants.push_back(id);
    }
    // Checked values are computed like the outputs.
    for (const CheckedTe& c : g.te.checks)
      if (c.indices) g.te.outputs.push_back(c.indices);
    te::Tensors outputs = g.te.outputs;
    std::vector<bool> varies;
    for (int p : g.params) varies.push_back(plan_.arrays[p].rows != Rows::None);
    if (options_.calls) varies = batch(g.te, varies, options_.calls);
    size_t results = outputs.size();
    for (const CheckedTe& c : g.te.checks) results -= c.indices ? 1 : 0;
    te::Tensors indices(g.te.outputs.begin() + static_cast<int64_t>(results), g.te.outputs.end());
    std::vector<Rows> rows;
    for (size_t o = results; o < outputs.size(); ++o)
      rows.push_back(options_.calls && varies[o] ? rows_for(outputs[o]->shape) : Rows::None);
    add_index_checks(plan_, g, indices, rows);
    g.te.outputs.resize(results), g.te.checks.clear();
    for (size_t o = 0; o < results; ++o) {
      const te::Tensor& t = g.te.outputs[o];
      g.outputs.push_back(new_array(Array::Kind::Temporary, g.te.name, t->shape, t->dtype));
      if (options_.calls && varies[o]) plan_.arrays[g.outputs[o]].rows = rows_for(outputs[o]->shape);
    }
    // A small result without inputs, such as zeros, is computed when the program is built.
    if (g.params.empty())
      for (int o : g.outputs)
        if (is_small(plan_.arrays[o])) computed_ahead_.insert(o);
    if (std::all_of(g.params.begin(), g.params.end(), [&](int p) { return is_constant(p); }))
      made_of_constants_.insert(g.outputs.begin(), g.outputs.end());
    values_[&call] = g.outputs;
    plan_.groups.push_back(std::move(g));
    return ok();
  }

  bool is_constant(int array) const {
    return plan_.arrays[array].kind == Array::Kind::Constant || made_of_constants_.count(array);
  }

  void add_outputs(const std::vector<int>& results) {
    for (size_t i = 0; i < results.size(); ++i) {
      Array& a = plan_.arrays[results[i]];
      if (a.kind == Array::Kind::Temporary && !computed_ahead_.count(results[i])) {
        a.kind = Array::Kind::Output, a.index = static_cast<uint32_t>(i);
      } else {
        int id = new_array(Array::Kind::Output, format("output_{}", i), a.shape, a.dtype);
        plan_.arrays[id].index = static_cast<uint32_t>(i), plan_.arrays[id].alias = results[i];
        plan_.arrays[id].rows = plan_.arrays[results[i]].rows;
      }
    }
  }

  static bool is_small(const Array& a) {
    constexpr int64_t most = 4096;  // bytes: a page
    int64_t bytes = a.dtype.bytes();
    for (const Expr& e : a.shape)
      if (!scalar::is_int(e) || e->ivalue > most || (bytes *= e->ivalue) > most) return false;
    return true;
  }

  // The relation of the group to images: a convolution, a window over spatial dimensions, a reduction of all of them.
  // Channels are dimension 1, or the last one if dimension 1 has a window. A reduction of whole images runs along rows
  // or along channels, and follows its input.
  enum class Images : uint8_t { No, Whole, ChannelsFirst, ChannelsLast };
  static Images images_of(const Group& g) {
    if (g.form.schedule || has_program(g.te.outputs)) return Images::No;  // blocks of keys look like windows
    Schedule none;
    bool whole = false;
    te::Tensors stages = te::topological(g.te.outputs);
    for (const te::Tensor& t : stages)
      if (!t->is_placeholder()) {
        StageSchedule s;
        if (t->combiner != te::Combiner::None) s.place = Place::Root;
        none.stages[t->name] = s;
      }
    for (const te::Tensor& t : stages) {
      if (t->is_placeholder() || t->combiner == te::Combiner::None || t->axes.size() < 2) continue;
      Exprs vars;
      for (const te::Axis& a : t->axes) vars.push_back(a.var);
      for (const te::Axis& a : t->reduce_axes) vars.push_back(a.var);
      Images found = Images::No;
      scalar::visit(t->body, [&](const Expr& n) {
        if (n->kind != scalar::Kind::Load || n->args.size() < 3) return;
        size_t spatial_reduced = 0;
        bool first = false, window = false, last = false, channels = false;
        for (size_t d = 1; d < n->args.size(); ++d) {
          bool data = false, reduced = false;
          for (const Expr& v : scalar::free_vars(n->args[d])) (is_reduce_axis(*t, v->name) ? reduced : data) = true;
          last = data && reduced;
          if (d == 1) channels = reduced;
          (d == 1 ? first : window) |= last;
          spatial_reduced += d > 1 && reduced && !data;
        }
        bool all = n->args.size() >= 4 && spatial_reduced + 2 == n->args.size();
        if (found == Images::ChannelsLast) return;  // weights (o, ky, kx, c) look like images that are summed whole
        if (first && !last)
          found = Images::ChannelsLast;
        else if (window || (all && channels))
          found = Images::ChannelsFirst;
        else if (all && found == Images::No)
          found = Images::Whole;
      });
      whole |= found == Images::Whole;
      if (found == Images::ChannelsFirst || found == Images::ChannelsLast) return found;
    }
    return whole ? Images::Whole : Images::No;
  }

  // True if every load reads dimension d by axis d only, or a vector along one axis: storage order does not matter to
  // it.
  static bool keeps_dimensions(const Group& g) {
    for (const te::Tensor& t : te::topological(g.te.outputs)) {
      if (t->is_placeholder()) continue;
      if (t->is_program()) return false;
      bool keeps = true;
      scalar::visit(t->body, [&](const Expr& n) {
        if (n->kind != scalar::Kind::Load || n->args.size() < 3 || scalar::free_vars(n).size() < 2) return;
        if (n->args.size() != t->axes.size()) keeps = false;
        for (size_t d = 0; keeps && d < n->args.size(); ++d)
          for (const Expr& v : scalar::free_vars(n->args[d]))
            for (size_t a = 0; a < t->axes.size(); ++a) keeps &= !(t->axes[a].var == v) || a == d;
      });
      if (!keeps) return false;
    }
    return true;
  }

  // True if every same-rank load reads neighbouring channels for neighbouring channels, whatever it does with the other
  // dimensions: a depth_to_space of interleaved images, which lanes along rows would gather.
  static bool keeps_channels(const Group& g) {
    constexpr int64_t least = 8;  // with fewer, most lanes are empty
    for (const te::Tensor& t : te::topological(g.te.outputs)) {
      if (t->is_placeholder()) continue;
      if (t->is_program() || t->axes.size() < 3 || extent_or(t->axes[1], 0) < least) return false;
      const Expr channel = t->axes[1].var;
      bool keeps = true;
      scalar::visit(t->body, [&](const Expr& n) {
        if (n->kind != scalar::Kind::Load || n->args.size() != t->axes.size()) return;
        for (size_t d = 0; d < n->args.size(); ++d) {
          const std::optional<scalar::Affine> index = scalar::as_affine(n->args[d], {channel});
          keeps &= index && index->coefficients[0] == (d == 1 ? 1 : 0);
        }
      });
      if (!keeps) return false;
    }
    return true;
  }

  bool channels_last(int array) const {
    return plan_.arrays[array].layout.dims ==
               Layout::channels_last(static_cast<int>(plan_.arrays[array].shape.size())).dims &&
           plan_.arrays[array].shape.size() >= 3;
  }
  void set_channels_last(int array) {
    Array& a = plan_.arrays[array];
    if (is_constant(array)) return;  // a weight, whose layout kernels choose
    if (a.kind == Array::Kind::Temporary && a.shape.size() >= 3 && !plan_.by_channels.count(array))
      a.layout = Layout::channels_last(static_cast<int>(a.shape.size()));
  }

  void choose_order() {
    std::vector<Application> keep;
    for (const Algorithm* a : algorithms_at(Point::AtOrder, options_)) keep.emplace_back(plan_, options_, *a);
    for (size_t gi = 0; gi < plan_.groups.size(); ++gi) {
      Group& g = plan_.groups[gi];
      if (g.check || g.is_opaque()) continue;
      Images images = images_of(g);
      if (images == Images::Whole) {
        const bool given = std::any_of(g.params.begin(), g.params.end(), [&](int p) { return channels_last(p); });
        images = given ? Images::ChannelsFirst : Images::No;
      }
      g.on_images = images != Images::No;
      if (images == Images::ChannelsLast) continue;  // already stored so
      if (images == Images::ChannelsFirst &&
          std::any_of(keep.begin(), keep.end(), [gi](Application& a) { return a.at(gi); }))
        continue;
      g.prefers_channels_last = g.on_images;
      bool follows = false;
      if (!g.prefers_channels_last && (keeps_dimensions(g) || keeps_channels(g)))
        for (int p : g.params) follows |= channels_last(p);
      if (g.prefers_channels_last || follows) {
        g.prefers_channels_last = true;
        for (int o : g.outputs) set_channels_last(o);
      }
      if (g.on_images)
        for (int p : g.params) set_channels_last(p);
    }
  }

  // A reader's request: the halo of dimension d that its padding reaches.
  struct HaloRequest {
    size_t group;
    std::string stage;
    std::vector<int64_t> low, high;
    double value;
  };

  void choose_halos() {
    std::unordered_map<int, std::vector<HaloRequest>> wishes;
    for (size_t gi = 0; gi < plan_.groups.size(); ++gi) {
      const Group& g = plan_.groups[gi];
      for (const te::Tensor& t : te::topological(g.te.outputs)) {
        std::optional<Guarded> guard = guarded(*t);
        if (!guard) continue;
        for (size_t p = 0; p < g.params.size(); ++p) {
          if (guard->value->source.get() != static_cast<const scalar::Source*>(g.te.params[p].get())) continue;
          // A reader that prefers another order copies its data, and pads the copy.
          const int array = g.params[p];
          if ((plan_.by_channels.count(array) > 0) != g.form.by_channels) continue;
          std::optional<HaloRequest> w = halo_request(gi, *t, *guard, *g.te.params[p]);
          if (w && !reaches_other_views(array, *w)) wishes[stored_in(plan_.arrays, array)].push_back(*w);
        }
      }
    }
    for (auto& [array, all] : wishes) {
      Array& a = plan_.arrays[array];
      if (a.kind != Array::Kind::Temporary) continue;
      // The value that most readers request; the others keep their guards.
      double value = all[0].value;
      a.layout.low.assign(a.shape.size(), 0), a.layout.high.assign(a.shape.size(), 0), a.layout.halo_value = value;
      for (const HaloRequest& w : all) {
        if (w.value != value) continue;
        for (size_t d = 0; d < a.shape.size(); ++d) {
          a.layout.low[d] = std::max(a.layout.low[d], w.low[d]);
          a.layout.high[d] = std::max(a.layout.high[d], w.high[d]);
        }
        plan_.groups[w.group].form.reads_halo.insert(w.stage);
      }
      if (!a.layout.has_halo()) a.layout.low.clear(), a.layout.high.clear();
    }
  }

  // Another view may be where a part would have its halo.
  bool reaches_other_views(int array, const HaloRequest& w) const {
    for (const Array* a = &plan_.arrays[array]; a->view; a = &plan_.arrays[a->view->base])
      if (w.low[a->view->dim] || w.high[a->view->dim]) return true;
    return false;
  }

  void choose_row_padding() {
    for (const Group& g : plan_.groups) {
      if (!g.prefers_channels_last) continue;
      for (int p : g.params) {
        const int stored = stored_in(plan_.arrays, p);
        Array& a = plan_.arrays[stored];
        if (a.kind == Array::Kind::Temporary && channels_last(stored))
          a.layout.row_padding = row_padding_behind(a.shape[1], a.dtype);
      }
    }
  }

  void lay_out_views() {
    for (size_t a = 0; a < plan_.arrays.size(); ++a)
      if (plan_.arrays[a].view) plan_.arrays[a].layout = layout_of_view(plan_.arrays, static_cast<int>(a));
  }

  // padded[.., i, ..] = select(in range, data[.., i - low, ..], value), with constant halos.
  std::optional<HaloRequest> halo_request(size_t group, const te::TensorNode& padded, const Guarded& guard,
                                          const te::TensorNode& data) const {
    HaloRequest w{group, padded.name, {}, {}, guard.otherwise};
    if (padded.axes.size() != data.shape.size()) return std::nullopt;
    scalar::Bounds in_range;
    for (size_t d = 0; d < data.shape.size(); ++d) {
      Expr low = scalar::simplify(padded.axes[d].var - guard.value->args[d]);
      if (!scalar::is_int(low)) return std::nullopt;
      Expr high = scalar::simplify(padded.axes[d].extent - data.shape[d] - low);
      constexpr int64_t widest = 64;  // of padding in memory; wider padding is rare and unmeasured
      if (!scalar::is_int(high) || low->ivalue < 0 || high->ivalue < 0 || low->ivalue > widest || high->ivalue > widest)
        return std::nullopt;
      w.low.push_back(low->ivalue), w.high.push_back(high->ivalue);
      in_range.set_range(padded.axes[d].var, low, data.shape[d]);
    }
    // A guard that leaves out elements of the data, a triangle or a mask, is not padding.
    if (scalar::prove(guard.condition, in_range) != true) return std::nullopt;
    return w;
  }

  // A function's output is row-major; a group that prefers channels-last writes a temporary, and a copy follows.
  void split_outputs() {
    for (size_t gi = 0, n = plan_.groups.size(); gi < n; ++gi) {
      if (!plan_.groups[gi].prefers_channels_last) continue;
      for (size_t o = 0; o < plan_.groups[gi].outputs.size(); ++o) {
        int array = plan_.groups[gi].outputs[o];
        const Array& a = plan_.arrays[array];
        if (a.kind != Array::Kind::Output || a.shape.size() < 3) continue;
        bool one_channel = scalar::is_int(a.shape[1], 1), one_pixel = true;
        for (size_t d = 2; d < a.shape.size(); ++d) one_pixel &= scalar::is_int(a.shape[d], 1);
        if (one_channel || one_pixel) continue;
        int temporary = new_array(Array::Kind::Temporary, a.name, a.shape, a.dtype);
        set_channels_last(temporary);
        for (Group& g : plan_.groups) {
          std::replace(g.params.begin(), g.params.end(), array, temporary);
          std::replace(g.outputs.begin(), g.outputs.end(), array, temporary);
        }
        plan_.groups.push_back(copy_group(plan_.arrays, "to_row_major", plan_.groups[gi], temporary, array));
      }
    }
  }

  const LowerOptions& options_;
  ir::FunctionRef function_;
  FunctionPlan plan_;
  std::unordered_map<const ir::ExprNode*, std::vector<int>> values_;
  std::set<int> computed_ahead_;     // results that are constants
  std::set<int> made_of_constants_;  // and have no other inputs
  int constants_ = 0;
};

}  // namespace

Result<FunctionPlan> plan_function(const ir::FunctionRef& function, const LowerOptions& options) {
  return Planner(options).run(function);
}

double flops_of(const Group& group, const TargetDesc& target) { return known_flops(group.te.outputs, target); }

}  // namespace relay::lower
