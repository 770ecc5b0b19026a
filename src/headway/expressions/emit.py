"""Typed trees to Python: flat statements that name what is needed twice, and inline expressions.

A value is NULL exactly when one of a few names is None; as long as that holds, operators only join
their operands' names and nothing is checked. What can be NULL for another reason (a division, a
logarithm) gets a name of its own. A condition is never computed in three values: where only "true"
matters, and after a NOT only "false", ordinary ``and`` and ``or`` do.
"""

from __future__ import annotations

from headway.expressions.emit_conditions import Conditions
from headway.expressions.emit_numbers import Numbers
from headway.expressions.emit_values import NULL, Value, any_none, literal_code, nulls_of
from headway.expressions.functions import FUNCTIONS
from headway.expressions.python_call import python_function
from headway.model import expression_tree

__all__ = ["Emitter", "Value"]


class Emitter(Numbers, Conditions):
    """Writes any expression into a body."""

    def _value(self, node: expression_tree.Node) -> Value:
        match node:
            case expression_tree.Literal():
                return Value(literal_code(node), atom=True) if node.value is not None else NULL
            case expression_tree.ColumnRef():
                return self._read(node)
            case expression_tree.Cast():
                return self._cast(node)
            case expression_tree.Arithmetic() | expression_tree.Negate():
                return self._arithmetic(node)
            case expression_tree.Compare():
                return self._compare(node)
            case expression_tree.Logic():
                return self._logic(node)
            case expression_tree.Not():
                operand = self.value(node.operand)
                return Value(f"(not {operand.code})", operand.nulls)
            case expression_tree.IsNull():
                operand = self.value(node.operand)
                return Value(f"({any_none(operand.nulls)})" if operand.nulls else "False")
            case expression_tree.In():
                operand = self.value(node.operand)
                options = ", ".join(literal_code(option) for option in node.options)
                return Value(f"({operand.code} in ({options},))", operand.nulls)
            case expression_tree.Case():
                return self._case(node)
            case expression_tree.Coalesce():
                return self._coalesce(node)
            case expression_tree.Call():
                return self._call(node)
            case expression_tree.AggregateCall():
                assert self._aggregate is not None, "an aggregate outside an aggregate operator"
                return self._aggregate(node)
            case expression_tree.PythonValue():
                function = self.body.refer("function", python_function(node))
                arguments = ", ".join(self.name(argument).code for argument in node.arguments)
                return self._keep(node, f"{function}({arguments})")

    def _case(self, node: expression_tree.Case) -> Value:
        otherwise = self.value(node.otherwise)
        code, nullable = otherwise.nullable_code, bool(otherwise.nulls)
        for test, chosen in reversed(node.branches):
            value = self.value(chosen)
            nullable = nullable or bool(value.nulls)
            code = f"{value.nullable_code} if {self.condition(test)} else {code}"
        return self._keep(node, code, nullable=nullable)

    def _coalesce(self, node: expression_tree.Coalesce) -> Value:
        values = []
        for operand in node.operands:
            values.append(self.name(operand))
            if not values[-1].nulls:
                break
        if len(values) == 1:
            return values[0]
        code = values[-1].code
        for value in reversed(values[:-1]):
            code = f"{value.code} if {value.code} is not None else {code}"
        return self._keep(node, code, nullable=bool(values[-1].nulls))

    def _call(self, node: expression_tree.Call) -> Value:
        function = FUNCTIONS[node.function]
        template = function.template(tuple(argument.type for argument in node.arguments))
        if not function.strict:
            atoms = [self.name(argument) for argument in node.arguments]
            code = self._fill(template, atoms)
            return self._keep(node, code) if function.may_be_null else Value(code)
        arguments = [self.value(argument) for argument in node.arguments]
        nulls = nulls_of(*arguments)
        code = self._fill(template, arguments)
        if function.may_be_null:
            return self._keep(node, Value(code, nulls).nullable_code)
        return Value(code, nulls, atom=template == "$0" and arguments[0].atom)
