#include "relay/runtime/functions/elf_image.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

namespace relay::runtime {

namespace {

// Numbers of relocations, by what they store.
struct Relocations {
  uint32_t relative;    // the address of the image + addend
  uint32_t absolute;    // a symbol's address + addend
  uint32_t entries[2];  // a symbol's address
};
constexpr Relocations relocations =
#if defined(__aarch64__)
    {R_AARCH64_RELATIVE, R_AARCH64_ABS64, {R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT}};
#else
    {R_X86_64_RELATIVE, R_X86_64_64, {R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT}};
#endif

constexpr uint64_t most_bytes = uint64_t{1} << 32;

class Image : public KernelLibrary {
 public:
  Image() = default;
  Image(const Image&) = delete;
  ~Image() override {
    if (memory_) ::munmap(memory_, bytes_);
  }
  // The reason of a failure, or null.
  const char* load(std::string_view elf);

  KernelFn find(const std::string& name) const override { return reinterpret_cast<KernelFn>(address_of(name)); }
  const relay_functions* functions() const override {
    return static_cast<const relay_functions*>(address_of(RELAY_FUNCTIONS));
  }

 private:
  // A table of the file.
  template <class T>
  struct Table {
    uint64_t offset = 0, count = 0;
    bool is_in(std::string_view elf) const {
      return offset <= elf.size() && count <= (elf.size() - offset) / sizeof(T);
    }
    T at(std::string_view elf, uint64_t i) const {
      T item;
      std::memcpy(&item, elf.data() + offset + i * sizeof(T), sizeof(T));
      return item;
    }
  };

  void* address_of(const std::string& name) const {
    const auto found = symbols_.find(name);
    return found == symbols_.end() ? nullptr : memory_ + found->second;
  }
  const char* place_segments(std::string_view elf, const Elf64_Ehdr& header);
  const char* read_symbols(std::string_view elf, const Elf64_Shdr& section, const Elf64_Shdr& names);
  const char* relocate(std::string_view elf, const Elf64_Shdr& section);
  const char* protect();

  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Sym> table_;
  std::unordered_map<std::string, uint64_t> symbols_;  // offsets of what it defines
  char* memory_ = nullptr;
  uint64_t bytes_ = 0, page_ = 0;
};

const char* Image::load(std::string_view elf) {
  const Elf64_Ehdr header = Table<Elf64_Ehdr>{0, 1}.at(elf, 0);
  if (const char* failure = place_segments(elf, header)) return failure;
  const Table<Elf64_Shdr> sections{header.e_shoff, header.e_shnum};
  if (header.e_shentsize != sizeof(Elf64_Shdr) || !sections.is_in(elf)) return "its sections are outside of the file";
  for (uint64_t i = 0; i < sections.count; ++i) {
    const Elf64_Shdr section = sections.at(elf, i);
    if (section.sh_type != SHT_DYNSYM) continue;
    if (section.sh_link >= sections.count) return "its symbols have no names";
    if (const char* failure = read_symbols(elf, section, sections.at(elf, section.sh_link))) return failure;
  }
  for (uint64_t i = 0; i < sections.count; ++i) {
    const Elf64_Shdr section = sections.at(elf, i);
    const bool is_loaded = section.sh_flags & SHF_ALLOC;
    if (section.sh_type == SHT_INIT_ARRAY || (is_loaded && section.sh_type == SHT_REL) || section.sh_type == SHT_RELR)
      return "it has initialisers or relocations of an unknown form";
    if (!is_loaded || section.sh_type != SHT_RELA) continue;
    if (const char* failure = relocate(elf, section)) return failure;
  }
  return protect();
}

const char* Image::place_segments(std::string_view elf, const Elf64_Ehdr& header) {
  const Table<Elf64_Phdr> headers{header.e_phoff, header.e_phnum};
  if (header.e_phentsize != sizeof(Elf64_Phdr) || !headers.is_in(elf)) return "its segments are outside of the file";
  page_ = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  for (uint64_t i = 0; i < headers.count; ++i) {
    const Elf64_Phdr segment = headers.at(elf, i);
    if (segment.p_type == PT_TLS) return "it has thread-local variables";
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_offset > elf.size() || segment.p_filesz > elf.size() - segment.p_offset ||
        segment.p_filesz > segment.p_memsz || segment.p_memsz > most_bytes || segment.p_vaddr > most_bytes)
      return "a segment is outside of the file";
    segments_.push_back(segment);
    bytes_ = std::max(bytes_, (segment.p_vaddr + segment.p_memsz + page_ - 1) / page_ * page_);
  }
  if (segments_.empty()) return "it has no segments";
  void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return std::strerror(errno);
  memory_ = static_cast<char*>(memory);
  for (const Elf64_Phdr& segment : segments_)
    std::memcpy(memory_ + segment.p_vaddr, elf.data() + segment.p_offset, segment.p_filesz);
  return nullptr;
}

const char* Image::read_symbols(std::string_view elf, const Elf64_Shdr& section, const Elf64_Shdr& names) {
  const Table<Elf64_Sym> all{section.sh_offset, section.sh_size / sizeof(Elf64_Sym)};
  if (!all.is_in(elf) || !Table<char>{names.sh_offset, names.sh_size}.is_in(elf))
    return "its symbols are outside of the file";
  const std::string_view text = elf.substr(names.sh_offset, names.sh_size);
  for (uint64_t i = 0; i < all.count; ++i) {
    table_.push_back(all.at(elf, i));
    const Elf64_Sym& symbol = table_.back();
    if (symbol.st_shndx == SHN_UNDEF) continue;
    const size_t end = symbol.st_name < text.size() ? text.find('\0', symbol.st_name) : std::string_view::npos;
    if (end == std::string_view::npos || symbol.st_value >= bytes_) return "a symbol is outside of its segments";
    symbols_[std::string(text.substr(symbol.st_name, end - symbol.st_name))] = symbol.st_value;
  }
  return nullptr;
}

const char* Image::relocate(std::string_view elf, const Elf64_Shdr& section) {
  const Table<Elf64_Rela> all{section.sh_offset, section.sh_size / sizeof(Elf64_Rela)};
  if (!all.is_in(elf)) return "its relocations are outside of the file";
  for (uint64_t i = 0; i < all.count; ++i) {
    const Elf64_Rela r = all.at(elf, i);
    const uint32_t type = ELF64_R_TYPE(r.r_info), index = ELF64_R_SYM(r.r_info);
    uint64_t value = reinterpret_cast<uint64_t>(memory_);
    if (type == relocations.relative || type == relocations.absolute) value += static_cast<uint64_t>(r.r_addend);
    if (type != relocations.relative) {
      if (type != relocations.absolute && type != relocations.entries[0] && type != relocations.entries[1])
        return "it has a relocation of an unknown type";
      if (index >= table_.size() || table_[index].st_shndx == SHN_UNDEF) return "it needs a symbol of another library";
      value += table_[index].st_value;
    }
    if (r.r_offset > bytes_ - sizeof(value)) return "a relocation is outside of its segments";
    std::memcpy(memory_ + r.r_offset, &value, sizeof(value));
  }
  return nullptr;
}

const char* Image::protect() {
  for (const Elf64_Phdr& segment : segments_) {
    const uint64_t begin = segment.p_vaddr / page_ * page_;
    const uint64_t end = (segment.p_vaddr + segment.p_memsz + page_ - 1) / page_ * page_;
    const int allowed = (segment.p_flags & PF_R ? PROT_READ : 0) | (segment.p_flags & PF_W ? PROT_WRITE : 0) |
                        (segment.p_flags & PF_X ? PROT_EXEC : 0);
    __builtin___clear_cache(memory_ + begin, memory_ + end);
    if (end > begin && ::mprotect(memory_ + begin, end - begin, allowed) != 0) return std::strerror(errno);
  }
  return nullptr;
}

}  // namespace

Result<std::shared_ptr<const KernelLibrary>> map_code(std::string_view elf) {
  auto failed = [](const char* why) {
    return Diagnostic{DiagnosticKind::corrupt_file, format("the code cannot be loaded: {}", why), {}, {}, {},
                      "compile the model again"};
  };
  if (elf.size() < sizeof(Elf64_Ehdr)) return failed("it is too short");
  const std::shared_ptr<Image> image = std::make_shared<Image>();
  if (const char* why = image->load(elf)) return failed(why);
  return std::shared_ptr<const KernelLibrary>(image);
}

}  // namespace relay::runtime
