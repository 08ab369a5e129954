// einsum: products of tensors whose axes have names, summed over the names that the result lacks.
//
//   "bij,bjk->bik"     one matrix product for each b
//
// Operands are taken one after another. Each product is a batch of matrix products: names of both that remain are the
// batch, names of both that vanish are contracted, the others are rows and columns.
#include "relay/frontend/common/ops/einsum.h"

#include <algorithm>

#include "relay/scalar/simplify.h"

namespace relay::frontend {

using ir::Dims;
using ir::Expr;
using ir::Ints;

namespace {

// A tensor with a name for each axis. The axes of an ellipsis are named by the digits of their place from the end.
struct Named {
  Expr value;
  std::string axes;
};

bool has(const std::string& axes, char name) { return axes.find(name) != std::string::npos; }

Expr in_order(Conversion& c, const Named& t, const std::string& axes) {
  Ints order;
  for (char name : axes) order.push_back(static_cast<int64_t>(t.axes.find(name)));
  return c.transpose(t.value, order);
}

ir::Dim size_of(Conversion& c, const Named& t, char name) { return c.shape(t.value)[t.axes.find(name)]; }

// The diagonal of two axes of one extent, which is checked on entry to the program if it is open. It becomes the first
// axis: both are joined, and place k of it is place k * (extent + 1) of the two.
Expr diagonal(Conversion& c, const Expr& e, int64_t first, int64_t second) {
  const Dims shape = c.shape(e);
  Ints order{first, second};
  Dims joined{scalar::simplify(shape[static_cast<size_t>(first)] * shape[static_cast<size_t>(second)])};
  for (int64_t d = 0; d < c.rank(e); ++d) {
    if (d == first || d == second) continue;
    order.push_back(d), joined.push_back(shape[static_cast<size_t>(d)]);
  }
  Ints codes(joined.size(), 0);
  codes[0] = -3;
  const Expr rows = c.count_up(e, first), columns = c.count_up(e, second);
  const Expr places = c.add(c.multiply(rows, c.size_of(e, second)), columns);
  return c.emit("take", {c.reshape(c.transpose(e, order), joined, codes), places},
                {{"axis", int64_t{0}}, {"mode", "clip"}});
}

// Names that occur twice: the diagonals of their two axes.
bool take_diagonals(Conversion& c, Named& t) {
  for (size_t i = 0; i < t.axes.size(); ++i) {
    const char name = t.axes[i];
    const size_t second = t.axes.find(name, i + 1);
    if (second == std::string::npos) continue;
    const std::optional<int64_t> a = c.extent(t.value, static_cast<int64_t>(i)),
                                 b = c.extent(t.value, static_cast<int64_t>(second));
    if (a && b && *a != *b) {
      c.bad("'{}' names axes of {} and {} elements of {}", name, *a, *b, ir::str(t.value->type));
      return false;
    }
    t.value = diagonal(c, t.value, static_cast<int64_t>(i), static_cast<int64_t>(second));
    if (!t.value) return false;
    t.axes.erase(second, 1), t.axes.erase(i, 1), t.axes.insert(0, 1, name);
    i = static_cast<size_t>(-1);  // their order has changed
  }
  return true;
}

// Sums out the axes that occur nowhere else.
void sum_out(Conversion& c, Named& t, const std::string& needed) {
  Ints axes;
  std::string kept;
  for (size_t i = 0; i < t.axes.size(); ++i) {
    if (has(needed, t.axes[i]))
      kept += t.axes[i];
    else
      axes.push_back(static_cast<int64_t>(i));
  }
  if (!axes.empty()) t.value = c.reduce("sum", t.value, axes, false);
  t.axes = kept;
}

Named product(Conversion& c, Named a, Named b, const std::string& needed) {
  sum_out(c, a, needed + b.axes), sum_out(c, b, needed + a.axes);
  std::string batch, contracted, rows, columns;
  for (char name : a.axes) (!has(b.axes, name) ? rows : has(needed, name) ? batch : contracted) += name;
  for (char name : b.axes)
    if (!has(a.axes, name)) columns += name;
  if (!a.value || !b.value || c.failed()) return {};
  auto sizes = [&](const Named& t, const std::string& names) {
    Dims dims;
    for (char name : names) dims.push_back(size_of(c, t, name));
    return dims;
  };
  auto volume = [](const Dims& dims) {
    scalar::Expr count = scalar::imm(1);
    for (const ir::Dim& d : dims) count = count * d;
    return scalar::simplify(count);
  };
  // An axis of an ellipsis may be 1 in one of the two.
  Dims batches = sizes(a, batch), others = sizes(b, batch);
  for (size_t i = 0; i < batches.size(); ++i)
    if (is_int(batches[i], 1)) batches[i] = others[i];
  auto flat = [&](const Named& t, const std::string& first, const std::string& second) {
    Dims whole = batches, one = sizes(t, first), two = sizes(t, second);
    whole.insert(whole.end(), one.begin(), one.end()), whole.insert(whole.end(), two.begin(), two.end());
    return c.reshape(c.broadcast_to(in_order(c, t, batch + first + second), whole),
                     {volume(batches), volume(one), volume(two)});
  };
  Expr left = flat(a, rows, contracted), right = flat(b, contracted, columns);
  Expr matrices = c.emit("nn.batch_matmul", {left, right}, {{"transpose_a", false}, {"transpose_b", false}});
  Dims shape = batches, m = sizes(a, rows), n = sizes(b, columns);
  shape.insert(shape.end(), m.begin(), m.end()), shape.insert(shape.end(), n.begin(), n.end());
  return {c.reshape(matrices, shape), batch + rows + columns};
}

// The names of one term, with the ellipsis as `digits` names.
std::optional<std::string> names(Conversion& c, std::string_view term, size_t digits) {
  std::string axes;
  for (size_t i = 0; i < term.size(); ++i) {
    if (std::isalpha(static_cast<unsigned char>(term[i]))) {
      axes += term[i];
    } else if (term.substr(i, 3) == "...") {
      for (size_t k = digits; k-- > 0;) axes += static_cast<char>('0' + k);
      i += 2;
    } else {
      return c.bad("the equation has '{}'", term[i]);
    }
  }
  return axes;
}

}  // namespace

Expr einsum(Conversion& c, std::string equation, const ir::Exprs& inputs) {
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow);
  std::vector<std::string> terms{""};
  for (char letter : left)
    if (letter == ',')
      terms.emplace_back();
    else
      terms.back() += letter;
  if (terms.size() != inputs.size())
    return c.bad("the equation '{}' has {} terms for {} inputs", equation, terms.size(), inputs.size());
  std::vector<Named> all;
  size_t most = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const bool open = terms[i].find("...") != std::string::npos;
    const size_t letters = terms[i].size() - (open ? 3 : 0), rank = static_cast<size_t>(c.rank(inputs[i]));
    if (open ? letters > rank : letters != rank)
      return c.bad("term '{}' does not fit {}", terms[i], ir::str(inputs[i]->type));
    const size_t digits = open ? rank - letters : 0;
    if (digits > 10) return c.unsupported("an ellipsis of {} axes", digits);
    most = std::max(most, digits);
    std::optional<std::string> axes = names(c, terms[i], digits);
    if (!axes) return nullptr;
    all.push_back({inputs[i], *axes});
    if (!take_diagonals(c, all.back())) return nullptr;
  }
  std::string result;
  if (arrow != std::string::npos) {
    std::optional<std::string> axes = names(c, std::string_view(equation).substr(arrow + 2), most);
    if (!axes) return nullptr;
    result = *axes;
  } else {
    // Names that occur once, in alphabetical order.
    for (size_t k = most; k-- > 0;) result += static_cast<char>('0' + k);
    std::string sorted = left;
    std::sort(sorted.begin(), sorted.end());
    for (char name : sorted)
      if (std::isalpha(static_cast<unsigned char>(name)) && std::count(left.begin(), left.end(), name) == 1)
        result += name;
  }
  Named done = all[0];
  for (size_t i = 1; i < all.size(); ++i) {
    std::string needed = result;
    for (size_t k = i + 1; k < all.size(); ++k) needed += all[k].axes;
    done = product(c, done, all[i], needed);
    if (!done.value) return nullptr;
  }
  sum_out(c, done, result);
  for (char name : result)
    if (!has(done.axes, name)) return c.bad("the result of '{}' has '{}', which no term has", equation, name);
  if (done.axes.size() != result.size()) return c.bad("the result of '{}' names an axis twice", equation);
  return in_order(c, done, result);
}

}  // namespace relay::frontend
