#include "relay/frontend/tflite/sparse.h"

#include <algorithm>
#include <cstring>

namespace relay::tflite {

namespace {

// The axes of the dense tensor are walked in an order of traversal, blocks of them after all others. A dense axis has
// all of its indices; a sparse one those of the row that the walk so far has reached.
class Walk {
 public:
  Walk(const TensorEntry& entry, char* out, size_t width)
      : entry_(entry), s_(*entry.sparsity), out_(out), width_(width) {}

  // False if the description contradicts the shape or the data.
  bool run() {
    if (!prepare()) return false;
    index_.assign(s_.axes.size(), 0);
    return visit(0, 0) && next_ * width_ == entry_.data.size();
  }

 private:
  bool prepare() {
    const size_t rank = entry_.shape.size(), levels = s_.traversal_order.size();
    if (levels != s_.axes.size() || levels != rank + s_.block_map.size() || levels > 32) return false;
    std::vector<int64_t> sorted = s_.traversal_order;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < levels; ++i)
      if (sorted[i] != static_cast<int64_t>(i)) return false;
    block_.assign(s_.block_map.size(), 1);
    outer_ = entry_.shape;
    for (size_t level = 0; level < levels; ++level) {
      const int64_t axis = s_.traversal_order[level] - static_cast<int64_t>(rank);
      if (axis < 0) continue;
      const int64_t of = s_.block_map[static_cast<size_t>(axis)], size = s_.axes[level].size;
      if (level < rank || s_.axes[level].is_sparse || of < 0 || of >= static_cast<int64_t>(rank) || size < 1 ||
          outer_[static_cast<size_t>(of)] % size)
        return false;
      block_[static_cast<size_t>(axis)] = size;
      outer_[static_cast<size_t>(of)] /= size;
    }
    for (size_t level = 0; level < rank; ++level)
      if (!s_.axes[level].is_sparse && s_.axes[level].size != outer_[static_cast<size_t>(s_.traversal_order[level])])
        return false;
    return true;
  }

  bool visit(size_t level, int64_t row) {
    if (level == s_.axes.size()) return store();
    const SparseAxis& axis = s_.axes[level];
    if (!axis.is_sparse) {
      for (int64_t i = 0; i < axis.size; ++i) {
        index_[level] = i;
        if (!visit(level + 1, row * axis.size + i)) return false;
      }
      return true;
    }
    if (row + 1 >= std::ssize(axis.segments)) return false;
    const int64_t begin = axis.segments[static_cast<size_t>(row)], end = axis.segments[static_cast<size_t>(row) + 1];
    if (begin < 0 || end < begin || end > std::ssize(axis.indices)) return false;
    const int64_t size = outer_[static_cast<size_t>(s_.traversal_order[level])];
    for (int64_t i = begin; i < end; ++i) {
      index_[level] = axis.indices[static_cast<size_t>(i)];
      if (index_[level] < 0 || index_[level] >= size || !visit(level + 1, i)) return false;
    }
    return true;
  }

  bool store() {
    const size_t rank = entry_.shape.size();
    if ((next_ + 1) * width_ > entry_.data.size()) return false;
    std::vector<int64_t> place(rank);
    for (size_t level = 0; level < index_.size(); ++level) {
      const size_t axis = static_cast<size_t>(s_.traversal_order[level]);
      if (axis < rank) {
        place[axis] = index_[level];
      } else {
        int64_t& at = place[static_cast<size_t>(s_.block_map[axis - rank])];
        at = at * block_[axis - rank] + index_[level];
      }
    }
    int64_t flat = 0;
    for (size_t axis = 0; axis < rank; ++axis) flat = flat * entry_.shape[axis] + place[axis];
    std::memcpy(out_ + static_cast<size_t>(flat) * width_, entry_.data.data() + next_ * width_, width_);
    ++next_;
    return true;
  }

  const TensorEntry& entry_;
  const Sparsity& s_;
  char* out_;
  const size_t width_;  // bytes of an element
  std::vector<int64_t> block_, outer_, index_;
  size_t next_ = 0;  // stored elements so far
};

}  // namespace

Result<Tensor> dense_value(const TensorEntry& entry, function_ref<bool(int64_t bytes)> may_make) {
  const std::optional<DType> dtype = type_dtype(entry.type);
  if (!dtype)
    return frontend::tensor_problem(DiagnosticKind::unsupported_operator, entry.name,
                                    format("has elements of {}, which Relay has no tensors of", type_name(entry.type)));
  RELAY_ASSIGN(const frontend::TensorSize size, frontend::tensor_size(entry.name, entry.shape, *dtype));
  if (!may_make(size.bytes))
    return frontend::tensor_problem(DiagnosticKind::limit_exceeded, entry.name,
                                    format("is sparse, and has {} bytes with its zeros: too many", size.bytes));
  Tensor dense = Tensor::full(entry.shape, *dtype, 0);
  if (Walk(entry, static_cast<char*>(dense.mutable_data()), static_cast<size_t>(dtype->bytes())).run()) return dense;
  return frontend::tensor_problem(DiagnosticKind::bad_model, entry.name,
                                  "is sparse, and its description contradicts its shape or its data");
}

}  // namespace relay::tflite
