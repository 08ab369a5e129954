// Fuzzes the reader of schedules, for a small group: a matrix product with an activation. A printed schedule must be
// read as the same schedule.
#include "relay/lower/schedule/schedule.h"

#include "input.h"

namespace {

relay::te::Tensors group() {
  using namespace relay;
  using scalar::imm;
  te::Tensor a = te::placeholder("a", {scalar::var("m"), imm(64)}, DType::float32());
  te::Tensor b = te::placeholder("b", {imm(64), imm(8)}, DType::float32());
  te::Tensor c =
      te::reduce("c", {a->shape[0], b->shape[1]}, {a->shape[1]}, te::Combiner::Sum,
                 [&](const te::Exprs& i, const te::Exprs& k) { return (*a)({i[0], k[0]}) * (*b)({k[0], i[1]}); });
  te::Tensor d = te::compute("d", c->shape, [&](const te::Exprs& i) { return max((*c)(i), scalar::fimm(0)); });
  return te::topological({d});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace relay;
  static const te::Tensors stages = group();
  Result<lower::Schedule> schedule = lower::parse_schedule(std::string(readers::text_of(data, size)), stages);
  if (!readers::is_sound(schedule)) return 0;
  const std::string printed = lower::str(*schedule, stages);
  Result<lower::Schedule> again = lower::parse_schedule(printed, stages);
  if (!readers::is_sound(again) || lower::str(*again, stages) != printed) std::abort();
  return 0;
}
