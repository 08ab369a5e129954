#include "relay/runtime/operations.h"

#include <cstring>

#include "relay/tensor/shape_check.h"

namespace relay::runtime {

// Describes the operator that needs the shape. Inputs whose elements are still to be computed are described by their
// types.
static ShapeUse shape_use(const Function& f, const Instruction& in, Object* const* args) {
  if (in.list.count == 0) return {};
  const auto message = [&](uint32_t i) -> const std::string& { return f.messages[f.lists[in.list.begin + i]]; };
  ShapeUse use{message(0)};
  if (!message(1).empty()) use.where.node = std::make_shared<const std::string>(message(1));
  for (uint32_t i = 1; i < in.args.count; ++i) {
    if (args[i]->kind != ObjectKind::Tensor) continue;
    const TensorObject* t = as_tensor(args[i]);
    use.inputs.push_back({message(2 * i), message(2 * i + 1),
                          CallQueue::waits(t) ? text_of_shape_input(dtype_of(t), {t->dims(), t->dims() + t->size})
                                              : text_of_shape_input(Value::share(args[i]).tensor())});
  }
  return use;
}

Object* make_tensor_of_shape(RunContext& run, const Function& f, const Instruction& in, Object* const* args) {
  const Object* shape = args[0];
  if (shape->kind != ObjectKind::Tensor || shape->id != dtype_id(DType::int64()) || shape->size != 1)
    return not_well_typed(run, "a shape is not a vector of int64");
  size_t rank = static_cast<size_t>(as_tensor(shape)->dims()[0]);
  std::span<const int64_t> sizes(static_cast<const int64_t*>(as_tensor(shape)->data), rank);
  if (!is_shape(sizes, Limits::array_bytes)) {
    run.fail(Diagnostics{no_shape(sizes, shape_use(f, in, args))});
    return nullptr;
  }
  const int64_t elements = *element_count(Shape(sizes.begin(), sizes.end()));
  TensorObject* made = make_tensor(dtype_id(DType::boolean()), sizes, static_cast<size_t>(elements));
  if (made == nullptr) {
    run.fail_no_memory();
    return nullptr;
  }
  std::memset(made->data, 0, static_cast<size_t>(elements));
  return made;
}

}  // namespace relay::runtime
