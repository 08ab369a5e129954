#include "relay/runtime/artifacts/artifact.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "relay/base/fuzzing.h"
#include "relay/runtime/artifacts/artifact_format.h"
#include "relay/runtime/artifacts/checksums.h"
#include "relay/tensor/memory.h"

namespace relay::runtime {

namespace {

// Returns zeros after the end of the data and records the failure: callers check once, at the end and before they
// allocate.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  T number() {
    T value{};
    if (take(sizeof(T))) std::memcpy(&value, bytes_.data() + at_ - sizeof(T), sizeof(T));
    return value;
  }
  std::string text(size_t most = Limits::text) {
    uint32_t n = number<uint32_t>();
    if (n > most || !take(n)) return fail(), std::string();
    return std::string(bytes_.substr(at_ - n, n));
  }
  // `least`: the fewest bytes of an item, so that a count cannot demand more memory than the file's size justifies.
  template <class T, class ReadOne>
  std::vector<T> list(size_t most, size_t least, ReadOne read_one) {
    uint32_t n = number<uint32_t>();
    std::vector<T> items;
    if (failed_ || n > most || n > (bytes_.size() - at_) / least) return fail(), items;
    items.reserve(n);
    for (uint32_t i = 0; i < n && !failed_; ++i) items.push_back(read_one());
    return items;
  }
  SizeExpr size() {
    return {list<SizeWord>(Limits::words, 9, [&] {
      uint8_t op = number<uint8_t>();
      int64_t value = number<int64_t>();
      if (op >= size_op_count) fail();
      return SizeWord{static_cast<SizeOp>(op), value};
    })};
  }
  DType dtype() {
    uint8_t code = number<uint8_t>(), bits = number<uint8_t>();
    if (code > static_cast<uint8_t>(DType::Code::E4M3B11FNUZ)) return fail(), DType::int8();
    DType t{static_cast<DType::Code>(code), bits};
    if (parse_dtype(t.str()) != t) return fail(), DType::int8();
    return t;
  }
  Range range() {
    uint32_t begin = number<uint32_t>(), count = number<uint32_t>();
    return {begin, count};
  }
  std::vector<std::string> texts(size_t most) {
    return list<std::string>(most, 4, [&] { return text(); });
  }
  std::vector<uint32_t> indices(size_t most) {
    return list<uint32_t>(most, 4, [&] { return number<uint32_t>(); });
  }
  Array array() {
    Array a;
    a.kind = one_of<Array::Kind>(static_cast<int>(Array::Kind::View) + 1);
    a.name = text();
    a.dtype = dtype();
    a.shape = sizes(Limits::rank);
    a.bytes = size();
    a.index = number<uint32_t>();
    a.offset = size();
    a.rows = one_of<Rows>(rows_count);
    const bool in_place = flag();
    a.memory = number<uint32_t>();
    if (!in_place) return a;
    const uint32_t input = number<uint32_t>();
    a.in_place = InPlace{input, flag()};
    return a;
  }
  VariableBinding binding() {
    VariableBinding b;
    b.variable = number<uint32_t>();
    b.input = number<uint32_t>();
    b.dim = number<uint32_t>();
    b.factor = number<int64_t>();
    b.offset = number<int64_t>();
    return b;
  }
  template <class E>
  E one_of(int count) {
    uint8_t value = number<uint8_t>();
    if (value >= count) fail(), value = 0;
    return static_cast<E>(value);
  }
  bool flag() { return one_of<uint8_t>(2) != 0; }
  std::vector<SizeExpr> sizes(size_t most) {
    return list<SizeExpr>(most, 4, [&] { return size(); });
  }
  std::vector<VariableBinding> bindings() {
    return list<VariableBinding>(Limits::variables, 28, [&] { return binding(); });
  }
  std::vector<Check> checks() {
    return list<Check>(Limits::sizes, 8, [&] {
      SizeExpr condition = size();
      return Check{std::move(condition), text()};
    });
  }
  Step step() {
    Step s;
    s.kind = one_of<Step::Kind>(step_kind_count);
    s.kernel = number<uint32_t>();
    s.args = range();
    s.sizes = range();
    s.tasks = number<uint32_t>();
    return s;
  }
  Segment segment() {
    Segment s;
    s.name = text();
    s.batching = one_of<Batching>(batching_count);
    s.variables = texts(Limits::variables);
    s.inputs = indices(Limits::arrays);
    s.outputs = indices(Limits::arrays);
    s.output_names = texts(Limits::arrays);
    s.bindings = bindings();
    s.checks = checks();
    s.arrays = list<Array>(Limits::arrays, 24, [&] { return array(); });
    s.sizes = sizes(Limits::sizes);
    s.operands = indices(Limits::operands);
    s.index_checks = list<IndexCheck>(Limits::steps, 13, [&] {
      IndexCheck c;
      c.op = text();
      c.place = text();
      c.axes = list<int64_t>(Limits::rank, 8, [&] { return number<int64_t>(); });
      c.rows = one_of<Rows>(rows_count);
      return c;
    });
    s.steps = list<Step>(Limits::steps, 25, [&] { return step(); });
    s.repeats = list<Repeat>(Limits::steps, 12, [&] {
      Repeat r;
      r.first = number<uint32_t>(), r.count = number<uint32_t>(), r.times = number<uint32_t>();
      return r;
    });
    return s;
  }
  Preparation preparation() {
    Preparation p;
    p.kernel = number<uint32_t>();
    p.args = indices(Limits::operands);
    p.result = number<uint32_t>();
    p.sizes = list<int64_t>(Limits::sizes, 8, [&] { return number<int64_t>(); });
    p.tasks = number<int64_t>();
    return p;
  }
  Donation donation() {
    Donation d{number<uint32_t>()};
    const bool has_result = flag();
    const uint32_t result = number<uint32_t>();
    if (has_result) d.result = result;
    return d;
  }
  ExternalEntry external() {
    ExternalEntry e;
    e.library = text();
    e.symbol = text();
    e.payload = text(Limits::payload);
    e.constants = indices(Limits::operands);
    e.inputs = number<uint32_t>();
    e.outputs = number<uint32_t>();
    return e;
  }
  Operand operand() {
    uint32_t packed = number<uint32_t>();
    return {packed >> 1, packed & 1};
  }
  Instruction instruction() {
    Instruction in;
    in.op = one_of<Op>(op_count);
    in.tag = number<uint16_t>();
    in.index = number<uint32_t>();
    in.to = number<uint32_t>();
    in.args = range();
    in.list = range();
    return in;
  }
  Function function() {
    Function f;
    f.name = text();
    f.parameters = number<uint32_t>();
    f.registers = number<uint32_t>();
    f.takes_self = flag();
    f.operands = list<Operand>(Limits::operands, 4, [&] { return operand(); });
    f.lists = indices(Limits::operands);
    f.messages = texts(Limits::instructions);
    f.code = list<Instruction>(Limits::instructions, 27, [&] { return instruction(); });
    return f;
  }
  std::vector<Port> ports() {
    return list<Port>(Limits::arrays, 24, [&] { return port(); });
  }
  Port port() {
    Port p;
    p.name = text();
    p.type = text();
    p.is_tensor = flag();
    p.dtype = dtype();
    p.shape = sizes(Limits::rank);
    if (int kind = one_of<uint8_t>(object_kind_count + 1)) p.kind = static_cast<ObjectKind>(kind - 1);
    p.data_type = number<uint32_t>();
    p.fields = number<uint32_t>();
    return p;
  }
  Signature signature() {
    Signature s;
    s.variables = texts(Limits::variables);
    s.inputs = ports();
    s.outputs = ports();
    s.bindings = bindings();
    s.checks = checks();
    s.fields = list<FieldPort>(Limits::arrays, 32, [&] {
      Port field = port();
      const uint32_t of = number<uint32_t>();
      return FieldPort{std::move(field), of, number<uint32_t>()};
    });
    return s;
  }
  DataType data_type() {
    DataType t;
    t.name = text();
    t.constructors = list<Constructor>(Limits::constructors, 8, [&] {
      std::string name = text();
      return Constructor{std::move(name), number<uint32_t>()};
    });
    return t;
  }
  void fail() { failed_ = true; }
  bool failed() const { return failed_; }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  bool take(size_t n) {
    if (failed_ || RELAY_REFUSES(n > bytes_.size() - at_)) {
      failed_ = true;
      return false;
    }
    at_ += n;
    return true;
  }
  std::string_view bytes_;
  size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace

static Status check_header(const Header& h, uint64_t bytes, function_ref<Diagnostic(std::string_view)> corrupt,
                           const std::string& name) {
  if (std::memcmp(h.magic, magic, sizeof(magic)) != 0) return corrupt("it does not begin like an artifact");
  if (h.version != format_version)
    return Diagnostic{
        DiagnosticKind::incompatible_artifact,
        format("`{}` has format version {}, and this runtime reads version {}", name, h.version, format_version),
        {},
        {},
        {},
        "compile the model again with this version of Relay, or run it with the version that made it"};
  if (h.header_bytes != sizeof(Header)) return corrupt("its header has a wrong size");
  if (h.file_bytes != bytes)
    return corrupt(
        format("it should have {} bytes and has {}: the file is incomplete or was appended to", h.file_bytes, bytes));
  return ok();
}

Result<Artifact> read_artifact(std::string_view bytes, std::shared_ptr<const void> storage, const std::string& name) {
  auto corrupt = [&](std::string_view why) {
    return Diagnostic{DiagnosticKind::corrupt_file, format("`{}` is not a valid artifact: {}", name, why), {}, {}, {},
                      "compile the model again"};
  };
  Header h;
  if (bytes.size() < sizeof(h))
    return corrupt(format("it has {}, fewer than the header", plural(bytes.size(), "byte", "bytes")));
  std::memcpy(&h, bytes.data(), sizeof(h));
  RELAY_RETURN_IF_ERROR(check_header(h, bytes.size(), corrupt, name));
  auto inside = [&](uint64_t offset, uint64_t count) {
    return offset <= bytes.size() && count <= bytes.size() - offset;
  };
  if (!inside(h.description_offset, h.description_bytes) || h.description_offset < sizeof(Header))
    return corrupt("its description is outside of the file");
  if (!inside(h.code_offset, h.code_bytes) || h.code_offset % part_alignment != 0)
    return corrupt("its code is outside of the file");
  std::string_view description = bytes.substr(h.description_offset, h.description_bytes);
  if (checksum(description) != h.checksum) return corrupt("the checksum of its description is wrong");
  if (h.code_offset < h.description_offset + h.description_bytes) return corrupt("its parts overlap");
  uint64_t constants_offset = aligned(h.code_offset + h.code_bytes);

  Reader r(description);
  Artifact artifact;
  artifact.storage = storage;
  artifact.producer = r.text();
  artifact.target.name = r.text();
  artifact.target.triple = r.text();
  artifact.target.cpu = r.text();
  artifact.target.features = r.texts(1024);
  artifact.executor = r.one_of<Executor>(executor_count);
  std::shared_ptr<Program> program = std::make_shared<Program>();
  program->devices = r.list<DeviceName>(Limits::devices, 12, [&] {
    std::string kind = r.text();
    return DeviceName{std::move(kind), r.number<int64_t>()};
  });
  program->kernels = r.list<KernelEntry>(Limits::kernels, 12, [&] {
    std::string kernel = r.text();
    return KernelEntry{std::move(kernel), r.number<int64_t>()};
  });
  std::vector<uint64_t> checksums;  // of the stored constants
  program->constants = r.list<Tensor>(Limits::constants, 7, [&] {
    DType dtype = r.dtype();
    Shape shape = r.list<int64_t>(Limits::rank, 8, [&] { return r.number<int64_t>(); });
    const bool prepared = r.flag();
    std::optional<int64_t> elements = element_count(shape);
    bool sound = !r.failed() && elements && *elements <= Limits::array_bytes / dtype.bytes();
    if (!sound || (prepared && *elements == 0)) return r.fail(), Tensor();
    if (prepared) return Tensor::view(nullptr, std::move(shape), dtype, nullptr);
    uint64_t offset = r.number<uint64_t>(), sum = r.number<uint64_t>();
    sound = !r.failed() && offset % part_alignment == 0 && offset <= bytes.size() &&
            inside(constants_offset + offset, static_cast<uint64_t>(*elements * dtype.bytes()));
    if (!sound) return r.fail(), Tensor();
    checksums.push_back(sum);
    return Tensor::view(const_cast<char*>(bytes.data() + constants_offset + offset), std::move(shape), dtype, storage);
  });
  program->preparations = r.list<Preparation>(Limits::constants, 24, [&] { return r.preparation(); });
  program->externals = r.list<ExternalEntry>(Limits::externals, 24, [&] { return r.external(); });
  program->segments = r.list<Segment>(Limits::segments, 45, [&] { return r.segment(); });
  program->types = r.list<DataType>(Limits::types, 8, [&] { return r.data_type(); });
  program->functions = r.list<Function>(Limits::functions, 29, [&] { return r.function(); });
  program->signature = r.signature();
  program->donations = r.list<Donation>(Limits::arrays, 9, [&] { return r.donation(); });
  uint64_t code_checksum = r.number<uint64_t>();
  artifact.notes = r.list<Note>(Limits::notes, 8, [&] {
    std::string title = r.text();
    return Note{std::move(title), r.text(Limits::note_text)};
  });
  program->keeps_subnormals = r.flag();
  if (r.failed() || !r.at_end()) return corrupt("its description is truncated");
  if (!have_checksums(program->constants, checksums))
    return corrupt("the checksum of a constant is wrong: the file is damaged");
  artifact.code = bytes.substr(h.code_offset, h.code_bytes);
  if (checksum(artifact.code) != code_checksum) return corrupt("the checksum of its code is wrong");
  RELAY_RETURN_IF_ERROR(validate(*program));
  if (program->is_graph() != (artifact.executor == Executor::Graph))
    return corrupt(format("the executor {} does not match its program", runtime::name(artifact.executor)));
  artifact.program = std::move(program);
  return artifact;
}

Result<Artifact> open_artifact(const std::string& path) {
  auto unreadable = [&] {
    return Diagnostic{DiagnosticKind::file_not_found,
                      format("cannot read `{}`: {}", path, std::strerror(errno)),
                      {},
                      {},
                      {},
                      "check the path and the permissions of the file"};
  };
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe would wait for its writer
  if (file < 0) return unreadable();
  struct stat info{};
  if (::fstat(file, &info) != 0) {
    Diagnostic failed = unreadable();
    ::close(file);
    return failed;
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(file);
    return Diagnostic{DiagnosticKind::file_not_found,
                      format("cannot read `{}`: it is not a regular file", path),
                      {},
                      {},
                      {},
                      "artifacts are mapped into memory: write it to a file, and give the path of that file"};
  }
  size_t bytes = static_cast<size_t>(info.st_size);
  if (bytes == 0) {
    ::close(file);
    return Diagnostic{DiagnosticKind::corrupt_file, format("`{}` is empty", path), {}, {}, {},
                      "compile the model again"};
  }
  void* memory = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  if (memory == MAP_FAILED) {
    ::close(file);
    return unreadable();
  }
  std::shared_ptr<const void> mapping = own_mapping(memory, bytes, file);
  return read_artifact({static_cast<const char*>(memory), bytes}, mapping, path);
}

Result<std::shared_ptr<Executable>> load_executable(const std::string& path, ExecutableOptions options) {
  RELAY_ASSIGN(Artifact artifact, open_artifact(path));
  return load_executable(artifact, options);
}

static Result<std::shared_ptr<const KernelLibrary>> load_kernels(const Artifact& artifact) {
  const std::string& triple = artifact.target.triple;
  const char* kind = triple == "opencl" ? "opencl" : triple == "nvptx64-nvidia-cuda" ? "cuda" : nullptr;
  if (!kind) return load_code(artifact.code);
  return std::shared_ptr<const KernelLibrary>(std::make_shared<SourceLibrary>(kind, std::string(artifact.code)));
}

Result<std::shared_ptr<Executable>> load_executable(const Artifact& artifact, ExecutableOptions options) {
  RELAY_RETURN_IF_ERROR(check_machine(artifact.target));
  RELAY_ASSIGN(std::shared_ptr<const KernelLibrary> library, load_kernels(artifact));
  if (!options.executor) options.executor = artifact.executor;
  return Executable::create(artifact.program, library, options);
}

}  // namespace relay::runtime
