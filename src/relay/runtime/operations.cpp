#include "relay/runtime/operations.h"

#include <cstring>

namespace relay::runtime {

Object* make_tensor_of_shape(RunContext& run, const Object* shape) {
  if (shape->kind != ObjectKind::Tensor || shape->id != dtype_id(DType::int64()) || shape->size != 1)
    return not_well_typed(run, "a shape is not a vector of int64");
  size_t rank = static_cast<size_t>(as_tensor(shape)->dims()[0]);
  std::span<const int64_t> sizes(static_cast<const int64_t*>(as_tensor(shape)->data), rank);
  int64_t elements = 1;
  for (int64_t size : sizes) {
    if (size < 0) {
      run.fail(DiagnosticKind::wrong_input,
               size == -1 ? std::string("a shape that is computed while the program runs does not fit what it is for")
                          : format("a size that is computed while the program runs is {}", size),
               "give inputs from which the sizes that are computed fit each other");
      return nullptr;
    }
    if (__builtin_mul_overflow(elements, size, &elements) || elements > Limits::array_bytes) {
      run.fail(DiagnosticKind::limit_exceeded,
               format("a shape that is computed while the program runs is too large: ({})", join(sizes, ", ")),
               "give inputs from which a smaller size is computed");
      return nullptr;
    }
  }
  TensorObject* made = make_tensor(dtype_id(DType::boolean()), sizes, static_cast<size_t>(elements));
  if (made == nullptr) {
    run.fail_no_memory();
    return nullptr;
  }
  std::memset(made->data, 0, static_cast<size_t>(elements));
  return made;
}

}  // namespace relay::runtime
