#include <cstring>

#include "relay/base/function_ref.h"
#include "relay/base/output_file.h"
#include "relay/runtime/artifacts/artifact.h"
#include "relay/runtime/artifacts/artifact_format.h"
#include "relay/runtime/artifacts/checksums.h"
#include "relay/tensor/memory.h"

namespace relay::runtime {

static std::string_view bytes_of(const Tensor& t) { return {static_cast<const char*>(t.data()), t.bytes()}; }

namespace {

class Writer {
 public:
  std::string bytes;

  template <class T>
    requires std::is_integral_v<T>
  void number(T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void text(std::string_view s) {
    number(static_cast<uint32_t>(s.size()));
    bytes.append(s);
  }
  template <class T, class WriteOne>
  void list(const std::vector<T>& items, WriteOne write_one) {
    number(static_cast<uint32_t>(items.size()));
    for (const T& item : items) write_one(item);
  }
  void size(const SizeExpr& e) {
    list(e.words, [&](const SizeWord& w) {
      number(static_cast<uint8_t>(w.op));
      number(w.value);
    });
  }
  void dtype(DType t) {
    number(static_cast<uint8_t>(t.code));
    number(t.bits);
  }
  void range(Range r) {
    number(r.begin);
    number(r.count);
  }
  void texts(const std::vector<std::string>& items) {
    list(items, [&](const std::string& s) { text(s); });
  }
  void indices(const std::vector<uint32_t>& items) {
    list(items, [&](uint32_t i) { number(i); });
  }
  void sizes(const std::vector<SizeExpr>& items) {
    list(items, [&](const SizeExpr& e) { size(e); });
  }
  void bindings(const std::vector<VariableBinding>& items) {
    list(items, [&](const VariableBinding& b) {
      number(b.variable);
      number(b.input);
      number(b.dim);
      number(b.factor);
      number(b.offset);
    });
  }
  void checks(const std::vector<Check>& items) {
    list(items, [&](const Check& c) {
      size(c.condition);
      text(c.message);
    });
  }
  void segment(const Segment& s) {
    text(s.name);
    number(static_cast<uint8_t>(s.batching));
    texts(s.variables);
    indices(s.inputs);
    indices(s.outputs);
    texts(s.output_names);
    bindings(s.bindings);
    checks(s.checks);
    list(s.arrays, [&](const Array& a) {
      number(static_cast<uint8_t>(a.kind));
      text(a.name);
      dtype(a.dtype);
      sizes(a.shape);
      size(a.bytes);
      number(a.index);
      size(a.offset);
      number(static_cast<uint8_t>(a.rows));
      number(static_cast<uint8_t>(a.in_place.has_value()));
      number(a.memory);
      if (a.in_place) number(a.in_place->input), number(static_cast<uint8_t>(a.in_place->updates));
    });
    sizes(s.sizes);
    indices(s.operands);
    list(s.index_checks, [&](const IndexCheck& c) {
      text(c.op);
      text(c.place);
      list(c.axes, [&](int64_t axis) { number(axis); });
      number(static_cast<uint8_t>(c.rows));
    });
    list(s.steps, [&](const Step& step) {
      number(static_cast<uint8_t>(step.kind));
      number(step.kernel);
      range(step.args);
      range(step.sizes);
      number(step.tasks);
    });
    list(s.repeats, [&](const Repeat& r) {
      number(r.first);
      number(r.count);
      number(r.times);
    });
  }
  void preparation(const Preparation& p) {
    number(p.kernel);
    indices(p.args);
    number(p.result);
    list(p.sizes, [&](int64_t s) { number(s); });
    number(p.tasks);
  }
  void external(const ExternalEntry& e) {
    text(e.library);
    text(e.symbol);
    text(e.payload);
    indices(e.constants);
    number(e.inputs);
    number(e.outputs);
  }
  void function(const Function& f) {
    text(f.name);
    number(f.parameters);
    number(f.registers);
    number(static_cast<uint8_t>(f.takes_self));
    list(f.operands, [&](Operand o) { number(static_cast<uint32_t>(o.reg << 1 | o.last)); });
    indices(f.lists);
    texts(f.messages);
    list(f.code, [&](const Instruction& in) {
      number(static_cast<uint8_t>(in.op));
      number(in.tag);
      number(in.index);
      number(in.to);
      range(in.args);
      range(in.list);
    });
  }
  void ports(const std::vector<Port>& items) {
    list(items, [&](const Port& p) { port(p); });
  }
  void port(const Port& p) {
    text(p.name);
    text(p.type);
    number(static_cast<uint8_t>(p.is_tensor));
    dtype(p.dtype);
    sizes(p.shape);
    number(static_cast<uint8_t>(p.kind ? static_cast<int>(*p.kind) + 1 : 0));
    number(p.data_type);
    number(p.fields);
  }
  void signature(const Signature& s) {
    texts(s.variables);
    ports(s.inputs);
    ports(s.outputs);
    bindings(s.bindings);
    checks(s.checks);
    list(s.fields, [&](const FieldPort& f) {
      port(f.port);
      number(f.of);
      number(f.index);
    });
  }
  void data_type(const DataType& t) {
    text(t.name);
    list(t.constructors, [&](const Constructor& c) {
      text(c.name);
      number(c.arity);
    });
  }
};

}  // namespace

// Passes the file to `put`, piece by piece: weights are written without a copy.
static void write_pieces(const Artifact& artifact, function_ref<void(std::string_view)> put) {
  const Program& program = *artifact.program;
  Writer w;
  w.text(artifact.producer);
  w.text(artifact.target.name);
  w.text(artifact.target.triple);
  w.text(artifact.target.cpu);
  w.texts(artifact.target.features);
  w.number(static_cast<uint8_t>(artifact.executor));
  w.list(program.devices, [&](const DeviceName& d) {
    w.text(d.kind);
    w.number(d.number);
  });
  w.list(program.kernels, [&](const KernelEntry& k) {
    w.text(k.name);
    w.number(k.scratch_bytes);
  });
  uint64_t constants_bytes = 0;
  w.list(program.constants, [&](const Tensor& t) {
    w.dtype(t.dtype());
    w.list(t.shape(), [&](int64_t d) { w.number(d); });
    w.number(static_cast<uint8_t>(is_prepared(t)));
    if (is_prepared(t)) return;
    w.number(constants_bytes);  // its offset from the start of the constants
    w.number(checksum(t));
    drop_pages(t.data(), t.bytes());
    constants_bytes = aligned(constants_bytes + t.bytes());
  });
  w.list(program.preparations, [&](const Preparation& p) { w.preparation(p); });
  w.list(program.externals, [&](const ExternalEntry& e) { w.external(e); });
  w.list(program.segments, [&](const Segment& s) { w.segment(s); });
  w.list(program.types, [&](const DataType& t) { w.data_type(t); });
  w.list(program.functions, [&](const Function& f) { w.function(f); });
  w.signature(program.signature);
  w.list(program.donations, [&](const Donation& d) {
    w.number(d.input);
    w.number(static_cast<uint8_t>(d.result.has_value()));
    w.number(d.result.value_or(0));
  });
  w.number(checksum(artifact.code));
  w.list(artifact.notes, [&](const Note& note) {
    w.text(note.name);
    w.text(note.text);
  });
  w.number(static_cast<uint8_t>(program.keeps_subnormals));

  Header h{};
  std::memcpy(h.magic, magic, sizeof(magic));
  h.version = format_version;
  h.header_bytes = sizeof(Header);
  h.description_offset = sizeof(Header);
  h.description_bytes = w.bytes.size();
  h.code_offset = aligned(h.description_offset + h.description_bytes);
  h.code_bytes = artifact.code.size();
  h.file_bytes = aligned(h.code_offset + h.code_bytes) + constants_bytes;
  h.checksum = checksum(w.bytes);

  auto put_padded = [&](std::string_view bytes) {
    static constexpr char zeros[part_alignment] = {};
    put(bytes);
    put({zeros, aligned(bytes.size()) - bytes.size()});
  };
  put_padded({reinterpret_cast<const char*>(&h), sizeof(h)});
  put_padded(w.bytes);
  put_padded(artifact.code);
  for (const Tensor& t : program.constants) {
    if (is_prepared(t)) continue;
    put_padded(bytes_of(t));
    drop_pages(t.data(), t.bytes());
  }
}

std::string write_artifact(const Artifact& artifact) {
  std::string out;
  write_pieces(artifact, [&](std::string_view piece) { out.append(piece); });
  return out;
}

Status save_artifact(const Artifact& artifact, const std::string& path) {
  RELAY_ASSIGN(OutputFile file, OutputFile::open(path));
  write_pieces(artifact, [&](std::string_view piece) { file.write(piece); });
  // Weights may still be mapped from the file that they were read from.
  for (const Tensor& t : artifact.program->constants)
    if (std::string changed = changed_file(t.data()); !changed.empty())
      return Diagnostic{
          DiagnosticKind::corrupt_file, format("{} has changed since its weights were read", changed), {}, {}, {},
          "compile the model again"};
  return file.close();
}

void reseal_artifact(std::string& bytes) {
  Header h;
  if (bytes.size() < sizeof(h)) return;
  std::memcpy(&h, bytes.data(), sizeof(h));
  if (h.description_offset > bytes.size() || h.description_bytes > bytes.size() - h.description_offset) return;
  h.checksum = checksum(std::string_view(bytes).substr(h.description_offset, h.description_bytes));
  std::memcpy(bytes.data(), &h, sizeof(h));
}

}  // namespace relay::runtime
