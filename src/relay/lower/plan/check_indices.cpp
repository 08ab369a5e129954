#include "relay/lower/plan/check_indices.h"

#include "relay/lower/plan/join.h"
#include "relay/scalar/simplify.h"
#include "relay/tensor/index_check.h"

namespace relay::lower {

static bool in_range(const Tensor& indices, const IndexCheck& check) {
  std::vector<int64_t> extents;
  for (const Expr& e : check.extents) {
    const Expr extent = scalar::simplify(e);
    if (!scalar::is_int(extent)) return false;
    extents.push_back(extent->ivalue);
  }
  const int64_t count = indices.elements(), slice = count / static_cast<int64_t>(extents.size());
  return !first_out_of_range(indices.data(), indices.dtype(), count, extents, slice, check.meaning.axes[0] != no_axis);
}

static int constant_array(FunctionPlan& plan, const Tensor& value) {
  Exprs shape;
  for (int64_t e : value.shape()) shape.push_back(scalar::imm(e));
  const int made = add_array(plan, Array::Kind::Constant, "indices", shape, value.dtype());
  plan.arrays[made].value = value;
  return made;
}

// The array of a tensor of `g`. Tensors computed within the group are computed by a separate group too.
static int array_of(FunctionPlan& plan, const Group& g, const te::Tensor& t, Rows rows) {
  for (size_t p = 0; p < g.params.size(); ++p)
    if (g.te.params[p] == t) return g.params[p];
  Group made = part_of(g, short_name(g.te.name + "_indices"), {t});
  const int array = add_array(plan, Array::Kind::Temporary, made.te.name, t->shape, t->dtype);
  plan.arrays[array].rows = rows;
  made.outputs = {array};
  plan.groups.push_back(std::move(made));
  return array;
}

void add_index_checks(FunctionPlan& plan, const Group& g, const te::Tensors& indices, const std::vector<Rows>& rows) {
  size_t next = 0;
  for (const CheckedTe& c : g.te.checks) {
    int array = -1;
    if (c.indices) {
      array = array_of(plan, g, indices[next], rows[next]);
      ++next;
      const Tensor& value = plan.arrays[array].value;
      if (value && in_range(value, c.check)) continue;
    } else {
      if (in_range(c.value, c.check)) continue;
      array = constant_array(plan, c.value);
    }
    Group check;
    check.te.name = "check_indices", check.te.sources = g.te.sources;
    check.te.params = {te::placeholder("indices", plan.arrays[array].shape, plan.arrays[array].dtype)};
    check.params = {array}, check.check = c.check;
    plan.groups.push_back(std::move(check));
  }
}

void copy_checked_indices(FunctionPlan& plan) {
  std::vector<Group> groups;
  for (Group& g : plan.groups) {
    if (g.check) {
      const Array a = plan.arrays[g.params[0]];
      if (a.kind == Array::Kind::Temporary && (a.view || !a.layout.is_row_major())) {
        const int dense = add_array(plan, Array::Kind::Temporary, "indices", a.shape, a.dtype);
        plan.arrays[dense].rows = a.rows;
        groups.push_back(copy_group(plan.arrays, "copy_indices", g, g.params[0], dense));
        g.params = {dense};
      }
    }
    groups.push_back(std::move(g));
  }
  plan.groups = std::move(groups);
}

}  // namespace relay::lower
