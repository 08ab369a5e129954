#include "relay/input/random_value.h"

#include <algorithm>

#include "relay/ir/type.h"

namespace relay::input {

namespace {

constexpr int endless = 1 << 20, depth_of_size = 3, depth_of_choice = 6, deepest = 64;

class Generator {
 public:
  Generator(const ir::Module& types, uint64_t seed) : types_(types), state_(seed) {
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [name, definition] : types.types)
        for (const Ref<const ir::Constructor>& c : definition.constructors) {
          int depth = depth_of(*c);
          if (auto [known, added] = depths_.emplace(name, endless); depth < known->second)
            known->second = depth, changed = true;
        }
    }
  }

  std::optional<eval::Value> value(const ir::Type& type, int depth) {
    if (const ir::TensorType* t = ir::as<ir::TensorType>(type)) {
      Shape shape;
      for (const ir::Dim& d : t->shape) {
        if (!scalar::is_int(d)) return std::nullopt;
        shape.push_back(d->ivalue);
      }
      return eval::Value(random_tensor(shape, t->dtype, ++state_));
    }
    if (const ir::TupleType* t = ir::as<ir::TupleType>(type)) {
      std::optional<eval::Values> fields = values(t->fields, depth);
      return fields ? std::optional(eval::tuple_value(*std::move(fields))) : std::nullopt;
    }
    const ir::TypeCall* call = ir::as<ir::TypeCall>(type);
    const ir::DataTypeName* name = ir::as<ir::DataTypeName>(call ? call->callee : type);
    if (!name || depth > deepest) return std::nullopt;  // a type that has itself as its argument is infinite
    const ir::TypeDef& definition = types_.types.at(name->name);
    const Ref<const ir::Constructor>* constructor = choose(definition, depth);
    if (!constructor) return std::nullopt;
    std::vector<ir::TypeBinding> arguments;
    for (size_t i = 0; call && i < call->args.size(); ++i)
      arguments.push_back({definition.type_params[i], call->args[i]});
    ir::Types inputs;
    for (const ir::Type& input : (*constructor)->inputs) inputs.push_back(ir::substitute(input, {}, arguments));
    std::optional<eval::Values> fields = values(inputs, depth + 1);
    if (!fields) return std::nullopt;
    return eval::Value(Ref<const eval::ValueNode>(new eval::DataValue(*constructor, *std::move(fields))));
  }

 private:
  std::optional<eval::Values> values(const ir::Types& types, int depth) {
    eval::Values out;
    for (const ir::Type& type : types) {
      std::optional<eval::Value> one = value(type, depth);
      if (!one) return std::nullopt;
      out.push_back(*std::move(one));
    }
    return out;
  }

  const Ref<const ir::Constructor>* choose(const ir::TypeDef& definition, int depth) {
    std::vector<const Ref<const ir::Constructor>*> fitting, large;
    for (const Ref<const ir::Constructor>& c : definition.constructors) {
      bool smallest = depth_of(*c) == depths_.at(definition.name);
      if (depth_of(*c) < endless && (depth < depth_of_choice || smallest)) fitting.push_back(&c);
      if (depth_of(*c) < endless && depth < depth_of_size && !smallest) large.push_back(&c);
    }
    if (!large.empty()) fitting = std::move(large);
    if (fitting.empty()) return nullptr;
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return fitting[static_cast<size_t>(state_ >> 33) % fitting.size()];
  }

  // The least nesting of constructors, not counting the values of type variables.
  int depth_of(const ir::Constructor& c) const {
    int depth = 0;
    for (const ir::Type& input : c.inputs) depth = std::max(depth, depth_of(input));
    return std::min(endless, depth + 1);
  }
  int depth_of(const ir::Type& type) const {
    if (const ir::TupleType* t = ir::as<ir::TupleType>(type)) {
      int depth = 0;
      for (const ir::Type& field : t->fields) depth = std::max(depth, depth_of(field));
      return depth;
    }
    const ir::TypeCall* call = ir::as<ir::TypeCall>(type);
    const ir::DataTypeName* name = ir::as<ir::DataTypeName>(call ? call->callee : type);
    if (!name) return 0;
    std::map<std::string, int>::const_iterator known = depths_.find(name->name);
    return known == depths_.end() ? endless : known->second;
  }

  const ir::Module& types_;
  uint64_t state_;
  std::map<std::string, int> depths_;  // of the smallest value of each type
};

}  // namespace

std::optional<eval::Value> random_value(const ir::Type& type, const ir::Module& types, uint64_t seed) {
  return Generator(types, seed).value(type, 0);
}

}  // namespace relay::input
