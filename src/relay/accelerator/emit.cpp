#include "relay/accelerator/emit.h"

#include <algorithm>

namespace relay::accelerator {

void Emitter::emit(const Network& network, const Layer& layer, const Places& places) {
  ++layer_;
  if (layer.is_convolution())
    convolution(network, layer, places);
  else
    sum(network, layer, places);
}

static uint32_t at(uint32_t base, int64_t beats) { return base + static_cast<uint32_t>(16 * beats); }

// --- convolutions ----------------------------------------------------------------------------------------------------

void Emitter::convolution(const Network& network, const Layer& layer, const Places& places) {
  const Shape s = shape_of(network, layer);
  const Tile t = *choose_tile(s, timing_);
  const auto pixels = [&](auto each) {
    for (int n = 0; n < s.images; n += t.images)
      for (int y = 0; y < s.height; y += t.rows)
        for (int x = 0; x < s.width; x += t.columns)
          each(Part{n, std::min(t.images, s.images - n), y, std::min(t.rows, s.height - y), x,
                    std::min(t.columns, s.width - x), 0, 0});
  };
  const auto outputs = [&](auto each) {
    for (int o = 0; o < s.outputs; o += t.outputs) each(o, std::min(t.outputs, s.outputs - o));
  };
  const auto one = [&](Part part, int o, int count) {
    part.output = o, part.outputs = count;
    tile(network, layer, places, part, t.inputs);
  };
  if (t.pixels_outer)
    pixels([&](const Part& part) { outputs([&](int o, int count) { one(part, o, count); }); });
  else
    outputs([&](int o, int count) { pixels([&](const Part& part) { one(part, o, count); }); });
}

void Emitter::tile(const Network& network, const Layer& layer, const Places& places, const Part& part, int chunk) {
  const Array &in = network.arrays[layer.input], &out = network.arrays[layer.output];
  const int sum = next_sum_;
  next_sum_ = half(Space::Sum) - next_sum_;
  for (int input = 0; input < in.blocks(); input += chunk) {
    const int inputs = std::min(chunk, in.blocks() - input);
    // Weights first: they need not wait for the layer before.
    const int weight = load_weights(in, layer, places, part, input, inputs);
    const int data = load_data(in, layer, places, part, input, inputs);
    multiply(layer, part, sum, data, weight, inputs, input == 0);
  }
  finish(out, layer, places, part, sum);
}

int Emitter::load_weights(const Array& in, const Layer& layer, const Places& places, const Part& part, int input,
                          int inputs) {
  return weight_.get({layer_, part.output, input}, [&](int row) {
    const int taps = layer.kernel[0] * layer.kernel[1];
    Instruction i;
    i.opcode = Opcode::LoadWeight, i.row = row, i.lines = part.outputs, i.columns = inputs * taps;
    i.pitch = static_cast<uint32_t>(in.blocks() * taps * 256);
    i.address =
        places.weights + static_cast<uint32_t>(part.output) * i.pitch + static_cast<uint32_t>(input * taps * 256);
    sequence_.add(i);
  });
}

int Emitter::load_data(const Array& in, const Layer& layer, const Places& places, const Part& part, int input,
                       int inputs) {
  return data_.get({layer_, part.image, part.y, part.x, input}, [&](int row) {
    const int height = (part.rows - 1) * layer.stride[0] + (layer.kernel[0] - 1) * layer.dilation[0] + 1;
    const int width = (part.columns - 1) * layer.stride[1] + (layer.kernel[1] - 1) * layer.dilation[1] + 1;
    const int y = part.y * layer.stride[0] - layer.padding[0], x = part.x * layer.stride[1] - layer.padding[1];
    Instruction i;
    i.opcode = Opcode::LoadData, i.pad = layer.pad, i.pitch = static_cast<uint32_t>(16 * in.width);
    i.top = std::max(0, -y), i.left = std::max(0, -x);
    i.bottom = std::max(0, y + height - in.height), i.right = std::max(0, x + width - in.width);
    i.lines = height - i.top - i.bottom, i.columns = width - i.left - i.right;
    const bool whole = i.lines == in.height && i.columns == in.width && height == in.height && width == in.width;
    for (int n = part.image; n < part.image + part.images; ++n)
      for (int b = input; b < input + inputs; ++b) {
        const int64_t plane = (int64_t{n} * in.blocks() + b) * in.height * in.width;
        i.row = row;
        i.address = at(places.input, plane + int64_t{y + i.top} * in.width + x + i.left);
        if (whole) {  // blocks are neighbours in memory
          i.lines = inputs, i.columns = in.height * in.width, i.pitch = static_cast<uint32_t>(16 * i.columns);
          b = input + inputs;
        }
        sequence_.add(i);
        row += static_cast<int>(i.moved_rows());
      }
  });
}

// Loops from the outermost to the innermost: images, output and input blocks, taps, pixels. The four innermost ones
// that have more than one iteration are loops of an instruction, the others are instructions.
void Emitter::multiply(const Layer& layer, const Part& part, int sum, int data, int weight, int inputs, bool first) {
  const int taps = layer.kernel[0] * layer.kernel[1], pixels = part.rows * part.columns;
  const int width = (part.columns - 1) * layer.stride[1] + (layer.kernel[1] - 1) * layer.dilation[1] + 1;
  const int plane = width * ((part.rows - 1) * layer.stride[0] + (layer.kernel[0] - 1) * layer.dilation[0] + 1);
  std::vector<Loop> all = {{part.images, part.outputs * pixels, inputs * plane, 0},
                           {part.outputs, pixels, 0, inputs * taps},
                           {inputs, 0, plane, taps},
                           {layer.kernel[0], 0, layer.dilation[0] * width, layer.kernel[1]},
                           {layer.kernel[1], 0, layer.dilation[1], 1},
                           {part.rows, part.columns, layer.stride[0] * width, 0},
                           {part.columns, 1, layer.stride[1], 0}};
  std::erase_if(all, [](const Loop& l) { return l.extent == 1; });
  const size_t outer = all.size() > loops ? all.size() - loops : 0;

  Instruction base;
  base.opcode = Opcode::Multiply;
  std::copy(all.begin() + static_cast<ptrdiff_t>(outer), all.end(),
            base.loop.end() - static_cast<ptrdiff_t>(all.size() - outer));
  const auto visit = [&](auto&& self, size_t depth, int s, int d, int w, bool clear) -> void {
    if (depth == outer) {
      base.sum = s, base.data = d, base.weight = w, base.clear = clear;
      sequence_.add(base);
      return;
    }
    const Loop& l = all[depth];
    for (int k = 0; k < l.extent; ++k)
      self(self, depth + 1, s + k * l.sum_step, d + k * l.data_step, w + k * l.weight_step,
           clear && (l.sum_step != 0 || k == 0));
  };
  visit(visit, 0, sum, data, weight, first);
}

// --- results ---------------------------------------------------------------------------------------------------------

int Emitter::load_params(const Layer& layer, const Places& places, const Part& part) {
  return param_.get({layer_, part.output}, [&](int row) {
    Instruction i;
    i.opcode = Opcode::LoadParam, i.row = row, i.lines = 1, i.columns = part.outputs;
    i.address = places.params + static_cast<uint32_t>(256 * part.output);
    sequence_.add(i);
    if (layer.scales.size() == 1) return;
    const size_t all = (layer.scales[0].bias.size() + lanes - 1) / lanes;
    i.row = row + part.outputs, i.columns = static_cast<int>(layer.scales.size()) - 1;
    i.address = places.params + static_cast<uint32_t>(256 * all);
    sequence_.add(i);
  });
}

int Emitter::load_addend(const Array& out, const Places& places, const Part& part) {
  return data_.get({layer_, part.image, part.y, part.x, -1 - part.output}, [&](int row) {
    for (int n = part.image; n < part.image + part.images; ++n)
      for (int b = part.output; b < part.output + part.outputs; ++b) {
        const int64_t plane = (int64_t{n} * out.blocks() + b) * out.height * out.width;
        Instruction i;
        i.opcode = Opcode::LoadData, i.row = row, i.lines = part.rows, i.columns = part.columns;
        i.pitch = static_cast<uint32_t>(16 * out.width);
        i.address = at(places.addend, plane + int64_t{part.y} * out.width + part.x);
        sequence_.add(i);
        row += static_cast<int>(i.moved_rows());
      }
  });
}

// An instruction for all rows of a tile: those of a block have the same row of parameters.
void Emitter::vector(const Part& part, Instruction i, int sum, int data, int param, bool param_for_all) {
  const int pixels = part.rows * part.columns, blocks = part.outputs;
  i.opcode = Opcode::Vector;
  i.sum = sum, i.data = data, i.weight = param;
  i.loop[0] = {part.images, blocks * pixels, blocks * pixels, 0};
  i.loop[1] = {blocks, pixels, pixels, param_for_all ? 0 : 1};
  i.loop[2] = {pixels, 1, 1, 0};
  sequence_.add(i);
}

static Instruction limited(Instruction i, const Limits& limits) {
  i.clip = true, i.low = limits.low, i.high = limits.high;
  return i;
}

void Emitter::finish(const Array& out, const Layer& layer, const Places& places, const Part& part, int sum) {
  const int param = load_params(layer, places, part);
  Instruction scale, last;
  scale.function = Function::Scale;
  last.to_out = true;
  if (out.is_wide) return finish_wide(out, layer, places, part, sum, param);
  if (!layer.addend) {
    last.function = Function::Scale;
    vector(part, limited(last, layer.limits), sum, 0, param, false);
  } else {
    const int addend = load_addend(out, places, part);
    vector(part, limited(scale, layer.inner), sum, 0, param, false);
    vector(part, scale, sum, 0, param + part.outputs, true);
    last.function = Function::AddScaled, last.operand = Operand::Data;
    vector(part, limited(last, layer.limits), sum, addend, param + part.outputs + 1, true);
  }
  store(out, layer, places.output, part, sum);
}

// The four bytes of sums, one after the other.
void Emitter::finish_wide(const Array& out, const Layer& layer, const Places& places, const Part& part, int sum,
                          int param) {
  Instruction bias, shift;
  bias.function = Function::Add, bias.operand = Operand::Param;
  vector(part, bias, sum, 0, param, false);
  for (int byte = 0; byte < 4; ++byte) {
    shift.function = Function::Shift, shift.immediate = static_cast<int16_t>(8 * byte), shift.to_out = true;
    vector(part, shift, sum, 0, 0, true);
    store(out, layer, at(places.output, byte * out.plane_beats()), part, sum);
  }
}

void Emitter::store(const Array& out, const Layer& layer, uint32_t place, const Part& part, int row) {
  const auto [step_y, step_x] = layer.step;
  const auto [phase_y, phase_x] = layer.phase;
  for (int n = part.image; n < part.image + part.images; ++n)
    for (int b = part.output; b < part.output + part.outputs; ++b) {
      const int64_t plane = (int64_t{n} * out.blocks() + b) * out.height * out.width;
      const auto pixel = [&](int y) {
        return at(place, plane + int64_t{y * step_y + phase_y} * out.width + part.x * step_x + phase_x);
      };
      Instruction i;
      i.opcode = Opcode::Store, i.row = row;
      if (step_x == 1) {
        i.lines = part.rows, i.columns = part.columns, i.pitch = static_cast<uint32_t>(16 * out.width * step_y);
        i.address = pixel(part.y);
        sequence_.add(i);
      } else {  // pixels of a row are apart
        i.lines = part.columns, i.columns = 1, i.pitch = static_cast<uint32_t>(16 * step_x);
        for (int y = part.y; y < part.y + part.rows; ++y, i.row += part.columns) i.address = pixel(y), sequence_.add(i);
      }
      row += part.rows * part.columns;
    }
}

// --- sums ------------------------------------------------------------------------------------------------------------

void Emitter::sum(const Network& network, const Layer& layer, const Places& places) {
  const int64_t all = network.arrays[layer.output].beats();
  const int most = half(Space::Sum);
  const int param = param_.get({layer_}, [&](int row) {
    Instruction i;
    i.opcode = Opcode::LoadParam, i.row = row, i.lines = 1, i.columns = 2, i.address = places.params;
    sequence_.add(i);
  });
  for (int64_t first = 0; first < all; first += most) {
    const Part part{0, 1, 0, 1, 0, static_cast<int>(std::min<int64_t>(most, all - first)), 0, 1};
    const auto load = [&](uint32_t place, int which) {
      return data_.get({layer_, first, which}, [&](int row) {
        Instruction i;
        i.opcode = Opcode::LoadData, i.row = row, i.lines = 1, i.columns = part.columns, i.address = at(place, first);
        sequence_.add(i);
      });
    };
    const int sum = next_sum_;
    next_sum_ = half(Space::Sum) - next_sum_;
    Instruction move, scale, last, store;
    move.operand = Operand::Data;
    vector(part, move, sum, load(places.input, 0), 0, true);
    scale.function = Function::Scale;
    vector(part, scale, sum, 0, param, true);
    last.function = Function::AddScaled, last.operand = Operand::Data, last.to_out = true;
    vector(part, limited(last, layer.limits), sum, load(places.addend, 1), param + 1, true);
    store.opcode = Opcode::Store, store.row = sum, store.lines = 1, store.columns = part.columns;
    store.address = at(places.output, first);
    sequence_.add(store);
  }
}

}  // namespace relay::accelerator
