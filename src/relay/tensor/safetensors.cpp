#include "relay/tensor/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <unordered_set>

#include "relay/base/fuzzing.h"
#include "relay/base/output_file.h"
namespace relay {

static constexpr struct {
  const char* name;
  DType dtype;
} dtypes[] = {{"F64", DType::float64()},
              {"F32", DType::float32()},
              {"F16", DType::float16()},
              {"BF16", DType::bfloat16()},
              {"I64", DType::int64()},
              {"I32", DType::int32()},
              {"I16", DType::int16()},
              {"I8", DType::int8()},
              {"U64", DType::uint64()},
              {"U32", DType::uint32()},
              {"U16", DType::uint16()},
              {"U8", DType::uint8()},
              {"BOOL", DType::boolean()},
              {"F8_E4M3", DType::storage(DType::Code::E4M3FN)},
              {"F8_E5M2", DType::storage(DType::Code::E5M2)},
              {"F8_E8M0", DType::storage(DType::Code::E8M0FNU)},
              {"F8_E4M3FNUZ", DType::storage(DType::Code::E4M3FNUZ)},
              {"F8_E5M2FNUZ", DType::storage(DType::Code::E5M2FNUZ)}};

static constexpr uint64_t header_limit = 100'000'000;  // bytes, as in the format
static constexpr size_t rank_limit = 64;

namespace {

// A file mapped copy-on-write.
struct Mapping {
  char* data = nullptr;
  size_t size = 0;
  ~Mapping() {
#ifdef RELAY_FUZZ
    std::free(data);
#else
    if (data) munmap(data, size);
#endif
  }
};

// Parser for the JSON of a header. Each function skips space before its token and returns false at the first error,
// which `mistake` describes.
class Header {
 public:
  explicit Header(std::string_view text) : text_(text) {}

  bool fail(std::string what) {
    if (mistake.empty()) mistake = format("{} at byte {} of the header", what, at_);
    return false;
  }
  bool peek(char c) {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
      ++at_;
    return at_ < text_.size() && text_[at_] == c;
  }
  bool accept(char c) { return peek(c) && ++at_; }
  bool expect(char c) { return accept(c) || fail(format("'{}' is missing", c)); }
  bool at_end() { return !peek('\0') && at_ == text_.size(); }

  bool string(std::string* out) {
    out->clear();
    if (!expect('"')) return false;
    while (at_ < text_.size()) {
      char c = text_[at_++];
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return fail("a control character in a string");
      if (c != '\\')
        out->push_back(c);
      else if (!escape(out))
        return false;
    }
    return fail("a string does not end");
  }

  bool integer(int64_t* out) {
    peek(' ');
    std::from_chars_result r = std::from_chars(text_.data() + at_, text_.data() + text_.size(), *out);
    if (r.ec != std::errc() || *out < 0) return fail("a count is not a number from 0");
    at_ = static_cast<size_t>(r.ptr - text_.data());
    return true;
  }

  bool integers(std::vector<int64_t>* out, size_t limit) {
    out->clear();
    if (!expect('[')) return false;
    if (accept(']')) return true;
    do {
      if (out->size() == limit) return fail("a list is too long");
      int64_t value = 0;
      if (!integer(&value)) return false;
      out->push_back(value);
    } while (accept(','));
    return expect(']');
  }

  std::string mistake;

 private:
  bool hex(uint32_t* out) {
    if (text_.size() - at_ < 4) return fail("a \\u escape is cut off");
    std::from_chars_result r = std::from_chars(text_.data() + at_, text_.data() + at_ + 4, *out, 16);
    if (r.ec != std::errc() || r.ptr != text_.data() + at_ + 4)
      return fail("a \\u escape is not four hexadecimal digits");
    at_ += 4;
    return true;
  }
  bool escape(std::string* out) {
    if (at_ == text_.size()) return fail("a string does not end");
    char c = text_[at_++];
    switch (c) {
      case '"':
      case '\\':
      case '/': out->push_back(c); return true;
      case 'b': out->push_back('\b'); return true;
      case 'f': out->push_back('\f'); return true;
      case 'n': out->push_back('\n'); return true;
      case 'r': out->push_back('\r'); return true;
      case 't': out->push_back('\t'); return true;
      case 'u': break;
      default: return fail("an unknown escape in a string");
    }
    uint32_t code = 0, low = 0;
    if (!hex(&code)) return false;
    if (code >= 0xD800 && code < 0xDC00) {
      if (text_.substr(at_, 2) != "\\u") return fail("half a surrogate pair");
      at_ += 2;
      if (!hex(&low) || low < 0xDC00 || low > 0xDFFF) return fail("half a surrogate pair");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    // UTF-8
    if (code < 0x80)
      out->push_back(static_cast<char>(code));
    else if (code < 0x800)
      *out += {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
    else if (code < 0x10000)
      *out += {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 63)),
               static_cast<char>(0x80 | (code & 63))};
    else
      *out += {static_cast<char>(0xF0 | code >> 18), static_cast<char>(0x80 | (code >> 12 & 63)),
               static_cast<char>(0x80 | (code >> 6 & 63)), static_cast<char>(0x80 | (code & 63))};
    return true;
  }
  std::string_view text_;
  size_t at_ = 0;
};

struct Entry {
  std::string dtype;
  std::vector<int64_t> shape, offsets;
};

bool read_entry(Header& in, Entry* entry) {
  bool dtype = false, shape = false, offsets = false;
  if (!in.expect('{')) return false;
  do {
    std::string key;
    if (!in.string(&key) || !in.expect(':')) return false;
    if (key == "dtype" && !dtype)
      dtype = in.string(&entry->dtype);
    else if (key == "shape" && !shape)
      shape = in.integers(&entry->shape, rank_limit);
    else if (key == "data_offsets" && !offsets)
      offsets = in.integers(&entry->offsets, 2);
    else
      return in.fail(format("unexpected key '{}'", key));
    if (!in.mistake.empty()) return false;
  } while (in.accept(','));
  if (!in.expect('}')) return false;
  return (dtype && shape && offsets && entry->offsets.size() == 2) ||
         in.fail("an entry needs dtype, shape and two data_offsets");
}

bool read_metadata(Header& in) {
  std::string key, value;
  if (!in.expect('{')) return false;
  if (in.accept('}')) return true;
  do {
    if (!in.string(&key) || !in.expect(':') || !in.string(&value)) return false;
  } while (in.accept(','));
  return in.expect('}');
}

}  // namespace

static Result<std::shared_ptr<Mapping>> map_file(const std::string& path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe may have no writer
  struct stat status{};
  if (file < 0 || fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    std::string why = file < 0 ? std::strerror(errno) : "not a regular file";
    if (file >= 0) close(file);
    return Diagnostic{DiagnosticKind::file_not_found,
                      format("cannot read {}: {}", path, why),
                      {},
                      {},
                      {},
                      "check the path: the file with weights stands beside the program"};
  }
  size_t size = static_cast<size_t>(status.st_size);
  std::shared_ptr<Mapping> mapping = std::make_shared<Mapping>();
  if (size == 0) {
    close(file);
    return mapping;
  }
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  close(file);
  if (data == MAP_FAILED)
    return Diagnostic{DiagnosticKind::file_not_found,
                      format("cannot map {}: {}", path, std::strerror(errno)),
                      {},
                      {},
                      {},
                      "see whether the file may be read and enough memory is free"};
  mapping->data = static_cast<char*>(data), mapping->size = size;
#ifdef RELAY_FUZZ  // in memory of exactly its size, so that the sanitizer detects reads beyond its end
  mapping->data = static_cast<char*>(std::malloc(size));
  std::memcpy(mapping->data, data, size);
  munmap(data, size);
#endif
  return mapping;
}

Result<NamedTensors> read_safetensors(const std::string& path) {
  auto corrupt = [&](std::string what) {
    return Diagnostic{
        DiagnosticKind::corrupt_file,      format("{} is not a whole safetensors file: {}", path, what), {}, {}, {},
        "write or download the file again"};
  };
  RELAY_ASSIGN(std::shared_ptr<Mapping> mapping, map_file(path));
  const size_t size = mapping->size;
  if (size < 8) return corrupt(format("it has {} bytes", size));

  uint64_t header_size = 0;
  for (int i = 7; i >= 0; --i) header_size = header_size << 8 | static_cast<unsigned char>(mapping->data[i]);
  if (header_size > header_limit || header_size > size - 8)
    return corrupt(format("its header would have {} bytes, the file has {}", header_size, size));
  char* base = mapping->data + 8 + header_size;
  uint64_t available = size - 8 - header_size;

  Header in(std::string_view(mapping->data + 8, header_size));
  NamedTensors tensors;
  std::unordered_set<std::string> names;
  if (!in.expect('{')) return corrupt(in.mistake);
  if (!in.accept('}')) {
    do {
      std::string name;
      if (!in.string(&name) || !in.expect(':')) return corrupt(in.mistake);
      if (!names.insert(name).second) return corrupt(format("'{}' is there twice", name));
      if (name == "__metadata__") {
        if (!read_metadata(in)) return corrupt(in.mistake);
        continue;
      }
      Entry entry;
      if (!read_entry(in, &entry)) return corrupt(in.mistake);
      std::optional<DType> dtype;
      for (const auto& known : dtypes)
        if (entry.dtype == known.name) dtype = known.dtype;
      if (!dtype)
        return Diagnostic{
            DiagnosticKind::not_supported,
            format("{}: tensor '{}' has elements of type {}, which Relay cannot hold", path, name, entry.dtype),
            {},
            {},
            {},
            "convert the tensor to a type that docs/language.md lists"};
      std::optional<int64_t> count = element_count(entry.shape);
      int64_t bytes = 0, begin = entry.offsets[0], end = entry.offsets[1];
      if (!count || __builtin_mul_overflow(*count, dtype->bytes(), &bytes))
        return corrupt(format("'{}' has shape ({})", name, join(entry.shape, ", ")));
      if (RELAY_REFUSES(begin > end || static_cast<uint64_t>(end) > available || end - begin != bytes))
        return corrupt(format("'{}' has {} bytes at [{}, {}) of {}", name, bytes, begin, end, available));
      char* where = base + begin;
      if (reinterpret_cast<uintptr_t>(where) % static_cast<uintptr_t>(dtype->bytes()) == 0) {
        tensors.emplace_back(std::move(name), Tensor::view(where, entry.shape, *dtype, mapping));
      } else {
        Tensor copy = Tensor::empty(entry.shape, *dtype);
        std::memcpy(copy.mutable_data(), where, static_cast<size_t>(bytes));
        tensors.emplace_back(std::move(name), std::move(copy));
      }
    } while (in.accept(','));
    if (!in.expect('}')) return corrupt(in.mistake);
  }
  if (!in.at_end()) return corrupt("there is more after the header's object");
  return tensors;
}

static std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text)
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (static_cast<unsigned char>(c) < 0x20)
      out += format("\\u{:04x}", static_cast<int>(c));
    else
      out += c;
  return out + "\"";
}

Status write_safetensors(const std::string& path, const NamedTensors& tensors) {
  constexpr uint64_t alignment = 64;
  auto rounded = [](uint64_t n) { return (n + alignment - 1) / alignment * alignment; };
  std::string header = "{";
  uint64_t offset = 0;
  std::unordered_set<std::string> names;
  for (const auto& [name, tensor] : tensors) {
    if (name == "__metadata__" || !names.insert(name).second)
      return Diagnostic{DiagnosticKind::duplicate_definition,
                        format("two tensors of {} would be named '{}'", path, name),
                        {},
                        {},
                        {},
                        "rename one of the two"};
    const char* dtype = nullptr;
    for (const auto& known : dtypes)
      if (known.dtype == tensor.dtype()) dtype = known.name;
    RELAY_CHECK(tensor, "{} has no value", name);
    if (!dtype)
      return Diagnostic{DiagnosticKind::not_supported,
                        format("tensor '{}' of {}: the format has no {}", name, path, tensor.dtype().str()),
                        {},
                        {},
                        {},
                        "pack it into bytes first (the operator pack), or keep weights in the text"};
    header += format("{}{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", header.size() > 1 ? "," : "",
                     quoted(name), dtype, join(tensor.shape(), ","), offset, offset + tensor.bytes());
    offset += tensor.bytes();
  }
  header += "}";
  header.resize(rounded(8 + header.size()) - 8, ' ');  // the data is aligned
  RELAY_ASSIGN(OutputFile file, OutputFile::open(path));
  char length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(static_cast<uint64_t>(header.size()) >> 8 * i);
  file.write({length, 8});
  file.write(header);
  for (const auto& [name, tensor] : tensors) file.write({static_cast<const char*>(tensor.data()), tensor.bytes()});
  return file.close();
}

}  // namespace relay
