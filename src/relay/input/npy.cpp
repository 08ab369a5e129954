#include "relay/input/npy.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "relay/base/fuzzing.h"
#include "relay/base/printable.h"
#include "relay/input/files.h"
#include "relay/input/foreign_files.h"

namespace relay::input {

static Diagnostic corrupt(const std::string& name, std::string what) {
  return Diagnostic{DiagnosticKind::corrupt_file,        format("{}: {}", name, what), {}, {}, {},
                    "write it with np.save(path, array)"};
}

// "<f4", "|b1", "<i8": NumPy's names of supported types.
static std::optional<DType> dtype_of(std::string_view descr) {
  if (descr.size() != 3 || std::string_view("<>|=").find(descr[0]) == std::string_view::npos) return std::nullopt;
  int bytes = descr[2] - '0';
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) return std::nullopt;
  uint8_t bits = static_cast<uint8_t>(8 * bytes);
  switch (descr[1]) {
    case 'f': return bytes == 1 ? std::nullopt : std::optional(DType{DType::Code::Float, bits});
    case 'i': return DType{DType::Code::Int, bits};
    case 'u': return DType{DType::Code::UInt, bits};
    case 'b': return bytes == 1 ? std::optional(DType::boolean()) : std::nullopt;
    default: return std::nullopt;
  }
}

// Storage types are written as bytes, as np.save() writes those of ml_dtypes.
static std::string descr_of(DType dtype) {
  if (dtype.is_storage()) return "|V1";
  char code = dtype.is_bool()                   ? 'b'
              : dtype.code == DType::Code::Int  ? 'i'
              : dtype.code == DType::Code::UInt ? 'u'
                                                : 'f';
  return format("{}{}{}", dtype.bytes() == 1 ? '|' : '<', code, dtype.bytes());
}

// The text after "'key':" in the header's dictionary; empty if absent.
static std::string_view value_of(std::string_view header, std::string_view key) {
  for (char quote : {'\'', '"'}) {
    size_t at = header.find(format("{}{}{}", quote, key, quote));
    if (at == std::string_view::npos) continue;
    std::string_view rest = header.substr(at + key.size() + 2);
    size_t colon = rest.find(':');
    return colon == std::string_view::npos ? std::string_view() : trim(rest.substr(colon + 1));
  }
  return {};
}

static std::optional<Shape> parse_shape(std::string_view text) {
  size_t end = text.find(')');
  if (text.empty() || text[0] != '(' || end == std::string_view::npos) return std::nullopt;
  Shape shape;
  for (std::string_view part : split(text.substr(1, end - 1), ',')) {
    part = trim(part);
    if (part.empty()) continue;  // "(3,)" and "()"
    int64_t extent = 0;
    auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), extent);
    if (error != std::errc() || stop != part.data() + part.size() || extent < 0 || shape.size() == 32)
      return std::nullopt;
    shape.push_back(extent);
  }
  return shape;
}

// From Fortran's order, the first axis fastest, to rows.
static void turn(char* to, const char* from, const Shape& shape, size_t bytes) {
  std::vector<size_t> strides, index(shape.size(), 0);
  size_t stride = bytes;
  for (int64_t extent : shape) strides.push_back(stride), stride *= static_cast<size_t>(extent);
  size_t count = stride / bytes, at = 0;
  for (size_t i = 0; i < count; ++i, to += bytes) {
    std::memcpy(to, from + at, bytes);
    for (size_t axis = shape.size(); axis-- > 0;) {
      at += strides[axis];
      if (++index[axis] < static_cast<size_t>(shape[axis])) break;
      at -= index[axis] * strides[axis], index[axis] = 0;
    }
  }
}

static void swap_bytes(char* data, size_t size, size_t bytes) {
  for (size_t i = 0; bytes > 1 && i < size; i += bytes) std::reverse(data + i, data + i + bytes);
}

Result<Tensor> parse_npy(std::string_view bytes, const std::string& name) {
  if (bytes.size() < 10 || bytes.substr(0, 6) != "\x93NUMPY") {
    Diagnostic d = corrupt(name, bytes.empty() ? "this is not a .npy file: it is empty" : "this is not a .npy file");
    if (std::optional<ForeignFile> foreign = foreign_file(bytes.substr(0, 64)))
      d.message += format(", it is {}", foreign->kind), d.help = foreign->as_array;
    return d;
  }
  int major = static_cast<unsigned char>(bytes[6]);
  if (major < 1 || major > 3) return corrupt(name, format("version {} of the .npy format is unknown", major));
  size_t length_bytes = major == 1 ? 2 : 4, length = 0;
  if (bytes.size() < 8 + length_bytes) return corrupt(name, "the header is truncated");
  for (size_t i = length_bytes; i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[8 + i]);
  size_t begin = 8 + length_bytes;
  if (RELAY_REFUSES(length > bytes.size() - begin)) return corrupt(name, "the header is truncated");
  std::string_view header = bytes.substr(begin, length), data = bytes.substr(begin + length);

  std::string_view descr = value_of(header, "descr");
  if (descr.size() < 2 || (descr[0] != '\'' && descr[0] != '"'))
    return corrupt(name, "the header does not name a simple element type");
  descr = descr.substr(1, descr.substr(1).find(descr[0]));
  std::optional<DType> dtype = dtype_of(descr);
  if (!dtype)
    return Diagnostic{DiagnosticKind::wrong_input,
                      format("{}: elements of type '{}' cannot be read", name, descr),
                      {},
                      {},
                      {},
                      "convert the array to numbers, as with array.astype('float32'), and write it again"};
  bool columns_first = starts_with(value_of(header, "fortran_order"), "True");
  std::optional<Shape> shape = parse_shape(value_of(header, "shape"));
  if (!shape) return corrupt(name, "the shape in the header cannot be read");
  std::optional<int64_t> elements = element_count(*shape);
  if (!elements || *elements > (int64_t{1} << 40))
    return corrupt(name, format("the shape ({}) in the header has more than 2^40 elements", join(*shape, ", ")));
  size_t expected = static_cast<size_t>(*elements) * static_cast<size_t>(dtype->bytes());
  if (data.size() != expected)
    return corrupt(name, format("shape ({}) of {} needs {} bytes, the file has {}", join(*shape, ", "), dtype->str(),
                                expected, data.size()));
  Tensor tensor = Tensor::empty(*shape, *dtype);
  if (expected == 0) return tensor;
  char* to = static_cast<char*>(tensor.mutable_data());
  if (columns_first && shape->size() > 1)
    turn(to, data.data(), *shape, static_cast<size_t>(dtype->bytes()));
  else
    std::memcpy(to, data.data(), expected);
  if (descr[0] == '>') swap_bytes(to, expected, static_cast<size_t>(dtype->bytes()));
  return tensor;
}

Result<Tensor> read_npy(const std::string& path) {
  RELAY_ASSIGN(std::string bytes, read_file(path));
  return parse_npy(bytes, path);
}

std::string npy_bytes(const Tensor& tensor) {
  if (tensor.dtype() == DType::bfloat16()) return npy_bytes(tensor.cast(DType::float32()));
  std::string shape = format("{}", join(tensor.shape(), ", "));
  if (tensor.rank() == 1) shape += ",";
  std::string header =
      format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr_of(tensor.dtype()), shape);
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  out.append(static_cast<const char*>(tensor.data()), tensor.bytes());
  return out;
}

Status write_npy(const std::string& path, const Tensor& tensor) { return write_file(path, npy_bytes(tensor)); }

// --- zip: members that are stored or deflated ------------------------------------------------------------------------
static uint32_t check_of(std::string_view bytes) {
  return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// The inflated data; unset if it is damaged or is not `size` bytes.
static std::optional<std::string> inflated(std::string_view packed, size_t size) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return std::nullopt;
  std::string out;
  // Grows with the output: a damaged directory may promise any size.
  constexpr size_t most = size_t{1} << 26;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  int state = Z_OK;
  for (size_t taken = 0; state == Z_OK && out.size() <= size;) {
    if (stream.avail_in == 0) {
      size_t more = std::min(most, packed.size() - taken);
      stream.avail_in = static_cast<uInt>(more), taken += more;
    }
    size_t before = out.size(), room = std::min(most, size - before + 1);
    out.resize(before + room);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + before), stream.avail_out = static_cast<uInt>(room);
    state = inflate(&stream, Z_NO_FLUSH);
    out.resize(before + room - stream.avail_out);
    if (state == Z_BUF_ERROR && taken < packed.size()) state = Z_OK;
  }
  inflateEnd(&stream);
  return state == Z_STREAM_END && out.size() == size ? std::optional(std::move(out)) : std::nullopt;
}

static void put(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> 8 * i & 255);
}
static uint64_t get(std::string_view in, size_t at, int bytes) {
  uint64_t value = 0;
  for (int i = bytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(in[at + static_cast<size_t>(i)]);
  return value;
}

// The common part of a local header and a directory entry: version, flags, method 0, a fixed date, check, sizes.
static void put_common(std::string& out, uint32_t crc, size_t size, size_t name_size) {
  put(out, 20, 2), put(out, 0, 2), put(out, 0, 2), put(out, 0, 2), put(out, 0x21, 2);
  put(out, crc, 4), put(out, size, 4), put(out, size, 4), put(out, name_size, 2), put(out, 0, 2);
}

Status write_npz(const std::string& path, const NamedArrays& arrays) {
  std::string out, directory;
  for (const auto& [name, tensor] : arrays) {
    std::string bytes = npy_bytes(tensor), member = name + ".npy";
    uint32_t crc = check_of(bytes);
    size_t offset = out.size();
    if (offset + bytes.size() > 0xFFFFFFF0u)
      return Diagnostic{DiagnosticKind::limit_exceeded,
                        format("{}: a .npz file above 4 GiB cannot be written", path),
                        {},
                        {},
                        {},
                        "give a folder as --output: it gets one .npy file per result"};
    put(out, 0x04034b50, 4), put_common(out, crc, bytes.size(), member.size());
    out += member, out += bytes;
    put(directory, 0x02014b50, 4), put(directory, 20, 2), put_common(directory, crc, bytes.size(), member.size());
    put(directory, 0, 2), put(directory, 0, 2), put(directory, 0, 2), put(directory, 0, 4), put(directory, offset, 4);
    directory += member;
  }
  size_t begin = out.size();
  out += directory;
  put(out, 0x06054b50, 4), put(out, 0, 4), put(out, arrays.size(), 2), put(out, arrays.size(), 2);
  put(out, directory.size(), 4), put(out, begin, 4), put(out, 0, 2);
  return write_file(path, out);
}

static Diagnostic damaged(const std::string& path, const std::string& member) {
  return Diagnostic{DiagnosticKind::corrupt_file,
                    format("{}: member {} is damaged", path, shortened(member)),
                    {},
                    {},
                    {},
                    "write it again with np.savez(path, name=array)"};
}

Result<NamedArrays> read_npz(const std::string& path) {
  RELAY_ASSIGN(std::string file, read_file(path));
  Diagnostic bad{DiagnosticKind::corrupt_file,
                 format("{} is not a .npz file, or is truncated", path),
                 {},
                 {},
                 {},
                 "write it with np.savez(path, name=array)"};
  std::string_view bytes = file;
  size_t end = bytes.rfind(std::string_view("PK\5\6", 4));
  if (end == std::string_view::npos || bytes.size() - end < 22) return bad;
  size_t count = get(bytes, end + 10, 2), at = get(bytes, end + 16, 4);
  if (count == 0)
    return Diagnostic{DiagnosticKind::wrong_input,
                      format("{} contains no arrays", path),
                      {},
                      {},
                      {},
                      "write it with np.savez(path, name=array)"};
  NamedArrays arrays;
  for (size_t i = 0; i < count; ++i) {
    if (at > end || end - at < 46 || get(bytes, at, 4) != 0x02014b50) return bad;
    uint64_t method = get(bytes, at + 10, 2), packed = get(bytes, at + 20, 4), size = get(bytes, at + 24, 4),
             offset = get(bytes, at + 42, 4);
    size_t name_size = get(bytes, at + 28, 2), skip = name_size + get(bytes, at + 30, 2) + get(bytes, at + 32, 2);
    if (end - at - 46 < skip || offset > end || end - offset < 30) return bad;
    std::string name(bytes.substr(at + 46, name_size));
    if (get(bytes, at + 8, 2) & 1)
      return Diagnostic{DiagnosticKind::corrupt_file,
                        format("{}: member {} is encrypted", path, shortened(name)),
                        {},
                        {},
                        {},
                        "write it with np.savez or np.savez_compressed"};
    if (method != 0 && method != 8)
      return Diagnostic{DiagnosticKind::corrupt_file,
                        format("{}: member {} is compressed by method {}", path, shortened(name), method),
                        {},
                        {},
                        {},
                        "write it with np.savez or np.savez_compressed"};
    size_t data = offset + 30 + get(bytes, offset + 26, 2) + get(bytes, offset + 28, 2);
    if (data > end || end - data < packed) return bad;
    std::string_view content = bytes.substr(data, packed);
    std::optional<std::string> unpacked;
    if (method == 8) {
      unpacked = inflated(content, size);
      if (!unpacked) return damaged(path, name);
      content = *unpacked;
    }
    if (content.size() != size || check_of(content) != get(bytes, at + 16, 4)) return damaged(path, name);
    RELAY_ASSIGN(Tensor value, parse_npy(content, format("{}: {}", path, shortened(name))));
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    arrays.emplace_back(std::move(name), std::move(value));
    at += 46 + skip;
  }
  return arrays;
}

}  // namespace relay::input
