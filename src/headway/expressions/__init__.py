"""SQL expressions: checked once against their columns, run as Python or as Spark SQL.

Checking (:mod:`headway.expressions.check`) is the compiler's alone: engines run typed trees.
"""
