// The text form of Relay: printing and parsing.
//
//   #[version = "0.0.5"]
//   def @main(%x: Tensor[(m, 4), float32], %w: Tensor[(8, 4), float32]) -> Tensor[(m, 8), float32] {
//     %0 = nn.dense(%x, %w, units=8);
//     nn.relu(%0)
//   }
//
// parse(str(m)) is alpha-equal to m, and str(parse(s)) is stable. Dimensions are integer expressions; the names in them
// are shape variables that belong to the enclosing `def` or `fn` (`/` is floor division).
//
// `import "list"` among the definitions includes the definitions of a part of the prelude (prelude/prelude.h).
//
// Constants: scalars are written in place (1f, 2i64, True). Other tensors are meta[relay.Constant][N], entry N of
//
//   #[metadata]
//   {
//     "relay.Constant": [
//       {"shape": [2, 2], "dtype": "float32", "values": [1, 2.5, -3, 4]},     small: the numbers
//       {"shape": [64, 64], "dtype": "float32", "base64": "AAAAPw..."},       the bytes, little endian, row-major
//       {"shape": [512, 512], "dtype": "float32", "tensor": "weight_2"}   a tensor in the safetensors file next to it
//     ],
//     "file": "model.safetensors"
//   }
//
// The reader also accepts the node graph (`"root"`, `"nodes"`, `"b64ndarrays"`) that version 0.0.5 files carry.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "relay/ir/expr.h"
#include "relay/tensor/safetensors.h"

namespace relay::text {

using relay::NamedTensors;

struct PrintOptions {
  bool version = true;          // the header line, and the metadata section; if false, a fragment for display
  bool types = false;           // ` /* ty=... */` after typed expressions
  int64_t value_elements = 64;  // tensors up to this size are written as numbers
  // larger ones are appended here and referred to by name; if null, they are embedded as base64
  NamedTensors* weights = nullptr;
  std::string weights_file = {};  // the value of "file" in the metadata section if `weights` is set
  // The text after an expression, instead of the comment that `types` adds.
  std::function<std::string(const ir::Expr&)> annotate = {};
};

std::string str(const ir::Module& module, const PrintOptions& options = {});
// Prints an expression, after declarations of its free variables (`free_var %x: T;`). No version header by default.
std::string str(const ir::Expr& expr, PrintOptions options = {.version = false});
std::string type_text(const ir::Type& type);  // in the form that parse_type reads; ir::str is for messages
// Attributes of a call as in the text, without defaults: "strides=[2, 2], groups=2"
std::string str(const ir::Attrs& attrs);

struct ParseOptions {
  // The tensor of this name in the file that the metadata section names (empty if it names none); a tensor without a
  // value if there is no such tensor. If null, such constants are errors.
  std::function<Tensor(const std::string& file, const std::string& name)> find_tensor;
  const ir::Module* definitions = nullptr;  // additional visible type definitions
};

Result<ir::Module> parse(std::shared_ptr<const Source> source, const ParseOptions& options = {});
Result<ir::Module> parse(std::string text, const ParseOptions& options = {});  // a source named "<text>"
Result<ir::Expr> parse_expr(std::shared_ptr<const Source> source, const ParseOptions& options = {});
Result<ir::Expr> parse_expr(std::string text, const ParseOptions& options = {});

// The module with a part of the prelude ("list", "tensor_array_float32"; see prelude/prelude.h). Definitions that the
// module already has must be identical.
Result<ir::Module> import_prelude(const ir::Module& module, std::string_view name);

// Shape variables by name, for texts that share them.
using DimNames = std::map<std::string, ir::Dim>;

enum class TypeForm : uint8_t { Relay, Short };
// Parses a type. The short form is tried first: "(1, n, 8)" is a float32 tensor, "(4,) int64" and "() bool" name their
// dtype, "[(1, 2), (1, 3)]" is a tuple of tensors; "()" is a float32 scalar (in Relay form it is the empty tuple).
Result<ir::Type> parse_type(std::string text, DimNames* names = nullptr, TypeForm form = TypeForm::Short);
// "strides=[2, 2], groups=2"
Result<std::vector<std::pair<std::string, ir::AttrValue>>> parse_attrs(std::string text, DimNames* names = nullptr);

// --- files -----------------------------------------------------------------------------------------------------------
// Loads a module from a .relay file, with the safetensors file it names (in the same folder). `files`, if set, receives
// the paths of both.
Result<ir::Module> load(const std::string& path, std::vector<std::string>* files = nullptr);
// Writes `path` and, if there are large tensors and `inline_weights` is false, `path` with the extension .safetensors.
Status save(const ir::Module& module, const std::string& path, bool inline_weights = false);

}  // namespace relay::text
