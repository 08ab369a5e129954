// Tables that look up texts or whole numbers. A handle is the number of its table. Both it and the contents are known
// at import.
#include <map>

#include "relay/frontend/tflite/convert.h"

namespace relay::tflite::convert {

using ir::Expr;

static HashTable* table_of(Convert& c) {
  const KnownRef known = c.known(0);
  if (known && known->values.size() == 1 && is_int(known->values[0])) return &c.hash_table(known->values[0]->ivalue);
  c.unsupported("its table is not known at import");
  return nullptr;
}

static HashTable* filled_table_of(Convert& c) {
  HashTable* table = table_of(c);
  if (table && table->keys) return table;
  if (table) c.bad("nothing has filled its table");
  return nullptr;
}

Values HASHTABLE(Convert& c) { return {known_scalar(scalar::imm(c.integer("table_id", 0)), DType::int64())}; }

// Inputs: the table, keys, values. Of several equal keys the first counts, and of several imports.
Values HASHTABLE_IMPORT(Convert& c) {
  HashTable* table = table_of(c);
  const ir::Constant *keys = ir::as<ir::Constant>(c.input(1)), *values = ir::as<ir::Constant>(c.input(2));
  if (!table || table->keys) return {};
  if (!keys || !values) return c.unsupported("its keys or values are computed");
  const int64_t count = keys->value.elements();
  if (count != values->value.elements() || keys->value.dtype() != DType::int64() ||
      values->value.dtype() != DType::int64())
    return c.bad("{} keys of {} and {} values of {}", count, keys->value.dtype().str(), values->value.elements(),
                 values->value.dtype().str());
  const std::vector<int64_t> from = keys->value.to_ints(), to = values->value.to_ints();
  std::map<int64_t, int64_t> entries;
  for (size_t i = 0; i < from.size(); ++i) entries.try_emplace(from[i], to[i]);
  ir::Ints sorted, found;
  for (auto [key, value] : entries) sorted.push_back(key), found.push_back(value);
  table->keys = Tensor::from_ints({std::ssize(sorted)}, DType::int64(), sorted);
  table->values = Tensor::from_ints({std::ssize(found)}, DType::int64(), found);
  return {};
}

// Inputs: the table, keys, the value for keys that it lacks.
Values HASHTABLE_FIND(Convert& c) {
  const HashTable* table = filled_table_of(c);
  const Expr x = c.input(1), otherwise = c.input(2);
  if (!table || !x || !otherwise) return {};
  if (c.dtype(x) != DType::int64() || c.dtype(otherwise) != DType::int64())
    return c.bad("keys of {} and a value of {}", c.dtype(x).str(), c.dtype(otherwise).str());
  const Expr other = c.rank(otherwise) == 0 ? otherwise : c.reshape(otherwise, {});
  if (table->keys.elements() == 0) return {c.broadcast_to(other, c.shape(x))};
  const Expr keys = c.constant(table->keys);
  const Expr place = c.emit("searchsorted", {keys, x}, {{"dtype", DType::int64()}});
  auto at = [&](const Expr& e) { return c.emit("take", {e, place}, {{"axis", int64_t{0}}, {"mode", "clip"}}); };
  return {c.emit("where", {c.emit("equal", {at(keys), x}), at(c.constant(table->values)), other})};
}

Values HASHTABLE_SIZE(Convert& c) {
  const HashTable* table = filled_table_of(c);
  if (!table) return {};
  return {c.constant(Tensor::full({1}, DType::int64(), static_cast<double>(table->keys.elements())))};
}

}  // namespace relay::tflite::convert
