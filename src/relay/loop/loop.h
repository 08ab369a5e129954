// The loop-level IR: the steps of a kernel.
//
//   kernel conv(data: float32[h, w], out: float32[h, w]), shape (h, w), task y < h {
//     for x in 0..w { out[y, x] = max(data[y, x], 0.0f) }
//   }
//
// Buffers have physical dimensions (any storage order or blocking is already in the indices). A kernel is a range of
// independent tasks: the body is one task; the runtime hands ranges of tasks to threads. Every pass is a function from
// Stmt to Stmt and runs alone on text; interpret() defines the semantics.
#pragma once

#include "relay/base/diagnostics.h"
#include "relay/scalar/expr.h"
#include "relay/scalar/simplify.h"

namespace relay::loop {

using scalar::Expr;
using scalar::Exprs;

enum class Scope : uint8_t {
  Param,     // passed by the caller
  Register,  // constant shape, constant indices once loops are unrolled; becomes SSA values, never memory
  Stack,     // small and constant
  Scratch,   // in the thread's scratch memory, whose size in bytes the kernel states
  Tile,      // constant shape; in tile registers, accessed by whole tiles in Tile loops only (tiles.h)
  Shared,    // constant shape; one array for all threads of a block (blocks.h)
};

struct Buffer : scalar::Source {  // name, dtype
  Exprs shape;                    // physical extents, outermost first; dense
  Scope scope = Scope::Param;
  bool read_only = false;
};
using BufferRef = Ref<const Buffer>;

enum class StmtKind : uint8_t {
  For,
  Store,
  Let,
  If,
  Alloc,
  Block,
  Prefetch,
  Barrier,
  AsyncCopy,  // to shared memory, while the thread goes on; with Commit and Wait (async_copies.h)
  Commit,
  Wait,
};
enum class ForKind : uint8_t {
  Serial,
  Unrolled,    // constant extent; gone after unroll()
  Vectorised,  // constant extent = the lanes; gone after vectorise(), which turns it into ramps and broadcasts
  Tile,        // from 0, constant extent: a nest of them is one step on tiles (tiles.h); remains until code generation
  Block,       // from 0: each iteration is run by a block of threads, in any order or at once (blocks.h)
  Thread,      // from 0, constant extent: the iterations are the threads of a block; gone after bind()
};

struct StmtNode;
using Stmt = Ref<const StmtNode>;
using Stmts = std::vector<Stmt>;

struct StmtNode : Counted {
  StmtKind kind = StmtKind::Block;
  ForKind for_kind = ForKind::Serial;
  Expr var;          // For, Let
  Expr min, extent;  // For; AsyncCopy: extent: the elements; Wait: extent: the groups that may be under way
  Expr value;        // Store, Let; AsyncCopy: the load of the first element
  Expr condition;    // If; Store: mask (null: all lanes)
  BufferRef buffer;  // Store, Alloc, Prefetch, AsyncCopy
  Exprs indices;     // Store, Prefetch, AsyncCopy
  Stmts body;        // For, Let, Alloc: one statement; If: one or two; Block: any number
};

Stmt for_(Expr var, Expr min, Expr extent, ForKind kind, Stmt body);
Stmt store(BufferRef buffer, Exprs indices, Expr value, Expr mask = {});
Stmt let(Expr var, Expr value, Stmt body);
Stmt if_(Expr condition, Stmt then, Stmt otherwise = {});
Stmt alloc(BufferRef buffer, Stmt body);
Stmt block(Stmts stmts);  // flattens nested blocks, drops empty ones; one statement stays itself
Stmt prefetch(BufferRef buffer, Exprs indices);
Stmt barrier();  // threads of a block go on when all of them are here
Stmt async_copy(BufferRef to, Exprs indices, Expr from, int64_t elements);
Stmt commit();
Stmt wait(int64_t groups);
BufferRef buffer(std::string name, DType dtype, Exprs shape, Scope scope);

struct Kernel {
  std::string name;
  std::vector<BufferRef> params;
  Exprs shape_vars;  // int64 variables, passed by the caller in this order
  Expr task;         // the index of the task, a variable
  Expr tasks;        // the number of tasks, over shape_vars
  Stmt body;         // one task
};

// Rebuilds with other statements and expressions; returns the same pointers if nothing changed. Loops nest at most a
// few hundred deep (they come from schedules), so these functions recurse.
Stmt rewrite(const Stmt& s, function_ref<Stmt(const Stmt&)> on_stmt, function_ref<Expr(const Expr&)> on_expr);
void visit(const Stmt& s, function_ref<void(const Stmt&)> on_stmt, function_ref<void(const Expr&)> on_expr);
Stmt substitute(const Stmt& s, const std::vector<scalar::Binding>& bindings);
// The target of a load or store.
struct Access {
  Ref<const scalar::Source> source;  // for a store, a Buffer
  Exprs indices;
};
// The statement with every load and store redirected by `now`. Its argument is the current target, with rewritten
// indices.
Stmt redirect(const Stmt& s, function_ref<Access(const Access&)> now);

// Conversion to text and back: str(parse(str(k))) == str(k).
std::string str(const Kernel& kernel);
std::string str(const Stmt& stmt, int indent = 0);
Result<Kernel> parse_kernel(const std::string& text, const std::string& name = "<text>");

// Checks that the kernel is well-formed: variables in scope, index counts, types, constant extents where needed. Empty
// if it is.
Diagnostics verify(const Kernel& kernel);

// --- the passes, in the order codegen runs them ----------------------------------------------------------------------
Kernel unroll(const Kernel& k);  // replaces Unrolled loops by copies of the body with constant indices
Kernel vectorise(
    const Kernel& k);  // replaces Vectorised loops by vector statements; select(c, load, d) becomes a masked load
Kernel expand_math(const Kernel& k);  // exp, tanh, erf, log, ... by polynomials (scalar/math.h)
Kernel simplify(const Kernel& k);     // scalar::simplify with the loops' ranges; drops empty loops and dead branches
Kernel hoist(
    const Kernel& k);  // moves index arithmetic and loads of read-only params out of loops they do not depend on

// Runs tasks [begin, end) slowly, checking every index: the oracle of loop passes and code generation. `params` are
// dense host arrays that match the buffers. illegal_schedule for an index outside of its array, and for kernels with
// blocks of threads for races and for threads that part at a barrier (blocks.h).
Status interpret(const Kernel& kernel, const std::vector<void*>& params, const std::vector<int64_t>& param_bytes,
                 const std::vector<int64_t>& shape, int64_t begin, int64_t end);

}  // namespace relay::loop
