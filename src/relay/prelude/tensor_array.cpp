// Tensor arrays: lists of tensors that a program reads, writes, stacks and splits at run time.
//
// The type system has no variable for an element type or a rank, so there is a set of definitions for each; their texts
// are generated here from one template. In it $D is the element type and, for arrays of a fixed shape, $S the suffix of
// names.
#include <charconv>

#include "relay/base/dtype.h"
#include "relay/base/text.h"
#include "relay/prelude/prelude.h"

namespace relay::prelude {

static constexpr int max_rank = 6;

using Values = std::vector<std::pair<std::string, std::string>>;

// The template with values for its $names.
static std::string filled(std::string_view text, const Values& values) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t dollar = text.find('$', i);
    out += text.substr(i, dollar - i);
    if (dollar == std::string_view::npos) break;
    i = dollar + 2;
    for (const auto& [name, value] : values)
      if (name == text.substr(dollar, 2)) out += value;
  }
  return out;
}

// The definitions shared by both forms, over the type $T of an element and the constructor $N of an empty one.
static constexpr std::string_view shared = R"(
// An array of n empty elements.
def @tensor_array_$S(%n: int32) -> List[$T] {
  if (%n <= 0) { Nil } else { Cons($N, @tensor_array_$S(%n - 1)) }
}
def @tensor_array_read_$S(%array: List[$T], %n: int32) -> $T { @nth(%array, %n) }
def @tensor_array_write_$S(%array: List[$T], %n: int32, %value: $T) -> List[$T] {
  @update(%array, %n, %value)
}
// The array with values[i] at position indices[i].
def @tensor_array_scatter_$S(%array: List[$T], %indices: Tensor[(?), int32], %values: List[$T]) -> List[$T] {
  @tensor_array_scatter_helper_$S(%array, 0, take(shape_of(%indices, dtype="int32"), 0, axis=0), %indices, %values)
}
def @tensor_array_scatter_helper_$S(%array: List[$T], %i: int32, %limit: int32, %indices: Tensor[(?), int32], %values: List[$T]) -> List[$T] {
  if (%i == %limit) {
    %array
  } else {
    let %written = @update(%array, take(%indices, %i, axis=0), @nth(%values, %i));
    @tensor_array_scatter_helper_$S(%written, %i + 1, %limit, %indices, %values)
  }
}
// The elements at the given positions.
def @tensor_array_gather_helper_$S(%array: List[$T], %i: int32, %limit: int32, %indices: Tensor[(?), int32]) -> List[$T] {
  if (%i == %limit) {
    Nil
  } else {
    Cons(@nth(%array, take(%indices, %i, axis=0)), @tensor_array_gather_helper_$S(%array, %i + 1, %limit, %indices))
  }
}
)";

// Slices of `value`, with the given `lengths`, become the elements. $R is the type of a slice.
static constexpr std::string_view splitting = R"(
// The array with slices of `value` along axis 0 as elements, of the given lengths.
def @tensor_array_split_$S(%array: List[$R], %value: $R, %lengths: Tensor[(?), int32]) -> List[$R] {
  @ta_split_helper_$S(%array, %value, 0, 0, take(shape_of(%lengths, dtype="int32"), 0, axis=0), %lengths)
}
def @ta_split_helper_$S(%array: List[$R], %value: $R, %begin: int32, %i: int32, %limit: int32, %lengths: Tensor[(?), int32]) -> List[$R] {
  if (%i == %limit) {
    %array
  } else {
    let %end = %begin + take(%lengths, %i, axis=0);
    let %written = @update(%array, %i, @tensor_take_$P(%value, %begin, %end));
    @ta_split_helper_$S(%written, %value, %end, %i + 1, %limit, %lengths)
  }
}
)";

// Rows i to end of a tensor of shape $W, appended to `done`.
static constexpr std::string_view rows = R"(
def @tensor_rows_$Q(%x: Tensor[$W, $D], %i: int32, %end: int32, %done: Tensor[$W, $D]) -> Tensor[$W, $D] {
  if (%i < %end) {
    let %row = expand_dims(take(%x, %i, axis=0), axis=0);
    @tensor_rows_$Q(%x, %i + 1, %end, concatenate((%done, %row), axis=0))
  } else {
    %done
  }
}
)";

// The rows of a tensor of shape $W as elements, constructed by $C.
static constexpr std::string_view unstacking = R"(
def @tensor_array_unstack_$U(%x: Tensor[$W, $D]) -> List[$T] {
  @tensor_array_unstack_$U_helper(0, take(shape_of(%x, dtype="int32"), 0, axis=0), %x)
}
def @tensor_array_unstack_$U_helper(%i: int32, %limit: int32, %x: Tensor[$W, $D]) -> List[$T] {
  if (%i == %limit) {
    Nil
  } else {
    Cons($C(take(%x, %i, axis=0)), @tensor_array_unstack_$U_helper(%i + 1, %limit, %x))
  }
}
)";

static std::string shape_text(const std::vector<std::string>& dims) { return format("({})", join(dims, ", ")); }

// --- any rank --------------------------------------------------------------------------------------------------------

// The clauses of a match for the ranks from `first` to `last`; in the template $0 is the rank, $1 the next one.
static std::string clauses(std::string_view text, int first, int last, const std::string& dtype) {
  std::string out;
  for (int rank = first; rank <= last; ++rank)
    out += filled(text, {{"$0", std::to_string(rank)}, {"$1", std::to_string(rank + 1)}, {"$D", dtype}});
  return out;
}

static std::string dynamic_text(const std::string& dtype) {
  std::string type = format("tensor_{}_t", dtype);
  Values values = {{"$D", dtype}, {"$S", dtype}, {"$P", dtype},
                   {"$T", type},  {"$R", type},  {"$N", "tensor_nil_" + dtype}};
  std::string out = "#[version = \"0.0.5\"]\nimport \"list\"\n";
  out += filled("// A tensor of up to 6 axes, or empty.\ntype $T {\n  tensor_nil_$D,\n  tensor0_$D($D),\n", values);
  for (int rank = 1; rank <= max_rank; ++rank)
    out += format("  tensor{}_{}(Tensor[{}, {}]),\n", rank, dtype,
                  shape_text(std::vector<std::string>(static_cast<size_t>(rank), "?")), dtype);
  out += "}\n";
  out += filled(
      "// Rows lower to upper - 1.\ndef @tensor_take_$D(%t: $T, %lower: int32, %upper: int32) -> $T {\n  match? (%t) "
      "{\n",
      values);
  out += clauses(
      "    tensor$0_$D(%x) => tensor$0_$D(@tensor_rows_$0_$D(%x, %lower, %upper, strided_slice(%x, begin=[0], end=[0], "
      "axes=[0]))),\n",
      1, max_rank, dtype);
  out +=
      filled("  }\n}\n// A new leading axis.\ndef @tensor_expand_dims_$D(%t: $T) -> $T {\n  match? (%t) {\n", values);
  out += clauses("    tensor$0_$D(%x) => tensor$1_$D(expand_dims(%x, axis=0)),\n", 0, max_rank - 1, dtype);
  out += filled(
      "  }\n}\n// The concatenation along axis 0.\ndef @tensor_concatenate_$D(%a: $T, %b: $T) -> $T {\n  match? ((%a, "
      "%b)) {\n",
      values);
  out += clauses("    (tensor$0_$D(%x), tensor$0_$D(%y)) => tensor$0_$D(concatenate((%x, %y), axis=0)),\n", 1, max_rank,
                 dtype);
  out += "  }\n}\n";
  for (int rank = 1; rank <= max_rank; ++rank) {
    Values of_rank = values;
    of_rank.emplace_back("$W", shape_text(std::vector<std::string>(static_cast<size_t>(rank), "?")));
    of_rank.emplace_back("$Q", format("{}_{}", rank, dtype));
    of_rank.emplace_back("$U", format("tensor{}_{}", rank, dtype));
    of_rank.emplace_back("$C", format("tensor{}_{}", rank - 1, dtype));
    out += filled(rows, of_rank) + filled(unstacking, of_rank);
  }
  out += filled(shared, values) + filled(splitting, values);
  out += filled(R"(
// All elements as one tensor: concatenated along axis 0; stacked along a new axis; those at the given positions stacked.
def @tensor_array_concat_$D(%array: List[$T]) -> $T { @foldr1(@tensor_concatenate_$D, %array) }
def @tensor_array_stack_$D(%array: List[$T]) -> $T {
  @tensor_array_concat_$D(@map(@tensor_expand_dims_$D, %array))
}
def @tensor_array_gather_$D(%array: List[$T], %indices: Tensor[(?), int32]) -> $T {
  let %limit = take(shape_of(%indices, dtype="int32"), 0, axis=0);
  @tensor_array_stack_$D(@tensor_array_gather_helper_$D(%array, 0, %limit, %indices))
}
)",
                values);
  return out;
}

// --- one shape -------------------------------------------------------------------------------------------------------

static std::string fixed_type(const std::string& suffix) { return format("static_tensor_{}_t", suffix); }

static std::string type_definition(const std::string& suffix, const std::string& dtype,
                                   const std::vector<std::string>& dims) {
  return format("type {} {{\n  tensor_nil_{},\n  tensor_constructor_{}({}),\n}}\n", fixed_type(suffix), suffix, suffix,
                dims.empty() ? dtype : format("Tensor[{}, {}]", shape_text(dims), dtype));
}

static std::string suffix_of(const std::string& dtype, const std::vector<std::string>& dims) {
  std::string out = dtype;
  for (const std::string& d : dims) out += "_" + (d == "?" ? "any" : d);
  return dims.empty() ? out + "_scalar" : out;
}

static std::string static_text(const std::string& dtype, const std::vector<std::string>& dims) {
  std::string suffix = suffix_of(dtype, dims);
  std::vector<std::string> stacked = dims, sliced = dims;  // any number of elements; any number of rows
  stacked.insert(stacked.begin(), "?");
  if (!dims.empty()) sliced[0] = "?";
  std::string of_stack = suffix_of(dtype, stacked), of_slice = suffix_of(dtype, sliced);
  std::string out = "#[version = \"0.0.5\"]\nimport \"list\"\n";
  out += type_definition(suffix, dtype, dims) + type_definition(of_stack, dtype, stacked);
  if (of_slice != suffix && !dims.empty()) out += type_definition(of_slice, dtype, sliced);
  std::string tensor = dims.empty() ? dtype : format("Tensor[{}, {}]", shape_text(dims), dtype);
  Values values = {{"$D", dtype},
                   {"$S", suffix},
                   {"$U", suffix},
                   {"$P", of_slice},
                   {"$Q", of_slice},
                   {"$T", fixed_type(suffix)},
                   {"$R", fixed_type(of_slice)},
                   {"$N", "tensor_nil_" + suffix},
                   {"$C", "tensor_constructor_" + suffix},
                   {"$K", "tensor_constructor_" + of_slice},
                   {"$W", shape_text(stacked)},
                   {"$X", tensor},
                   {"$Y", fixed_type(of_stack)},
                   {"$Z", "tensor_constructor_" + of_stack},
                   {"$O", of_stack}};
  out += filled(shared, values) + filled(unstacking, values);
  out += filled(R"(
def @tensor_get_data_$S(%t: $T) -> $X { match? (%t) { $C(%x) => %x } }
// A new leading axis.
def @tensor_expand_dims_$S(%t: $T) -> $Y { match? (%t) { $C(%x) => $Z(expand_dims(%x, axis=0)) } }
// All elements stacked along a new axis; those at the given positions stacked.
def @tensor_array_stack_$S(%array: List[$T]) -> $Y {
  let %join = fn (%a: $Y, %b: $Y) -> $Y {
    match? ((%a, %b)) { ($Z(%x), $Z(%y)) => $Z(concatenate((%x, %y), axis=0)) }
  };
  @foldr1(%join, @map(@tensor_expand_dims_$S, %array))
}
def @tensor_array_gather_$S(%array: List[$T], %indices: Tensor[(?), int32]) -> $Y {
  let %limit = take(shape_of(%indices, dtype="int32"), 0, axis=0);
  @tensor_array_stack_$S(@tensor_array_gather_helper_$S(%array, 0, %limit, %indices))
}
)",
                values);
  if (dims.empty()) return out;
  Values of_rows = values;
  for (auto& [name, value] : of_rows)
    if (name == "$W") value = shape_text(sliced);
  out += filled(rows, of_rows);
  out += filled(R"(
// Rows lower to upper - 1; two arrays concatenated along axis 0; all elements concatenated along axis 0.
def @tensor_take_$S(%t: $T, %lower: int32, %upper: int32) -> $R {
  match? (%t) { $C(%x) => $K(@tensor_rows_$Q(%x, %lower, %upper, strided_slice(%x, begin=[0], end=[0], axes=[0]))) }
}
def @tensor_concatenate_$S(%a: $T, %b: $T) -> $R {
  match? ((%a, %b)) { ($C(%x), $C(%y)) => $K(concatenate((%x, %y), axis=0)) }
}
)",
                values);
  if (of_slice != suffix) return out;  // arrays of elements with any number of rows have these definitions too
  out += filled(splitting, values);
  out += filled("def @tensor_array_concat_$S(%array: List[$T]) -> $R { @foldr1(@tensor_concatenate_$S, %array) }\n",
                values);
  return out;
}

std::optional<std::string> tensor_array(std::string_view name) {
  static constexpr std::string_view prefix = "tensor_array_";
  if (!starts_with(name, prefix)) return std::nullopt;
  std::vector<std::string_view> words = split(name.substr(prefix.size()), '_');
  std::optional<DType> dtype = words.empty() ? std::nullopt : parse_dtype(words[0]);
  if (!dtype) return std::nullopt;
  if (words.size() == 1) return dynamic_text(dtype->str());
  std::vector<std::string> dims;
  for (size_t i = 1; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (word == "scalar" && words.size() == 2) break;
    uint32_t extent = 0;
    bool number = std::from_chars(word.data(), word.data() + word.size(), extent).ptr == word.data() + word.size();
    if (word != "any" && (word.empty() || !number)) return std::nullopt;
    dims.emplace_back(word == "any" ? "?" : std::to_string(extent));
  }
  if (dims.size() > 16) return std::nullopt;
  return static_text(dtype->str(), dims);
}

}  // namespace relay::prelude
