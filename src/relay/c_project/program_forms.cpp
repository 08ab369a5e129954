#include "relay/c_project/program_forms.h"

#include <algorithm>

#include "relay/base/text.h"

namespace relay::c_project {

using runtime::ObjectKind;

Forms::Forms(const runtime::Program& program) {
  blocks_.push_back({true, 0});
  for (uint32_t type = 0; type < program.types.size(); ++type) {
    first_.push_back(static_cast<uint32_t>(all_.size()));
    for (uint32_t tag = 0; tag < program.types[type].constructors.size(); ++tag) {
      Form form{.kind = ObjectKind::Data, .type = type, .tag = tag};
      form.fields = program.types[type].constructors[tag].arity;
      form.block = block_of(form);
      all_.push_back(form);
    }
  }
}

uint32_t Forms::block_of(const Form& form) {
  Block block{form.kind == ObjectKind::Tensor, form.fields};
  if (block.is_tensor) block.size = (*element_count(form.shape) * form.dtype.bytes() + 7) / 8 * 8;
  const auto it = std::find(blocks_.begin(), blocks_.end(), block);
  if (it != blocks_.end()) return static_cast<uint32_t>(it - blocks_.begin());
  blocks_.push_back(block);
  return static_cast<uint32_t>(blocks_.size()) - 1;
}

uint32_t Forms::find_or_add(Form form) {
  for (uint32_t i = 0; i < all_.size(); ++i) {
    const Form& f = all_[i];
    if (f.kind == form.kind && f.dtype == form.dtype && f.shape == form.shape && f.fields == form.fields &&
        f.function == form.function && f.kind != ObjectKind::Data)
      return i;
  }
  form.block = block_of(form);
  all_.push_back(form);
  return static_cast<uint32_t>(all_.size()) - 1;
}

uint32_t Forms::tensor(DType dtype, const Shape& shape) {
  return find_or_add({.kind = ObjectKind::Tensor, .dtype = dtype, .shape = shape});
}
uint32_t Forms::tuple(uint32_t fields) { return find_or_add({.kind = ObjectKind::Tuple, .fields = fields}); }
uint32_t Forms::closure(uint32_t function, uint32_t captured) {
  return find_or_add({.kind = ObjectKind::Closure, .fields = captured, .function = function});
}
uint32_t Forms::reference() { return find_or_add({.kind = ObjectKind::Reference, .fields = 1}); }

std::vector<std::string> Forms::block_sizes() const {
  std::vector<std::string> out;
  for (const Block& b : blocks_)
    out.push_back(b.is_tensor ? format("RELAY_TENSOR_BYTES({})", b.size) : format("RELAY_FIELDS_BYTES({})", b.size));
  return out;
}

}  // namespace relay::c_project
