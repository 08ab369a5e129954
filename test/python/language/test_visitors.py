"""Messages of visitors about methods that return nothing or are misspelled."""

import pytest

import relay


def test_a_method_that_returns_nothing():
    class Forgets(relay.ExprMutator):
        def visit_call(self, call):
            super().visit_call(call)

    x = relay.var("x", shape=(2,))
    with pytest.raises(TypeError, match=r"Forgets\.visit_call\(\) returned nothing"):
        Forgets().visit(relay.Function([x], relay.nn.relu(x)))

    class ForgetsTypes(relay.TypeMutator):
        def visit_tensor_type(self, tt):
            pass

    with pytest.raises(TypeError, match=r"ForgetsTypes\.visit_tensor_type\(\) returned nothing"):
        ForgetsTypes().visit(relay.TensorType((2,), "float32"))


def test_visitors_may_return_nothing():
    class Counts(relay.ExprVisitor):
        calls = 0

        def visit_call(self, call):
            self.calls += 1
            super().visit_call(call)

    x = relay.var("x", shape=(2,))
    counts = Counts()
    counts.visit(relay.nn.relu(relay.nn.relu(x)))
    assert counts.calls == 2


@pytest.mark.parametrize(
    "name, near",
    [("visit_cal", "visit_call"), ("visit_Call", "visit_call"), ("visit_tuple_get_item", "visit_tuple_getitem")],
)
def test_misspelled_methods_are_named(name, near):
    with pytest.warns(SyntaxWarning, match=rf"Mine\.{name}\(\) is never called: did you mean {near}\(\)\?"):
        type("Mine", (relay.ExprVisitor,), {name: lambda self, node: None})


def test_other_names_are_the_subclass_own(recwarn):
    class Mine(relay.ExprVisitor):
        def visit_everything_twice(self, node):
            pass

        def visit_pattern(self, pattern):
            pass

    type("Types", (relay.TypeVisitor,), {"visit_tensor_type": lambda self, t: None})
    assert not [w for w in recwarn if issubclass(w.category, SyntaxWarning)]
