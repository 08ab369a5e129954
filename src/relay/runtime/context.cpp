#include "relay/runtime/context.h"

#include <algorithm>

namespace relay::runtime {

RunContext::RunContext(const LinkedProgram& linked) : SegmentContext(linked), bound_(linked.program->segments.size()) {
  for (uint32_t segment : linked.sites) {
    bool batched = linked.program->segments[segment].batching != Batching::None;
    sites_.push_back({segment, batched});
    if (batched && !queue_) queue_ = std::make_unique<CallQueue>(*this);
  }
}

void RunContext::end() {
  if (queue_ && !queue_->empty()) {  // the run failed; references that outlive it may hold waiting values
    if (linked().uses_references)
      queue_->flush();
    else
      queue_->drop();
  }
  if (references_.live() > 0) {
    references_.collect();
    references_.rest();
  }
  SegmentContext::end();
}

// --- segments --------------------------------------------------------------------------------------------------------

RunContext::Bound::Bound(const LinkedProgram& linked, const Segment& segment, Plan made)
    : plan(std::move(made)), runner(linked, segment, plan) {
  for (uint32_t input : segment.inputs) {
    const Shape& shape = plan.shapes[input];
    const Array& a = segment.arrays[input];
    const uint32_t id = tensor_id(a.dtype, linked.device_numbers[a.memory]);
    inputs.push_back({id, static_cast<uint32_t>(shape.size()), shape.data()});
  }
  for (uint32_t i = 0; i < segment.outputs.size(); ++i) {
    uint32_t array = segment.outputs[i];
    const Array& a = segment.arrays[array];
    const Shape& shape = plan.shapes[array];
    const int input = a.in_place ? static_cast<int>(a.in_place->input) : -1;
    const uint32_t id = tensor_id(a.dtype, linked.device_numbers[a.memory]);
    Output output{a.kind, a.index, input, id, shape, static_cast<size_t>(plan.bytes[array]), {}};
    if (a.kind == Array::Kind::Output)
      for (output.index = 0; segment.outputs[output.index] != array;) ++output.index;
    if (a.kind == Array::Kind::Constant && a.memory == host_memory) {
      void* data = const_cast<void*>(linked.program->constants[a.index].data());
      output.constant = Value::constant(Tensor::view(data, shape, a.dtype, linked.program));
    }
    outputs.push_back(std::move(output));
  }
}

bool RunContext::fits(const Bound& bound, Object* const* args) {
  for (size_t i = 0; i < bound.inputs.size(); ++i) {
    const Bound::Input& input = bound.inputs[i];
    const Object* o = args[i];
    if (o->kind != ObjectKind::Tensor || o->id != input.id || o->size != input.rank) return false;
    const int64_t* dims = as_tensor(o)->dims();
    for (uint32_t d = 0; d < input.rank; ++d)
      if (dims[d] != input.dims[d]) return false;
  }
  return true;
}

bool RunContext::make_device_constants(const Segment& segment, Bound& bound) {
  for (size_t i = 0; i < bound.outputs.size(); ++i) {
    const Array& a = segment.arrays[segment.outputs[i]];
    Bound::Output& output = bound.outputs[i];
    if (a.kind != Array::Kind::Constant || output.constant) continue;
    TensorObject* made = make_device_tensor(output.id, output.dims, output.bytes);
    if (made == nullptr) return fail_no_memory();
    output.constant = Value::take(made);
    if (output.bytes == 0) continue;
    const Status done =
        device(device_of(made)).upload(made->data, linked().program->constants[a.index].data(), output.bytes);
    if (!done) return fail(done.errors());
  }
  return true;
}

// Handles shapes other than the site's previous ones.
RunContext::Bound* RunContext::bind(uint32_t index, Object* const* args) {
  const Segment& segment = linked().program->segments[index];
  std::vector<Shape> shapes;
  for (size_t i = 0; i < segment.inputs.size(); ++i) {
    const Array& a = segment.arrays[segment.inputs[i]];
    if (args[i]->kind != ObjectKind::Tensor || args[i]->id != tensor_id(a.dtype, linked().device_numbers[a.memory])) {
      const std::string place = a.memory == host_memory ? "" : " on " + str(linked().program->devices[a.memory]);
      fail(DiagnosticKind::wrong_input,
           format("input `{}` of segment {} is {}, but it must be a tensor of {}{}", a.name, segment.name,
                  describe(args[i]), a.dtype.str(), place),
           "give inputs of the types that the program declares");
      return nullptr;
    }
    const int64_t* dims = as_tensor(args[i])->dims();
    shapes.emplace_back(dims, dims + args[i]->size);
  }
  std::map<std::vector<Shape>, std::unique_ptr<Bound>>& known = bound_[index];
  std::map<std::vector<Shape>, std::unique_ptr<Bound>>::iterator it = known.find(shapes);
  if (it != known.end()) return it->second.get();
  Result<std::vector<int64_t>> variables = bind_variables(segment, shapes, true);
  if (!variables) return fail(variables.errors()), nullptr;
  Result<Plan> made = plan_within_limit(linked(), segment, std::move(*variables));
  if (!made) return fail(made.errors()), nullptr;
  if (!reserve_arena(segment, *made)) return nullptr;
  if (report()) report()->planned = true;
  if (known.size() >= bound_limit) {
    for (Site& site : sites_)
      if (site.segment == index) site.last = nullptr;
    known.clear();
  }
  inputs_.resize(std::max(inputs_.size(), segment.inputs.size()));
  outputs_.resize(std::max(outputs_.size(), segment.outputs.size()));
  std::unique_ptr<Bound> bound = std::make_unique<Bound>(linked(), segment, std::move(*made));
  if (!make_device_constants(segment, *bound)) return nullptr;
  return known.emplace(std::move(shapes), std::move(bound)).first->second.get();
}

bool RunContext::may_take(uint32_t site, size_t inputs, Object* const* args, size_t arg) const {
  const Object* o = args[arg];
  return linked().site_moves[site][arg] && is_unique(o) && !as_tensor(o)->is_shared() &&
         std::count(args, args + inputs, o) == 1;
}

bool RunContext::run_segment(uint32_t number, Object* const* args, Object** results) {
  Site& site = sites_[number];
  if (site.batched) return queue_->call(site.segment, args, results);
  if (queue_ && !queue_->empty()) {
    size_t inputs = linked().program->segments[site.segment].inputs.size();
    if (std::any_of(args, args + inputs, CallQueue::waits) && !queue_->flush()) return false;
  }
  if (site.last == nullptr || !fits(*site.last, args)) {
    site.last = bind(site.segment, args);
    if (site.last == nullptr) return false;
  }
  Bound& bound = *site.last;
  for (size_t i = 0; i < bound.inputs.size(); ++i) inputs_[i] = as_tensor(args[i])->data;
  for (size_t i = 0; i < bound.outputs.size(); ++i) {
    const Bound::Output& output = bound.outputs[i];
    outputs_[i] = nullptr;
    if (output.kind == Array::Kind::Input) {
      results[i] = retain(args[output.index]);
    } else if (output.kind == Array::Kind::Constant) {
      results[i] = retain(output.constant.get());
    } else if (output.index < i) {
      results[i] = retain(results[output.index]);
    } else if (output.input >= 0 && may_take(number, bound.inputs.size(), args, static_cast<size_t>(output.input))) {
      results[i] = retain(args[output.input]);
      outputs_[i] = as_tensor(results[i])->data;
    } else {
      TensorObject* made = output.id >> 16 == host_device ? make_tensor(output.id, output.dims, output.bytes)
                                                          : make_device_tensor(output.id, output.dims, output.bytes);
      if (made == nullptr) {
        while (i > 0) release(results[--i]);
        return fail_no_memory();
      }
      outputs_[i] = made->data;
      results[i] = made;
    }
  }
  auto give_back = [&] {
    for (size_t i = 0; i < bound.outputs.size(); ++i) release(results[i]);
  };
  try {
    Status status = run(bound.runner, bound.plan, inputs_, outputs_);
    if (status) return true;
    give_back();
    return fail(status.errors());
  } catch (...) {  // no memory for the records of a run
    give_back();
    throw;
  }
}

}  // namespace relay::runtime
