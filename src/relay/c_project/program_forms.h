// The forms of a program's values: the tensors of each type and shape, the tuples of each size, the constructors, the
// closures of each function, references. An object of a form has a fixed size, and its header has the form's number.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "relay/runtime/program/program.h"

namespace relay::c_project {

struct Form {
  runtime::ObjectKind kind = runtime::ObjectKind::Tuple;
  DType dtype{};               // Tensor
  Shape shape{};               // Tensor
  uint32_t fields = 0;         // the others
  uint32_t function = 0;       // Closure
  uint32_t type = 0, tag = 0;  // Data
  uint32_t block = 0;          // the index in block_sizes()
};

class Forms {
 public:
  explicit Forms(const runtime::Program& program);  // the constructors of a type are numbered by tag
  uint32_t tensor(DType dtype, const Shape& shape);
  uint32_t tuple(uint32_t fields);
  uint32_t constructor(uint32_t type, uint32_t tag) const { return first_[type] + tag; }
  uint32_t closure(uint32_t function, uint32_t captured);
  uint32_t reference();
  const std::vector<Form>& all() const { return all_; }

  // The sizes of objects, as C expressions. The first is that of a tensor whose elements are elsewhere.
  std::vector<std::string> block_sizes() const;

 private:
  uint32_t find_or_add(Form form);
  uint32_t block_of(const Form& form);

  std::vector<Form> all_;
  std::vector<uint32_t> first_;  // by type
  struct Block {
    bool is_tensor = false;
    int64_t size = 0;  // bytes of elements, or fields
    bool operator==(const Block&) const = default;
  };
  std::vector<Block> blocks_;
};

}  // namespace relay::c_project
