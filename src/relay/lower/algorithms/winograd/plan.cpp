// Plans Winograd's form for convolutions over images with constant weights.
#include "relay/lower/algorithms/extreme_values.h"
#include "relay/lower/algorithms/winograd/winograd.h"

namespace relay::lower {

namespace {

struct Steps {
  struct Found {
    Convolution conv;
    WinogradTile tile{};
  };

  static std::optional<Found> match(const Site& site) {
    const Group& g = site.group();
    if (!g.on_images || g.form.schedule) return std::nullopt;
    std::set<std::string> weights = float_constants(site.plan, g);
    each_array(site.plan, g, [&](const te::Tensor& t, const Array& a) {
      if (a.kind == Array::Kind::Constant && a.dtype == DType::int8()) weights.insert(t->name);
    });
    std::optional<Convolution> conv = match_winograd(g.te.outputs, weights);
    if (!conv) return std::nullopt;
    if (conv->on_integers()) leave_out_inexact(site, *conv);
    return conv->tiles.empty() ? std::nullopt : std::optional(Found{*conv});
  }

  static std::optional<Gain> estimate(Found& found, const TargetDesc& target) {
    const std::optional<WinogradChoice> choice = choose_winograd(found.conv, target);
    if (!choice) return std::nullopt;
    found.tile = choice->tile;
    return choice->gain;
  }

  static bool rewrite(Site& site, const Found& found, const Gain& gain) {
    Group& g = site.group();
    const bool on_integers = found.conv.on_integers();
    if (!on_integers && has_large_weights(site.plan, g)) return false;
    Group direct = g;
    const Winograd stages = rewrite_winograd(g.te.outputs, found.conv, found.tile);
    g.form = form_of(stages);
    g.form.gain = gain;
    if (!on_integers) run_without_extremes(site, std::move(direct), stages.data);
    return true;
  }

  // Leaves the tiles with which the results are exact.
  static void leave_out_inexact(const Site& site, Convolution& conv) {
    Tensor weight;
    each_array(site.plan, site.group(), [&](const te::Tensor& t, const Array& a) {
      if (t->name == conv.weight->source->name) weight = a.value;
    });
    std::erase_if(conv.tiles, [&](const WinogradTile& tile) { return !weight || !results_fit(conv, tile, weight); });
  }

  // On floats, tiles of two outputs are exact on small integers.
  static std::vector<Variant> variants(const te::Tensors& outputs, const std::set<std::string>& constants,
                                       const TargetDesc&) {
    std::vector<Variant> out;
    const std::optional<Convolution> conv = match_winograd(outputs, constants);
    if (!conv) return out;
    auto exact = [&](const Winograd::Side& side) {
      return conv->on_integers() || side.r == 1 || (side.r == 3 && side.m == 2);
    };
    for (const WinogradTile& tile : conv->tiles) {
      if (!exact(tile.y) || !exact(tile.x)) continue;
      Variant variant{outputs, {}};
      variant.form = form_of(rewrite_winograd(variant.outputs, *conv, tile));
      out.push_back(std::move(variant));
    }
    return out;
  }

  static GroupForm form_of(const Winograd& stages) {
    return {.schedule = &winograd_schedule, .stages = stages, .weight = stages.weight};
  }
};

}  // namespace

extern const Algorithm winograd_algorithm = algorithm<Steps>(Rule::Winograd, Point::AfterOrders);

}  // namespace relay::lower
