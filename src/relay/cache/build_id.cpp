#include "relay/cache/build_id.h"

#include <link.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

namespace relay::cache {

namespace {

constexpr size_t align(size_t bytes) { return (bytes + 3) / 4 * 4; }

// The id among the notes of a segment; empty if absent.
std::string id_in(std::string_view notes) {
  ElfW(Nhdr) head;
  while (notes.size() >= sizeof head) {
    std::memcpy(&head, notes.data(), sizeof head);
    const size_t name = align(head.n_namesz), id = align(head.n_descsz);
    notes.remove_prefix(sizeof head);
    if (name > notes.size() || id > notes.size() - name || head.n_descsz > id) break;
    if (head.n_type == NT_GNU_BUILD_ID && notes.substr(0, head.n_namesz) == std::string_view("GNU", 4)) {
      std::string out;
      for (const char c : notes.substr(name, head.n_descsz)) out += format("{:02x}", static_cast<unsigned char>(c));
      return out;
    }
    notes.remove_prefix(name + id);
  }
  return "";
}

struct Here {
  std::string path = "/proc/self/exe", build;
};

const Here& here() {
  static const Here made = [] {
    Here out;
    auto look = [](dl_phdr_info* object, size_t, void* out) {
      const uintptr_t here = reinterpret_cast<uintptr_t>(&this_build);
      Here& found = *static_cast<Here*>(out);
      bool is_here = false;
      std::string build;
      for (int i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr) & part = object->dlpi_phdr[i];
        const uintptr_t begin = object->dlpi_addr + part.p_vaddr;
        is_here |= part.p_type == PT_LOAD && begin <= here && here < begin + part.p_memsz;
        if (part.p_type == PT_NOTE && build.empty())
          build = id_in({reinterpret_cast<const char*>(begin), part.p_memsz});
      }
      if (!is_here) return 0;
      if (object->dlpi_name && *object->dlpi_name) found.path = object->dlpi_name;
      found.build = std::move(build);
      return 1;
    };
    dl_iterate_phdr(look, &out);
    return out;
  }();
  return made;
}

}  // namespace

const std::string& this_build() { return here().build; }
const std::string& this_file() { return here().path; }

Result<std::string> build_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  auto read = [&](void* to, uint64_t at, size_t bytes) {
    return static_cast<bool>(
        file.seekg(static_cast<std::streamoff>(at)).read(static_cast<char*>(to), static_cast<std::streamsize>(bytes)));
  };
  constexpr uint64_t longest = 1 << 16;  // bytes of notes
  ElfW(Ehdr) head;
  if (read(&head, 0, sizeof head) && std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0)
    for (size_t i = 0; i < head.e_phnum; ++i) {
      ElfW(Phdr) part;
      if (!read(&part, head.e_phoff + i * sizeof part, sizeof part)) break;
      if (part.p_type != PT_NOTE || part.p_filesz > longest) continue;
      std::string notes(part.p_filesz, '\0');
      if (!read(notes.data(), part.p_offset, notes.size())) break;
      if (std::string id = id_in(notes); !id.empty()) return id;
    }
  return Diagnostic{DiagnosticKind::bad_option,
                    format("{} is not a program or library with a build id", path),
                    {},
                    {},
                    {},
                    "name a file that the linker wrote with --build-id, such as bin/relay"};
}

}  // namespace relay::cache
