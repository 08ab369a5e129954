// Runs a StageProgram: chunks of lanes, steps of the other axes, accumulation. See stage.h.
#include <algorithm>
#include <exception>
#include <system_error>
#include <thread>

#include "relay/eval/lanes.h"

namespace relay::eval {

namespace {

constexpr int64_t chunk_lanes = 1024;

BinaryOp operation(te::Combiner combiner, DType t) {
  switch (combiner) {
    case te::Combiner::Sum: return BinaryOp::Add;
    case te::Combiner::Prod: return BinaryOp::Mul;
    case te::Combiner::Max: return t.is_bool() ? BinaryOp::Or : BinaryOp::Max;
    case te::Combiner::Min: return t.is_bool() ? BinaryOp::And : BinaryOp::Min;
    case te::Combiner::None:
    case te::Combiner::Several: break;
  }
  return BinaryOp::Add;
}

scalar::Value start(te::Combiner combiner, DType t) {
  scalar::Expr e = te::identity(combiner, t);
  return t.is_float() ? scalar::float_value(e->fvalue, t) : scalar::int_value(e->ivalue, t);
}

int64_t product(const std::vector<int64_t>& extents) {
  int64_t n = 1;
  for (int64_t e : extents) n *= e;
  return n;
}

// A copy with dimension d moved to the end.
template <class T>
Tensor moved_to_end(const Tensor& t, int d) {
  int64_t outer = 1, extent = t.shape()[static_cast<size_t>(d)], inner = 1;
  for (int i = 0; i < t.rank(); ++i) (i < d ? outer : inner) *= i == d ? 1 : t.shape()[static_cast<size_t>(i)];
  Tensor out = Tensor::empty({t.elements()}, t.dtype());
  const T* from = t.span<T>().data();
  T* to = out.mutable_span<T>().data();
  constexpr int64_t block = 16;  // of both dimensions, so that reads and writes stay in the cache
  for (int64_t o = 0; o < outer; ++o, from += extent * inner, to += extent * inner)
    for (int64_t i0 = 0; i0 < inner; i0 += block)
      for (int64_t e0 = 0; e0 < extent; e0 += block)
        for (int64_t i = i0; i < std::min(i0 + block, inner); ++i)
          for (int64_t e = e0; e < std::min(e0 + block, extent); ++e) to[i * extent + e] = from[e * inner + i];
  return out;
}

// The registers of one thread. `dot_inputs` are those of program.dot.
class Runner {
 public:
  Runner(const StageProgram& program, const std::vector<Tensor>& inputs, const std::vector<Tensor>& dot_inputs,
         std::vector<Tensor>& outputs)
      : program_(program),
        inputs_(inputs),
        dot_inputs_(dot_inputs),
        outputs_(outputs),
        capacity_(std::min(chunk_lanes, std::max<int64_t>(product(program.lane_extents), 1))) {
    size_t total = 0;
    std::vector<size_t> offsets;
    for (const Instruction& in : program.code) {
      offsets.push_back(total);
      total += in.uniform ? 8 : static_cast<size_t>(capacity_);
    }
    memory_.resize(total + static_cast<size_t>(capacity_) * outputs.size());  // 8 bytes per value
    for (size_t o : offsets) registers_.push_back(memory_.data() + o);
    for (size_t v = 0; v < outputs.size(); ++v)
      accumulators_.push_back(memory_.data() + total + static_cast<size_t>(capacity_) * v);
    accumulator_ = accumulators_[0];
    steps_.resize(program.step_extents.size());
  }

  // Output points [begin, end).
  void run(int64_t begin, int64_t end) {
    if (program_.swapped) {
      for (int64_t point = begin; point < end; ++point) swapped_point(point);
      return;
    }
    for (int64_t at = begin; at < end; at += capacity_) chunk(at, static_cast<int>(std::min(capacity_, end - at)));
  }

 private:
  struct Run {  // lanes whose offsets grow evenly
    int begin, count;
    int64_t first[2], stride[2];
  };

  Operand operand(int r) const {
    if (r < 0) return {};
    return {registers_[static_cast<size_t>(r)], program_.code[static_cast<size_t>(r)].uniform};
  }
  int64_t uniform(int r) const { return r < 0 ? 0 : *static_cast<const int64_t*>(registers_[static_cast<size_t>(r)]); }

  void chunk(int64_t begin, int n) {
    fill_axes(begin, n);
    if (!program_.results.empty()) return several_values(begin, n);
    level(0, n);
    if (program_.combiner == te::Combiner::None) {
      store_lanes(&outputs_[0], begin, operand(program_.result), n);
      return;
    }
    scalar::Value identity = start(program_.combiner, program_.dtype);
    for (int l = 0; l < n; ++l) put_lane(identity, accumulator_, l);
    if (program_.dot) {
      bool fixed = true;
      for (const Dot::Side& side : program_.dot->sides)
        fixed &= side.lanes < 0 || program_.code[static_cast<size_t>(side.lanes)].level == 0;
      if (fixed) find_runs(n);
      each_step(program_.step_extents.size() - 1, n, [&] {
        if (!fixed) find_runs(n);
        if (program_.dtype.bits == 64)
          dot<double>();
        else
          dot<float>();
      });
    } else {
      BinaryOp op = operation(program_.combiner, program_.dtype);
      each_step(program_.step_extents.size(), n, [&] {
        binary_lanes(op, program_.dtype, program_.dtype, {accumulator_, false}, operand(program_.result), accumulator_,
                     n);
      });
    }
    store_lanes(&outputs_[0], begin, {accumulator_, false}, n);
  }

  void several_values(int64_t begin, int n) {
    const size_t values = program_.results.size();
    for (size_t v = 0; v < program_.start.size(); ++v)
      for (int l = 0; l < n; ++l) put_lane(program_.start[v], accumulators_[v], l);
    level(0, n);
    if (program_.start.empty()) {
      for (size_t v = 0; v < values; ++v) store_lanes(&outputs_[v], begin, operand(program_.results[v]), n);
      return;
    }
    each_step(program_.step_extents.size(), n, [&] {
      for (size_t v = 0; v < values; ++v)
        select_lanes(program_.types[v], true_, operand(program_.results[v]), operand(program_.results[v]),
                     accumulators_[v], n);
    });
    for (size_t v = 0; v < values; ++v) store_lanes(&outputs_[v], begin, {accumulators_[v], false}, n);
  }

  // Computes an output point: its reduction runs over lanes, and is combined in order.
  void swapped_point(int64_t point) {
    int64_t rest = point;
    for (size_t d = steps_.size(); d-- > 0;)
      steps_[d] = rest % program_.step_extents[d], rest /= program_.step_extents[d];
    scalar::Value sum = start(program_.combiner, program_.dtype);
    BinaryOp op = operation(program_.combiner, program_.dtype);
    int64_t lanes = product(program_.lane_extents);
    for (int64_t at = 0; at < lanes; at += capacity_) {
      int n = static_cast<int>(std::min(capacity_, lanes - at));
      fill_axes(at, n);
      for (size_t k = 0; k < program_.levels.size(); ++k) level(k, n);
      Operand value = operand(program_.result);
      if (op == BinaryOp::Add && program_.dtype == DType::float32())
        sum.f = serial_sum<float>(value, sum.f, n);
      else if (op == BinaryOp::Add && program_.dtype == DType::float64())
        sum.f = serial_sum<double>(value, sum.f, n);
      else
        for (int l = 0; l < n; ++l) sum = scalar::apply(op, sum, get_lane(program_.dtype, value, l));
    }
    put_lane(sum, accumulator_, 0);
    store_lanes(&outputs_[0], point, {accumulator_, true}, 1);
  }

  template <class T>
  static double serial_sum(Operand value, double start, int n) {
    T sum = static_cast<T>(start);
    View<T> v = value.as<T>();
    for (int l = 0; l < n; ++l) sum += v[l];
    return sum;
  }

  // Calls body for every combination of the first `count` step axes, after updating the instructions of their levels.
  template <class F>
  void each_step(size_t count, int n, F body) {
    for (int64_t e : program_.step_extents)
      if (e == 0) return;
    std::fill(steps_.begin(), steps_.end(), 0);
    size_t moved = 0;  // the outermost axis that has advanced
    for (;;) {
      for (size_t k = moved; k < count; ++k) level(k + 1, n);
      body();
      size_t d = count;
      while (d > 0 && ++steps_[d - 1] == program_.step_extents[d - 1]) steps_[--d] = 0;
      if (d == 0) return;
      moved = d - 1;
    }
  }

  void find_runs(int n) {
    runs_.clear();
    const int64_t* at[2];
    for (int s = 0; s < 2; ++s)
      at[s] = program_.dot->sides[s].lanes < 0
                  ? nullptr
                  : static_cast<const int64_t*>(registers_[static_cast<size_t>(program_.dot->sides[s].lanes)]);
    auto offset = [&](int s, int l) { return at[s] ? at[s][l] : 0; };
    for (int l = 0; l < n;) {
      Run run{l, 1, {offset(0, l), offset(1, l)}, {0, 0}};
      if (l + 1 < n) {
        for (int s = 0; s < 2; ++s) run.stride[s] = offset(s, l + 1) - offset(s, l);
        while (l + run.count < n && offset(0, l + run.count) == run.first[0] + run.count * run.stride[0] &&
               offset(1, l + run.count) == run.first[1] + run.count * run.stride[1])
          ++run.count;
      }
      l += run.count;
      runs_.push_back(run);
    }
  }

  template <class T>
  void dot() {
    const Dot& d = *program_.dot;
    const T* base[2];
    for (int s = 0; s < 2; ++s)
      base[s] = static_cast<const T*>(dot_inputs_[static_cast<size_t>(s)].data()) + uniform(d.sides[s].uniform);
    T* sum = static_cast<T*>(static_cast<void*>(accumulator_));
    for (const Run& r : runs_)
      multiply_add(sum + r.begin, r.count, Stream<T>{base[0] + r.first[0], r.stride[0], d.sides[0].step},
                   Stream<T>{base[1] + r.first[1], r.stride[1], d.sides[1].step}, program_.step_extents.back());
  }

  void fill_axes(int64_t begin, int n) {
    for (int index : program_.levels[0]) {
      const Instruction& in = program_.code[static_cast<size_t>(index)];
      if (in.code != Code::LaneAxis) continue;
      int64_t* out = static_cast<int64_t*>(registers_[static_cast<size_t>(index)]);
      size_t axis = static_cast<size_t>(in.extra);
      int64_t inner = 1, extent = program_.lane_extents[axis];
      for (size_t d = axis + 1; d < program_.lane_extents.size(); ++d) inner *= program_.lane_extents[d];
      int64_t value = begin / inner % extent, left = inner - begin % inner;
      for (int l = 0; l < n; ++l) {
        out[l] = value;
        if (--left > 0) continue;
        left = inner;
        if (++value == extent) value = 0;
      }
    }
  }

  void level(size_t k, int lanes) {
    for (int index : program_.levels[k]) {
      const Instruction& in = program_.code[static_cast<size_t>(index)];
      execute(in, registers_[static_cast<size_t>(index)], in.uniform ? 1 : lanes);
    }
  }

  void execute(const Instruction& in, void* out, int n) {
    Operand a = operand(in.args[0]), b = operand(in.args[1]);
    switch (in.code) {
      case Code::LaneAxis: return;  // fill_axes
      case Code::StepAxis: *static_cast<int64_t*>(out) = steps_[static_cast<size_t>(in.extra)]; return;
      case Code::Constant: return put_lane(scalar::Value{in.dtype, in.integer, in.value}, out, 0);
      case Code::Unary: return unary_lanes(in, a, out, n);
      case Code::Binary: return binary_lanes(in.binary, in.from, in.dtype, a, b, out, n);
      case Code::Select: return select_lanes(in.dtype, a, b, operand(in.args[2]), out, n);
      case Code::Cast: return cast_lanes(in, a, out, n);
      case Code::Reinterpret: return reinterpret_lanes(in, a, out, n);
      case Code::MaskAnd:
      case Code::MaskAndNot: {
        bool wanted = in.code == Code::MaskAnd;
        View<int64_t> before = a.as<int64_t>(), condition = b.as<int64_t>();
        int64_t* mask = static_cast<int64_t*>(out);
        for (int l = 0; l < n; ++l) mask[l] = (!a.data || before[l]) && (condition[l] != 0) == wanted;
        return;
      }
      case Code::Check: return check(in, a.as<int64_t>(), n);
      case Code::Accumulator: {
        const Operand now{accumulators_[static_cast<size_t>(in.extra)], false};
        return select_lanes(in.dtype, true_, now, now, out, n);
      }
      case Code::Load:
        return load_lanes(inputs_[static_cast<size_t>(in.tensor)], a, uniform(in.args[1]), operand(in.mask), out, n);
    }
  }

  void check(const Instruction& in, View<int64_t> index, int n) {
    Operand mask = operand(in.mask);
    View<int64_t> on = mask.as<int64_t>();
    for (int l = 0; l < n; ++l)
      RELAY_CHECK((index[l] >= 0 && index[l] < in.extra) || (mask.data && !on[l]),
                  "stage {} reads {} at index {} of dimension {}, whose extent is {}", program_.name,
                  program_.tensors[static_cast<size_t>(in.tensor)].first->name, index[l], in.dimension, in.extra);
  }

  const StageProgram& program_;
  const std::vector<Tensor>& inputs_;
  const std::vector<Tensor>& dot_inputs_;
  std::vector<Tensor>& outputs_;
  int64_t capacity_;
  std::vector<int64_t> memory_;
  std::vector<void*> registers_;
  std::vector<void*> accumulators_;  // one per value
  void* accumulator_ = nullptr;      // the first
  int64_t one_ = 1;
  const Operand true_{&one_, true};
  std::vector<int64_t> steps_;
  std::vector<Run> runs_;
};

}  // namespace

std::vector<Tensor> run(const StageProgram& program, const std::vector<Tensor>& inputs, const EvalOptions& options) {
  std::vector<Tensor> output;
  for (DType t : program.types) output.push_back(Tensor::empty(program.shape, t));
  if (output.empty()) output.push_back(Tensor::empty(program.shape, program.dtype));
  int64_t points = output[0].elements();
  if (points == 0) return output;
  std::vector<Tensor> dot_inputs;
  if (program.dot)
    for (const Dot::Side& side : program.dot->sides) {
      const Tensor& t = inputs[static_cast<size_t>(side.tensor)];
      bool wide = program.dtype.bits == 64;
      dot_inputs.push_back(side.moved < 0 ? t
                           : wide         ? moved_to_end<double>(t, side.moved)
                                          : moved_to_end<float>(t, side.moved));
    }
  // Whole chunks per thread.
  int64_t grain = program.swapped ? 1 : chunk_lanes;
  int64_t chunks = (points + grain - 1) / grain, threads = std::clamp<int64_t>(options.threads, 1, chunks);
  if (threads == 1) {
    Runner(program, inputs, dot_inputs, output).run(0, points);
    return output;
  }
  std::vector<std::thread> workers;
  std::vector<std::exception_ptr> failures(static_cast<size_t>(threads));
  auto part = [&](int64_t t) {
    try {
      Runner(program, inputs, dot_inputs, output)
          .run(chunks * t / threads * grain, std::min(points, chunks * (t + 1) / threads * grain));
    } catch (...) {
      failures[static_cast<size_t>(t)] = std::current_exception();
    }
  };
  workers.reserve(static_cast<size_t>(threads));
  for (int64_t t = 0; t < threads; ++t) {
    try {
      workers.emplace_back(part, t);
      // no more threads available: this thread does the part; the result is the same
    } catch (const std::system_error&) {
      part(t);
    }
  }
  for (std::thread& w : workers) w.join();
  for (const std::exception_ptr& f : failures)
    if (f) std::rethrow_exception(f);
  return output;
}

}  // namespace relay::eval
