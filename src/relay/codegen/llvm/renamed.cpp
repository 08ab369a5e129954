// The new name is appended to a copy of the table of names at the end of the file. No other byte moves.
#include "relay/codegen/llvm/renamed.h"

#include <llvm/BinaryFormat/ELF.h>

#include <bit>
#include <cstring>

namespace relay::codegen {

namespace elf = llvm::ELF;
static_assert(std::endian::native == std::endian::little, "the structures are those of the file");

namespace {

// A structure at a place of a file, if it is inside.
template <class T>
std::optional<T> read(const std::string& file, uint64_t at) {
  T out;
  if (at > file.size() || sizeof(T) > file.size() - at) return std::nullopt;
  std::memcpy(&out, file.data() + at, sizeof(T));
  return out;
}
template <class T>
void write(std::string& file, uint64_t at, const T& value) {
  std::memcpy(file.data() + at, &value, sizeof(T));
}

bool is_inside(const std::string& file, const elf::Elf64_Shdr& section) {
  return section.sh_offset <= file.size() && section.sh_size <= file.size() - section.sh_offset;
}

}  // namespace

std::optional<std::string> renamed(std::string object, const std::string& from, const std::string& to) {
  const std::optional<elf::Elf64_Ehdr> header = read<elf::Elf64_Ehdr>(object, 0);
  if (!header || !header->checkMagic() || header->e_ident[elf::EI_CLASS] != elf::ELFCLASS64 ||
      header->e_ident[elf::EI_DATA] != elf::ELFDATA2LSB || header->e_shentsize != sizeof(elf::Elf64_Shdr))
    return std::nullopt;
  auto section_at = [&](uint64_t number) { return header->e_shoff + number * sizeof(elf::Elf64_Shdr); };
  for (uint64_t i = 0; i < header->e_shnum; ++i) {
    const std::optional<elf::Elf64_Shdr> symbols = read<elf::Elf64_Shdr>(object, section_at(i));
    if (!symbols || symbols->sh_type != elf::SHT_SYMTAB) continue;
    std::optional<elf::Elf64_Shdr> names = read<elf::Elf64_Shdr>(object, section_at(symbols->sh_link));
    if (!names || !is_inside(object, *symbols) || !is_inside(object, *names)) return std::nullopt;
    const std::string texts = object.substr(names->sh_offset, names->sh_size);
    for (uint64_t at = 0; at + sizeof(elf::Elf64_Sym) <= symbols->sh_size; at += sizeof(elf::Elf64_Sym)) {
      elf::Elf64_Sym symbol = *read<elf::Elf64_Sym>(object, symbols->sh_offset + at);
      if (symbol.st_name >= texts.size() || from != texts.c_str() + symbol.st_name) continue;
      symbol.st_name = static_cast<uint32_t>(texts.size());
      write(object, symbols->sh_offset + at, symbol);
      names->sh_offset = object.size(), names->sh_size = texts.size() + to.size() + 1;
      write(object, section_at(symbols->sh_link), *names);
      object += texts, object += to, object += '\0';
      return object;
    }
  }
  return std::nullopt;
}

}  // namespace relay::codegen
