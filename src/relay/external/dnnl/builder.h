// Builds the steps of a plan from those of the program.
#pragma once

#include "relay/external/dnnl/plan.h"

namespace relay::onednn {

class Builder {
 public:
  Builder(Plan& plan, PackedConstants& constants, const std::vector<Dims>& inputs);
  void step(const Json& step);
  // Makes `number` of the program output `index`.
  void output(size_t number, size_t index, const Dims& dims);

 private:
  Dims dims(size_t number) const;
  bool is_constant(size_t number) const { return plan_.values_[at_[number]].kind == Value::Kind::Constant; }
  size_t add_value(Value value);
  void define(const Json& step, size_t value);
  size_t reordered(size_t value, const Desc& wanted);
  size_t copied(size_t number, const Desc& wanted);
  void add(::dnnl::primitive primitive, const Desc& scratchpad, Step step);
  // Adds the program's value in layout `wanted` as an argument; its elements have row-major order as `as`.
  void arg(Step& step, int name, size_t number, const Desc& as, const Desc& wanted);

  // Limits the elements of a value, if there are limits; nothing else reads it yet.
  void limit(size_t value, std::optional<std::pair<float, float>> limits);

  void convolution(const Json& j);
  void matmul(const Json& j);
  void pool(const Json& j);
  void relu(const Json& j);
  void sum(const Json& j);

  Plan& plan_;
  PackedConstants& constants_;
  std::vector<size_t> at_;  // by number of the program: the value
  struct Reordered {
    size_t from, to;
  };
  std::vector<Reordered> reordered_;
};

}  // namespace relay::onednn
