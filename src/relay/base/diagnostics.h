// Diagnostics: messages to the user. A diagnostic has a kind (one line in diagnostics.def, with a code that `relay
// explain` knows), a place, a message that names both sides of the conflict, and a way out.
//
// Functions that can fail on user input return Result<T>, or report to a DiagnosticSink and continue; user errors never
// throw. RELAY_CHECK is for bugs in Relay only: it throws InternalError.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "relay/base/text.h"

namespace relay {

// A text that spans refer to. `text` may be empty (an importer's model has names, not lines).
struct Source {
  std::string name;
  std::string text;
};

// A place: a range of a source text, the name of a node of a foreign model, or empty.
struct Span {
  std::shared_ptr<const Source> source;
  uint32_t begin = 0, end = 0;              // byte offsets into source->text
  std::shared_ptr<const std::string> node;  // the foreign node's name and operator, e.g. "Conv 'conv_17'"

  explicit operator bool() const { return source || node; }
};

enum class DiagnosticKind : uint16_t {
#define RELAY_DIAGNOSTIC(kind, code, sentence) kind,
#include "relay/base/diagnostics.def"
#undef RELAY_DIAGNOSTIC
};

struct DiagnosticInfo {
  DiagnosticKind kind;
  const char* name;      // "unknown_operator"
  const char* code;      // "R0201"
  const char* sentence;  // its general meaning
};
const std::vector<DiagnosticInfo>& all_diagnostics();
const DiagnosticInfo& info(DiagnosticKind kind);

enum class Severity : uint8_t { Error, Warning };

struct Label {
  Span span;
  std::string text;
};

struct Diagnostic {
  DiagnosticKind kind;
  std::string message;          // one line: the problem, with both sides of the conflict
  Span span{};                  // the operand at fault
  std::vector<Label> labels{};  // other relevant places
  std::vector<std::string> notes{};
  std::string help{};  // the way out
  Severity severity = Severity::Error;
};

// The text form: "error[R0201]: message", the place with its line and a caret, labels, notes, help.
std::string render(const Diagnostic& diagnostic);
std::string render(const std::vector<Diagnostic>& diagnostics);

// Line and column (both from 1) of a byte offset.
std::pair<uint32_t, uint32_t> line_column(const Source& source, uint32_t offset);

// "model.relay:3:14", or the name of the foreign node; empty if unknown.
std::string place_text(const Span& span);

// Collects diagnostics; keeps at most `limit` errors and counts the rest.
class DiagnosticSink {
 public:
  void report(Diagnostic diagnostic);
  void report(const std::vector<Diagnostic>& diagnostics);
  bool has_errors() const { return errors_ > 0; }
  size_t error_count() const { return errors_; }
  const std::vector<Diagnostic>& all() const { return diagnostics_; }

 private:
  static constexpr size_t limit = 100;
  std::vector<Diagnostic> diagnostics_;
  size_t errors_ = 0;
};

using Diagnostics = std::vector<Diagnostic>;

// A value, or the diagnostics that explain its absence.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Diagnostic diagnostic) : state_(std::in_place_index<1>, Diagnostics{std::move(diagnostic)}) {}
  Result(Diagnostics diagnostics) : state_(std::in_place_index<1>, std::move(diagnostics)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const Diagnostics& errors() const { return std::get<1>(state_); }

 private:
  std::variant<T, Diagnostics> state_;
};

struct Nothing {};
using Status = Result<Nothing>;
inline Status ok() { return Nothing{}; }

// C++ does not allow `T x = RELAY_TRY(expr)`; write RELAY_ASSIGN(T x, expr); it returns the errors from the function.
#define RELAY_CONCAT_(a, b) a##b
#define RELAY_CONCAT(a, b) RELAY_CONCAT_(a, b)
#define RELAY_ASSIGN(declaration, expression)                                            \
  auto RELAY_CONCAT(result_, __LINE__) = (expression);                                   \
  if (!RELAY_CONCAT(result_, __LINE__)) return RELAY_CONCAT(result_, __LINE__).errors(); \
  declaration = *std::move(RELAY_CONCAT(result_, __LINE__))
#define RELAY_RETURN_IF_ERROR(expression) \
  if (auto status = (expression); !status) return status.errors()

// The exception that the outer interfaces (Python, the command line) make of diagnostics.
struct CompileError : std::runtime_error {
  explicit CompileError(Diagnostics d) : std::runtime_error(render(d)), diagnostics(std::move(d)) {}
  Diagnostics diagnostics;
};

// A bug in Relay, never a user error.
struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& message);

#define RELAY_CHECK(condition, ...) \
  if (!(condition)) ::relay::check_failed(__FILE__, __LINE__, #condition, ::relay::format(__VA_ARGS__))

}  // namespace relay
