"""Hostile Relay text."""

from harness import Kinds, either, fine, refused

kinds = Kinds("program")

BIG = 2**62


def main(body, parameters=""):
    return f"def @main({parameters}) {{ {body} }}"


def tensor(shape, name="x", dtype="float32"):
    return f"%{name}: Tensor[({shape}), {dtype}]"


def tower(opening, inner, closing, n):
    return opening * n + inner + closing * n


# --- depth ----------------------------------------------------------------------------------------------

N, M = 2_000, 1_000_000  # a deep text, and one where anything that recurses or is quadratic ends
kinds(
    "if-tower",
    "nested if: recursion of parser, typing, lowering",  # about 25 us a level: 10^6 run too, in more than 20 s
    fine("1"),
    lambda v: v.program(main(tower("if (%c) { ", "1", " } else { 2 }", v.size(N, M // 4)), "%c: bool")),
)
kinds(
    "if-conditions",
    "if in the condition of if",
    fine(),
    lambda v: v.program(main(tower("if (", "%c", ") { %c } else { %c }", v.size(N, M // 10)), "%c: bool")),
)
kinds(
    "fn-tower",
    "functions in functions: types as deep as the text",
    refused("R0105 R0304"),
    lambda v: v.program(main(tower("fn () { ", "1", " }", v.size(N, M)))),
)
kinds(
    "fn-open",
    "10^6 functions that are never closed",
    refused("R0101"),
    lambda v: v.program(main("fn () { " * v.size(N, M))),
)
kinds(
    "if-open",
    "10^6 ifs that are never closed",
    refused("R0101"),
    lambda v: v.program(main("if (%c) { " * v.size(N, M), "%c: bool")),
)
kinds("let-chain", "a chain of lets", fine(), lambda v: v.program(main("let %x = 1; " * v.size(N, M // 5) + "%x")))
kinds(
    "let-nested",
    "let in the value of let",
    fine(),
    lambda v: v.program(main(tower("let %x = { ", "1", " }; %x", v.size(N, M // 10)))),
)
kinds(
    "graph-chain",
    "a chain of graph variables",
    fine(),
    lambda v: v.program(
        main(
            "".join(f"%{i} = nn.relu(%{i - 1 if i else 'x'});\n" for i in range(v.size(500, 20_000))) + "%0", tensor(4)
        ),
        "-O",
        "0",
    ),
    long=True,
)
kinds(
    "tuple-tower",
    "tuples in tuples: a type as deep as the text",
    refused("R0105"),
    lambda v: v.program(main(tower("(", "1", ",)", v.size(N, M)))),
)
kinds(
    "parentheses", "parentheses around a number", fine(), lambda v: v.program(main(tower("(", "1", ")", v.size(N, M))))
)
kinds("braces", "braces around a number", fine(), lambda v: v.program(main(tower("{", "1", "}", v.size(N, M // 10)))))
kinds(
    "calls",
    "calls in calls",
    fine(),
    lambda v: v.program(main(tower("nn.relu(", "%x", ")", v.size(500, 5_000)), tensor(4)), "--executor", "debug"),
)
kinds(
    "minus-signs",
    "10^6 signs before a number",
    either("R0101 R0102 R0105"),
    lambda v: v.program(main("-" * v.size(N, M) + "1")),
)
kinds("sum", "a sum of 10^5 terms", fine(), lambda v: v.program(main("+".join(["1"] * v.size(N, M // 10)))))
kinds("fields", "fields of fields", refused("R03"), lambda v: v.program(main("%x" + ".0" * v.size(N, M), tensor(4))))
kinds(
    "type-tuples",
    "tuple types in tuple types",
    refused("R0105", "200"),
    lambda v: v.program(main("%x", "%x: " + tower("(", "int32", ",)", v.size(N, M)))),
)
kinds(
    "type-functions",
    "function types in function types",
    refused("R0105", "200"),
    lambda v: v.program(main("1", "%x: " + tower("fn (", "int32", ") -> int32", v.size(N, M)))),
)
kinds(
    "type-calls",
    "type constructors in type constructors",
    refused("R0105", "200"),
    lambda v: v.program('import "list"\n' + main("1", "%x: " + tower("List[", "int32", "]", v.size(N, M)))),
)
kinds(
    "dimension-depth",
    "parentheses in a dimension",
    refused("R0105", "200"),
    lambda v: v.program(
        main("%x", tensor(tower("(", "n", ")", v.size(N, M)) + ",")),
    ),
)
kinds(
    "dimension-terms",
    "a dimension that is a sum of very many terms",
    either("R0105 R0405"),
    lambda v: v.program(
        main("%x", tensor("+".join(f"{v.rng.choice('nmk')}*{i}" for i in range(v.size(N, 50_000))) + ", n, m, k")),
        verb="check",
    ),
)
kinds(
    "dimension-variables",
    "a dimension that is a sum of 3,000 variables, which no input tells: named in few words",
    refused("R0304"),
    lambda v: v.program(main("nn.relu(%x)", tensor("+".join(f"n{i}" for i in range(v.size(2, 3_000)))))),
)
kinds(
    "dimension-sum",
    "a dimension that is a sum of 10^4 terms",
    fine(),
    lambda v: v.program(main("nn.relu(%x)", tensor("+".join(["n"] * v.size(2, 10_000)))), verb="check"),
)
kinds(
    "pattern-depth",
    "tuples in a pattern",
    refused("R0105"),
    lambda v: v.program(main("match (1) { " + tower("(", "%y", ",)", v.size(N, M)) + " => 1 }")),
)
kinds(
    "comments", "comments in comments", fine("1"), lambda v: v.program(main(tower("/*", "", "*/", v.size(N, M)) + "1"))
)
kinds(
    "lists",
    "lists in lists as an attribute",
    refused("R01 R0206"),
    lambda v: v.program(main("zeros(shape=" + tower("[", "1", "]", v.size(N, M)) + ")")),
)
kinds(
    "metadata-depth",
    "lists in lists of the metadata",
    refused("R0104"),
    lambda v: v.program(main("meta[relay.Constant][0]") + "\n#[metadata]\n" + tower("[", "1", "]", v.size(N, M))),
)
kinds(
    "match-clauses",
    "a match of 10^4 clauses that are never reached: some are shown",
    fine("R0306"),
    lambda v: v.program(main("match (%x) { " + "_ => 1, " * v.size(10, 10_000) + "}", tensor(4))),
)
kinds(
    "match-cases",
    "a match whose missing case is exponential to find",
    either("R0305 R0405 R0105"),
    lambda v: v.program(
        "type T { A, B, C, D }\n"
        + main(
            "match (%x) { "
            + ", ".join("(" + ", ".join("A" if i == j else "_" for j in range(n)) + ") => 1" for i in range(n))
            + ", _ => 2 }",
            "%x: (" + ", ".join(["T"] * n) + ")",
        )
        if (n := v.size(4, 24))
        else "",
        verb="check",
    ),
)

# --- width ----------------------------------------------------------------------------------------------

kinds(
    "rank",
    "a tensor of 100,000 dimensions",
    refused("R0405", "dimensions.*32"),
    lambda v: v.program(main("%x", tensor(",".join(["1"] * v.size(33, 100_000))))),
)
kinds(
    "rank-check",
    "the same, only checked",
    refused("R0405", "dimensions.*32"),
    lambda v: v.program(main("%x", tensor(",".join(["1"] * v.size(33, 100_000)))), verb="check"),
)
kinds(
    "rank-reshape",
    "a reshape to 100,000 dimensions",
    refused("R0405", "dimensions.*32"),
    lambda v: v.program(main(f"reshape(%x, newshape=[{','.join(['1'] * v.size(33, 100_000))}])", tensor("1"))),
)
kinds(
    "rank-zeros",
    "zeros of 100,000 dimensions",
    refused("R0405", "dimensions.*32"),
    lambda v: v.program(main(f"zeros(shape=[{','.join(['1'] * v.size(33, 100_000))}])")),
)
kinds(
    "rank-expand",
    "expand_dims by a million dimensions",
    refused("R0405", "dimensions.*32"),
    lambda v: v.program(main(f"expand_dims(%x, axis=0, num_newaxis={v.one_of([32, 10**4, 10**5])})", tensor("1"))),
)
kinds(
    "concatenate-inputs",
    "a concatenation of 5,000 inputs",
    fine(),
    lambda v: v.program(
        main(
            f"concatenate(({','.join(f'%x{i}' for i in range(n))}), axis=0)",
            ", ".join(tensor("2, 2", f"x{i}") for i in range(n)),
        )
        if (n := v.size(200, 5_000))
        else ""
    ),
)
kinds(
    "concatenate-one",
    "a concatenation of 5,000 times one input",
    fine(),
    lambda v: v.program(main(f"concatenate(({','.join(['%x'] * v.size(200, 5_000))}), axis=0)", tensor("2, 2"))),
)
kinds(
    "split-outputs",
    "a split into 20,000 outputs",
    fine(),
    lambda v: v.program(
        main(f"split(%x, indices_or_sections={n}, axis=0)", tensor(f"{n}, 2")) if (n := v.size(200, 20_000)) else ""
    ),
)
kinds(
    "split-sections",
    "a split into more sections than there are numbers",
    refused("R0302 R0206 R0405"),
    lambda v: v.program(
        main(f"split(%x, indices_or_sections={v.one_of([3, 2**31, BIG, 0, -1])}, axis=0)", tensor("4"))
    ),
)
kinds(
    "parameters",
    "a function of 20,000 parameters",
    fine(),
    lambda v: v.program(main("%x1", ", ".join(f"%x{i}: int32" for i in range(v.size(500, 20_000))))),
)
kinds(
    "outputs",
    "a result of 20,000 fields",
    fine(),
    lambda v: v.program(main("(" + "%x," * v.size(500, 20_000) + ")", tensor("2"))),
)
kinds(
    "definitions",
    "20,000 functions",
    fine(),
    lambda v: v.program(
        "".join(f"def @f{i}(%x: int32) -> int32 {{ %x }}\n" for i in range(v.size(500, 20_000))) + main("@f0(1)")
    ),
)
kinds(
    "exponential-graph",
    "a graph variable used twice, 60 times over: 2^60 paths",
    fine(),
    lambda v: v.program(
        main(
            "".join(f"%{i} = add(%{i - 1}, %{i - 1});\n" if i else "%0 = nn.relu(%x);\n" for i in range(n))
            + f"%{n - 1}",
            tensor(2),
        )
        if (n := v.size(60, 400))
        else "",
        "-O",
        "0",
    ),
)
kinds(
    "exponential-types",
    "a tuple type that doubles 60 times",
    refused("R0105 R0405"),
    lambda v: v.program(main("".join(f"let %a{i + 1} = (%a{i}, %a{i}); " for i in range(60)) + "%a60", "%a0: int32")),
)
kinds(
    "exponential-inlining",
    "functions that each call the one before twice",
    fine(),
    lambda v: v.program(
        "def @f0(%x: int32) -> int32 { %x + 1 }\n"
        + "".join(f"def @f{i}(%x: int32) -> int32 {{ @f{i - 1}(%x) }}\n" for i in range(1, n))
        + main(f"@f{n - 1}(1)")
        if (n := v.size(50, 1_000))
        else ""
    ),
)
kinds(
    "constructors",
    "a type of more constructors than a tag can count",
    either("R0405"),
    lambda v: v.program("type T { " + ", ".join(f"C{i}" for i in range(v.size(1_000, 70_000))) + " }\n" + main("C0")),
)

# --- running --------------------------------------------------------------------------------------------

ENDLESS = "def @f(%n: int32) -> int32 { add(@f(add(%n, 1)), 1) }\n" + main("@f(%n)", "%n: int32")
for executor in ("vm", "aot", "debug"):
    kinds(
        f"endless-{executor}",
        f"calls without end on the executor {executor}",
        refused("R0405 R0603", "deep|memory"),
        lambda v, e=executor: v.program(ENDLESS, "--input", "n=1", "--executor", e),
        long=True,
    )
kinds(
    "endless-closure",
    "a closure that calls itself without end",
    refused("R0405 R0603", "deep|memory"),
    lambda v: v.program(
        main("let %f: fn (int32) -> int32 = fn (%n: int32) -> int32 { add(%f(%n), 1) }; %f(%n)", "%n: int32"),
        "--input",
        "n=1",
        "--executor",
        v.one_of(["vm", "aot"]),
    ),
    long=True,
)
kinds(
    "endless-mutual",
    "two functions that call each other without end",
    refused("R0405 R0603", "deep|memory"),
    lambda v: v.program(
        "def @g(%n: int32) -> int32 { add(@f(%n), 1) }\ndef @f(%n: int32) -> int32 { add(@g(%n), 1) }\n"
        + main("@f(%n)", "%n: int32"),
        "--input",
        "n=1",
        "--executor",
        v.one_of(["vm", "aot"]),
    ),
    long=True,
)
kinds(
    "long-list",
    "a list of a million cells, made and dropped",
    fine(),
    lambda v: v.program(
        'import "list"\ndef @f(%n: int32, %l: List[int32]) -> List[int32] { if (equal(%n, 0)) { %l } else '
        "{ @f(subtract(%n, 1), Cons(%n, %l)) } }\ndef @main(%n: int32) { match (@f(%n, Nil)) "
        "{ Cons(%a, _) => %a, Nil => 0 } }",
        "--input",
        f"n={v.size(10_000, 1_000_000)}",
        "--executor",
        v.one_of(["vm", "aot", "debug"]),
    ),
    long=True,
)
kinds(
    "reference-cycle",
    "a reference that holds a closure that holds the reference",
    either("R0304 R0303"),
    lambda v: v.program(
        main(
            "let %r = ref(fn (%n: int32) -> int32 { %n }); "
            "let %_ = ref_write(%r, fn (%n: int32) -> int32 { let %g = ref_read(%r); %g(%n) }); 1"
        )
    ),
)
kinds(
    "reference-endless",
    "a closure that calls itself through a reference",
    refused("R0405 R0603 R0304"),
    lambda v: v.program(
        main(
            "let %r = ref(fn (%n: int32) -> int32 { %n }); let %_ = ref_write(%r, fn (%n: int32) -> int32 "
            "{ let %g = ref_read(%r); add(%g(%n), 1) }); let %h = ref_read(%r); %h(1)"
        )
    ),
    long=True,
)
kinds(
    "cyclic-type",
    "a type that has no finite value",
    either("R02 R03 R0601"),
    lambda v: v.program("type T { C(T) }\n" + main("1", "%t: T")),
)
kinds(
    "occurs",
    "a function applied to itself: an infinite type",
    refused("R0303 R0301"),
    lambda v: v.program(main("let %f = fn (%x) { %x(%x) }; %f(%f)")),
)
kinds(
    "no-main",
    "a module without @main",
    refused("R0203", "@main"),
    lambda v: v.program("def @f(%x: int32) { %x }", verb=v.one_of(["run", "profile", "inspect"])),
)
kinds(
    "no-main-checked",
    "a module without @main is a library: it is checked, and the lack is said",
    fine("without @main"),
    lambda v: v.program("def @f(%x: int32) { %x }", verb="check"),
)
kinds(
    "main-recursive",
    "@main calls itself without end",
    refused("R0405 R0603"),
    lambda v: v.program("def @main(%x: int32) -> int32 { add(@main(%x), 1) }"),
    long=True,
)
