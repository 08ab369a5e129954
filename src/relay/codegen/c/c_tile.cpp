// Register tiles as scalars: compilers keep these in registers at every level of optimisation, an array only if they
// unroll the loops around it themselves.
//
//   float acc[2];                                   float acc_0 = 0.0f, acc_1 = 0.0f;
//   for (j = 0; j < 2; ++j) acc[j] += x * w[j];     acc_0 += x * w[0]; acc_1 += x * w[1];
#include "relay/codegen/c/c_kernel.h"
#include "relay/codegen/scalar_form.h"
#include "relay/scalar/simplify.h"

namespace relay::codegen {

using loop::Buffer;
using loop::Stmt;
using scalar::Expr;
using scalar::Exprs;

// The flat index of an element; unset if it is not constant.
static std::optional<int64_t> flat_index(const Buffer& buffer, const Exprs& indices) {
  int64_t flat = 0;
  for (size_t d = 0; d < indices.size(); ++d) {
    const Expr index = scalar::simplify(indices[d]);
    if (!scalar::is_int(index)) return {};
    flat = flat * buffer.shape[d]->ivalue + index->ivalue;
  }
  return flat;
}

std::optional<std::string> CKernelWriter::scalar_of(const Buffer& buffer, const Exprs& indices) const {
  const auto tile = tiles_.find(&buffer);
  if (tile == tiles_.end()) return {};
  const auto found = tile->second.find(*flat_index(buffer, indices));
  return found == tile->second.end() ? std::string() : found->second;
}

bool CKernelWriter::alloc_tile(const Stmt& s) {
  const Buffer& b = *s->buffer;
  if (form_.entry == CKernelForm::Entry::Pointers || !may_be_scalars(b)) return false;
  std::set<int64_t> reads;
  bool constant = true;
  for_each_access(s->body[0], [&](const Buffer& buffer, const Exprs& indices, bool stored) {
    if (&buffer != &b) return;
    const std::optional<int64_t> flat = flat_index(b, indices);
    constant = constant && flat;
    if (flat && !stored) reads.insert(*flat);
  });
  if (!constant) return false;
  Tile tile;
  const Dialect& d = *form_.dialect;
  const std::string type = d.stored_type(b.dtype);
  std::vector<std::string> declared;
  const char* zero = !b.dtype.is_float() ? "0" : b.dtype.bits == 64 ? "0.0" : "0.0f";
  for (int64_t element : reads) {
    tile[element] = unique(format("{}_{}", b.name, element));
    const std::string first = is_half(b.dtype) ? "0" : zero;
    if (d.names_first)
      line(d.variable(type, tile[element], first));
    else
      declared.push_back(format("{} = {}", tile[element], first));
  }
  if (!declared.empty()) line(d.variable(type, format("{}", join(declared, ", "))));
  std::swap(tiles_[&b], tile);
  stmt(s->body[0]);
  tiles_.erase(&b);
  return true;
}

}  // namespace relay::codegen
