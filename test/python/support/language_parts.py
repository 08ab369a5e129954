"""Variables and types that tests of the language's Python API start from."""

import relay


def x_and_y():
    """Two variables (2, 3)."""
    return relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))


def list_type(mod):
    """type List[A] { Cons(A, List[A]), Nil }, put into a module."""
    a, header = relay.TypeVar("A"), relay.GlobalTypeVar("List")
    cons = relay.Constructor("Cons", [a, header(a)], header)
    nil = relay.Constructor("Nil", [], header)
    mod[header] = relay.TypeData(header, [a], [cons, nil])
    return header, cons, nil
