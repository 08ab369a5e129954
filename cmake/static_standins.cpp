// Replaces libraries of which Debian's packages hold no archive, for programs that are linked statically: fmt, from its
// headers, and libudev, which hwloc asks about disks and network cards. Relay asks hwloc about cores only.
#include <fmt/format-inl.h>

namespace fmt {
namespace detail {
template FMT_API dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template FMT_API dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template FMT_API locale_ref::locale_ref(const std::locale&);
template FMT_API std::locale locale_ref::get<std::locale>() const;
template FMT_API thousands_sep_result<char> thousands_sep_impl(locale_ref);
template FMT_API char decimal_point_impl(locale_ref);
template FMT_API void buffer<char>::append(const char*, const char*);
template FMT_API void vformat_to(buffer<char>&, string_view, basic_format_args<FMT_BUFFER_CONTEXT(char)>, locale_ref);
}  // namespace detail
}  // namespace fmt

extern "C" {
void* udev_new() { return nullptr; }
void udev_unref(void*) {}
void* udev_device_new_from_subsystem_sysname(void*, const char*, const char*) { return nullptr; }
void udev_device_unref(void*) {}
const char* udev_device_get_property_value(void*, const char*) { return nullptr; }
}
