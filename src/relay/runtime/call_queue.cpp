#include "relay/runtime/call_queue.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "relay/tensor/memory.h"

namespace relay::runtime {

static int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

CallQueue::CallQueue(SegmentContext& run) : run_(run) {
  const std::vector<Segment>& segments = run.linked().program->segments;
  std::vector<std::pair<int64_t, uint32_t>> order;
  for (uint32_t s = 0; s < segments.size(); ++s) {
    if (segments[s].batching == Batching::None) continue;
    int64_t bytes = 0;
    for (const Array& a : segments[s].arrays)
      if (a.kind == Array::Kind::Constant) bytes += a.bytes.as_constant().value_or(0);
    order.emplace_back(bytes, s);
  }
  std::sort(order.begin(), order.end());
  batched_of_.resize(segments.size());
  for (const auto& [bytes, s] : order) {
    batched_of_[s] = static_cast<uint32_t>(batched_.size());
    Batched& b = batched_.emplace_back();
    b.segment = s;
    b.begins = segments[s].batching == Batching::Begins;
  }
}

// Determines the inputs and outputs of a call: the sizes of one row.
bool CallQueue::prepare(Batched& b) {
  const Segment& segment = run_.linked().program->segments[b.segment];
  Result<Plan> one = plan_within_limit(run_.linked(), segment, {1});
  if (!one) return run_.fail(one.errors());
  b.inputs.clear(), b.outputs.clear(), b.made.clear();  // left from an attempt that ran out of memory
  b.bytes = 0;
  auto side = [&](uint32_t array) {
    const Array& a = segment.arrays[array];
    Side s{a.kind, a.index, dtype_id(a.dtype), one->shapes[array], one->bytes[array], a.rows != relay::Rows::None, {}};
    if (a.rows == relay::Rows::Added) s.dims.erase(s.dims.begin());
    return s;
  };
  for (uint32_t input : segment.inputs) {
    b.inputs.push_back(side(input));
    b.bytes += b.inputs.back().bytes;
  }
  for (uint32_t i = 0; i < segment.outputs.size(); ++i) {
    uint32_t array = segment.outputs[i];
    Side& s = b.outputs.emplace_back(side(array));
    if (s.kind == Array::Kind::Constant) {
      const Tensor& c = run_.linked().program->constants[s.index];
      s.constant = Value::constant(
          Tensor::view(const_cast<void*>(c.data()), s.dims, segment.arrays[array].dtype, run_.linked().program));
    }
    if (s.kind != Array::Kind::Output) continue;
    for (s.index = 0; segment.outputs[s.index] != array;) ++s.index;
    if (s.index != i) continue;
    b.made.push_back(i);
    b.bytes += s.bytes;
  }
  int64_t most = 0;
  for (uint32_t m : b.made) most = std::max(most, b.outputs[m].bytes);
  if (!zeros_ || as_tensor(zeros_.get())->dims()[0] < most) {
    TensorObject* zeros = make_tensor(dtype_id(DType::uint8()), {&most, 1}, static_cast<size_t>(most));
    if (zeros == nullptr) return run_.fail_no_memory();
    std::memset(zeros->data, 0, static_cast<size_t>(most));
    zeros_ = Value::take(zeros);
  }
  inputs_.resize(std::max(inputs_.size(), b.inputs.size()));
  outputs_.resize(std::max(outputs_.size(), b.outputs.size()));
  b.rows = max_rows;
  while (b.rows > 1 && !plan_within_limit(run_.linked(), segment, {b.rows})) b.rows /= 2;
  b.by_rows.resize(static_cast<size_t>(b.rows) + 1);
  return true;
}

CallQueue::Rows* CallQueue::rows(Batched& b, int64_t count) {
  std::unique_ptr<Rows>& known = b.by_rows[static_cast<size_t>(count)];
  if (known) return known.get();
  const Segment& segment = run_.linked().program->segments[b.segment];
  Result<Plan> made = plan_within_limit(run_.linked(), segment, {count});
  if (!made) return run_.fail(made.errors()), nullptr;
  int64_t bytes = 0;
  for (const Side& s : b.inputs) bytes += aligned(s.bytes * count);
  if (!run_.reserve_arena(segment, *made)) return nullptr;
  if (bytes > memory_bytes_) {
    std::byte* memory = static_cast<std::byte*>(allocate_array(static_cast<size_t>(bytes)));
    if (memory == nullptr) return run_.fail_no_memory(), nullptr;
    memory_ = {memory, [](std::byte* p) { free_array(p); }};
    memory_bytes_ = bytes;
  }
  if (Report* report = run_.report()) report->planned = true;
  known = std::make_unique<Rows>(run_.linked(), segment, std::move(*made));
  known->kept.resize(b.made.size() * Rows::turns);
  return known.get();
}

bool CallQueue::fits(const Batched& b, Object* const* args) {
  for (size_t i = 0; i < b.inputs.size(); ++i) {
    const Side& s = b.inputs[i];
    const Object* o = args[i];
    if (o->kind == ObjectKind::Tensor && o->id == s.dtype && o->size == s.dims.size() &&
        std::equal(s.dims.begin(), s.dims.end(), as_tensor(o)->dims()))
      continue;
    const Segment& segment = run_.linked().program->segments[b.segment];
    const Array& a = segment.arrays[segment.inputs[i]];
    std::string given = describe(o);
    if (o->kind == ObjectKind::Tensor)
      given += format("[{}]", join(std::span<const int64_t>(as_tensor(o)->dims(), o->size), ", "));
    return run_.fail(DiagnosticKind::wrong_input,
                     format("input `{}` of segment {} is {}, but it must be a tensor of {}[{}]", a.name, segment.name,
                            given, a.dtype.str(), join(s.dims, ", ")),
                     "give inputs of the types and shapes that the program declares");
  }
  return true;
}

static bool is_constant(const Object* o) { return o->tag == TensorObject::Constant; }  // for a tensor
static bool is_same(const Object* o, const Value& v) { return o == v.get(); }

bool CallQueue::call(uint32_t segment, Object* const* args, Object** results) {
  uint32_t number = batched_of_[segment];
  Batched& b = batched_[number];
  if ((b.rows == 0 && !prepare(b)) || !fits(b, args)) return false;
  const bool constant = std::all_of(args, args + b.inputs.size(), is_constant);
  if (constant && !b.known.empty() && std::equal(args, args + b.inputs.size(), b.known.begin(), is_same)) {
    for (size_t i = 0; i < b.outputs.size(); ++i) results[i] = retain(b.known[b.inputs.size() + i].get());
    return true;
  }
  // Reserves memory first, so that a failure has no effect.
  if (calls_.empty()) calls_.reserve(max_calls);
  if (size_t all = uses_.size() + b.inputs.size(); all > uses_.capacity()) uses_.reserve(2 * all);
  uint32_t first = static_cast<uint32_t>(objects_.size());
  objects_.resize(first + b.inputs.size() + b.made.size());
  Object** object = objects_.data() + first;
  bool joins = false;
  for (size_t i = 0; i < b.inputs.size(); ++i) joins |= waits(*object++ = args[i]);
  for (size_t i = 0; i < b.outputs.size(); ++i) {
    const Side& s = b.outputs[i];
    if (s.kind == Array::Kind::Input) {
      results[i] = retain(args[s.index]);
    } else if (s.kind == Array::Kind::Constant) {
      results[i] = retain(s.constant.get());
    } else if (s.index < i) {
      results[i] = retain(results[s.index]);
    } else if (TensorObject* t = make_row(s.dtype, s.dims)) {
      results[i] = *object++ = t;
    } else {
      while (i > 0) release(results[--i]);
      objects_.resize(first);
      return run_.fail_no_memory();
    }
  }
  // Releases the results if `act` fails, or if there is no memory for its records.
  auto or_give_back = [&](auto&& act) {
    auto give_back = [&] {
      for (size_t i = 0; i < b.outputs.size(); ++i) release(results[i]);
    };
    try {
      if (act()) return true;
      give_back();
      return false;
    } catch (...) {
      give_back();
      throw;
    }
  };
  if (b.made.empty()) return objects_.resize(first), true;
  const bool remember = constant && b.known.empty();
  if ((!joins && !b.begins) || remember) {
    bool ran = or_give_back([&] { return run(b, {&first, 1}); });
    objects_.resize(first);
    if (!ran) return false;
    if (!remember) return true;
    for (size_t i = 0; i < b.inputs.size(); ++i) b.known.push_back(Value::share(args[i]));
    for (size_t i = 0; i < b.outputs.size(); ++i) b.known.push_back(Value::share(results[i]));
    return true;
  }
  calls_.push_back({first, number});
  Call& call = calls_.back();
  for (size_t i = 0; i < b.inputs.size(); ++i) {
    if (uint32_t producer = as_tensor(args[i])->waits_for()) {
      uint32_t& uses = calls_[producer - 1].uses;
      uses_.push_back({static_cast<uint32_t>(calls_.size()) - 1, uses});
      uses = static_cast<uint32_t>(uses_.size()) - 1;
      ++call.missing;
    } else {
      retain(args[i]);
    }
  }
  for (object = objects_.data() + first + b.inputs.size(); object != objects_.data() + objects_.size(); ++object) {
    std::atomic<uint32_t>& count = (*object)->count;
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // not shared yet
    (*object)->tag = static_cast<uint16_t>(TensorObject::Row | calls_.size() << TensorObject::call_shift);
  }
  static_assert(max_calls << TensorObject::call_shift <= UINT16_MAX);
  bytes_ += b.bytes;
  return (calls_.size() < max_calls && bytes_ < max_bytes) || or_give_back([&] { return flush(); });
}

// Returns the kept memory, if it exists and nothing else refers to it; else new memory, which is kept as long as the
// total that is kept is small.
Value CallQueue::memory_for(Value* kept, int64_t bytes) {
  if (*kept && is_unique(kept->get())) return *kept;
  Value made = Value::take(make_tensor(dtype_id(DType::uint8()), {&bytes, 1}, static_cast<size_t>(bytes)));
  if (made && !*kept && kept_bytes_ + bytes <= max_kept) {
    kept_bytes_ += bytes;
    *kept = made;
  } else if (made && *kept) {
    *kept = made;  // whoever has the other keeps it
  }
  return made;
}

// Runs the calls whose objects begin at `firsts`.
bool CallQueue::run(Batched& b, std::span<const uint32_t> firsts) {
  Rows* r = rows(b, static_cast<int64_t>(firsts.size()));
  if (r == nullptr) return false;
  auto object = [&](uint32_t first, size_t i) { return as_tensor(objects_[first + i]); };
  std::byte* row = memory_.get();
  for (size_t i = 0; i < b.inputs.size(); ++i) {
    inputs_[i] = firsts.size() == 1 ? object(firsts[0], i)->data : row;
    size_t bytes = static_cast<size_t>(b.inputs[i].bytes);
    std::byte* to = row;
    for (size_t c = 0; firsts.size() > 1 && bytes > 0 && c < firsts.size(); ++c, to += bytes)
      std::memcpy(to, object(firsts[c], i)->data, bytes);
    row += aligned(to - row);
  }
  std::fill(outputs_.begin(), outputs_.end(), nullptr);
  made_.clear();
  if (r->flush != flushes_) r->flush = flushes_, r->turn = 0;
  Value* kept = r->kept.data() + r->turn * b.made.size();
  r->turn = (r->turn + 1) % Rows::turns;
  for (uint32_t o : b.made) {
    made_.push_back(memory_for(kept++, b.outputs[o].bytes * static_cast<int64_t>(firsts.size())));
    if (!made_.back()) return run_.fail_no_memory();
    outputs_[o] = as_tensor(made_.back().get())->data;
  }
  if (Report* report = run_.report()) {
    report->batched_calls += static_cast<int64_t>(firsts.size());
    ++report->batches;
  }
  Status status = run_.run(r->runner, r->plan, inputs_, outputs_);
  if (!status) return run_.fail(status.errors());
  for (size_t m = 0; m < b.made.size(); ++m) {
    const Side& s = b.outputs[b.made[m]];
    Object* all = made_[m].detach();
    all->count.fetch_add(static_cast<uint32_t>(firsts.size()) - 1, std::memory_order_relaxed);
    row = static_cast<std::byte*>(as_tensor(all)->data);
    for (size_t c = 0; c < firsts.size(); ++c, row += s.bytes) {
      if (c > 0 && !s.rows) std::memcpy(row, as_tensor(all)->data, static_cast<size_t>(s.bytes));
      TensorObject* t = object(firsts[c], b.inputs.size() + m);
      t->data = row;
      t->rows = all;
    }
  }
  return true;
}

bool CallQueue::run_ready(Batched& b) {
  together_.swap(b.ready);
  b.ready.clear();
  // Splits into parts of equal size, rounded up to whole register tiles.
  size_t count = together_.size(), most = static_cast<size_t>(b.rows), parts = (count + most - 1) / most;
  size_t part = std::min(most, ((count + parts - 1) / parts + 7) / 8 * 8);
  for (size_t at = 0; at < count; at += part) {
    firsts_.clear();
    for (size_t i = at; i < std::min(count, at + part); ++i) firsts_.push_back(calls_[together_[i]].first);
    if (!run(b, firsts_)) return false;
  }
  for (uint32_t done : together_)
    for (uint32_t use = calls_[done].uses; use != none; use = uses_[use].before) {
      Call& user = calls_[uses_[use].by];
      if (--user.missing == 0)
        batched_[user.batched].ready.push_back(uses_[use].by), next_ = std::min(next_, user.batched);
    }
  return true;
}

bool CallQueue::run_all() {
  for (uint32_t i = 0; i < calls_.size(); ++i)
    if (calls_[i].missing == 0) batched_[calls_[i].batched].ready.push_back(i);
  for (next_ = 0; next_ < batched_.size();) {
    if (batched_[next_].ready.empty())
      ++next_;
    else if (!run_ready(batched_[next_]))
      return false;
  }
  return true;
}

bool CallQueue::flush() {
  ++flushes_;
  try {
    const bool ran = run_all();
    drop();
    return ran;
  } catch (...) {
    drop();
    throw;
  }
}

void CallQueue::drop() {
  for (const Call& call : calls_) {
    const Batched& b = batched_[call.batched];
    Object** object = objects_.data() + call.first;
    for (size_t i = 0; i < b.inputs.size(); ++i, ++object)
      if (!waits(*object)) release(*object);
    for (size_t m = 0; m < b.made.size(); ++m, ++object) {
      TensorObject* t = as_tensor(*object);
      if (t->rows == nullptr) t->rows = retain(zeros_.get()), t->data = as_tensor(t->rows)->data;
    }
  }
  for (const Call& call : calls_) {
    const Batched& b = batched_[call.batched];
    Object** object = objects_.data() + call.first + b.inputs.size();
    for (size_t m = 0; m < b.made.size(); ++m, ++object) {
      (*object)->tag = TensorObject::Row;
      release(*object);
    }
  }
  for (Batched& b : batched_) b.ready.clear();
  calls_.clear(), objects_.clear(), uses_.clear();
  bytes_ = 0;
}

}  // namespace relay::runtime
