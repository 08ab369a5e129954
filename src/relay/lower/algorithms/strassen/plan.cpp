// Plans Strassen's form for products with constant weights. The quarters of these, which both forms read, their sums,
// and the sums of the data, which other products of the same data read too, are separate groups.
#include "relay/lower/algorithms/extreme_values.h"
#include "relay/lower/algorithms/strassen/strassen.h"

namespace relay::lower {

namespace {

struct Steps {
  static std::optional<Product> match(const Site& site) {
    const Group& g = site.group();
    if (g.on_images || g.form.schedule || g.when >= 0) return std::nullopt;
    return match_strassen(g.te.outputs, float_constants(site.plan, g), site.options.target);
  }

  static std::optional<Gain> estimate(const Product& product, const TargetDesc& target) {
    return estimate_strassen(product, target);
  }

  static bool rewrite(Site& site, const Product& product, const Gain& gain) {
    const Group g = site.group();
    if (has_large_weights(site.plan, g)) return false;
    const bool checked = site.options.numerics != Numerics::Fast;
    const StrassenForms forms = rewrite_strassen(g.te.outputs, product, checked);
    const auto& [quarters, sums, left] = std::tie(forms.quarters, forms.sums, forms.left);
    auto weight = [](const StrassenOperand& of) { return Strassen{.weight = of.value->name}; };
    const int quarters_of = array_of(site, g, "_quarters", quarters, layout_of_weight(), weight(quarters)),
              sums_of =
                  array_of(site, with(g, quarters, quarters_of), "_weights", sums, layout_of_weight(), weight(sums)),
              data = array_of(site, g, "_sums", left, layout_of_left(*left.value), {.left = left.value->name});
    auto reads = [&](const te::Tensors& outputs, const Strassen& names) {
      Group out = part_of(g, g.te.name, outputs);
      out.outputs = g.outputs, out.prefers_channels_last = g.prefers_channels_last;
      out.form = {.schedule = &strassen_schedule, .stages = names};
      return with(std::move(out), quarters, quarters_of);
    };
    site.group() = with(with(reads(forms.seven, forms.seven_names), sums, sums_of), left, data);
    site.group().form.gain = gain;
    if (checked) run_without_extremes(site, reads(forms.direct, forms.direct_names), forms.data);
    return true;
  }

  // Exact on small integers. Both forms compute their quarters and sums.
  static std::vector<Variant> variants(const te::Tensors& outputs, const std::set<std::string>& constants,
                                       const TargetDesc& target) {
    const std::optional<Product> product = match_strassen(outputs, constants, target);
    if (!product) return {};
    const StrassenForms forms = rewrite_strassen(outputs, *product, true);
    std::vector<Variant> out;
    for (const te::Tensors& form : {forms.seven, forms.direct}) {
      const te::Tensors made =
          te::replace(form, {{forms.sums.param, forms.sums.value}, {forms.left.param, forms.left.value}});
      out.push_back({te::replace(made, {{forms.quarters.param, forms.quarters.value}}), {}});
    }
    return out;
  }

  static Group with(Group group, const StrassenOperand& operand, int array) {
    group.te.params.push_back(operand.param), group.params.push_back(array);
    return group;
  }

  // The array of a form's operand, which a separate group computes from inputs of `g`.
  static int array_of(Site& site, const Group& g, const char* suffix, const StrassenOperand& operand,
                      const Layout& layout, const Strassen& names) {
    Group group = part_of(g, g.te.name + suffix, {operand.value});
    group.form = {.schedule = &strassen_schedule, .stages = names};
    const int array = shared(site.plan, std::move(group), site.before)[0];
    site.plan.arrays[array].layout = layout;
    return array;
  }
};

}  // namespace

extern const Algorithm strassen_algorithm = algorithm<Steps>(Rule::Strassen, Point::AfterOrders);

}  // namespace relay::lower
