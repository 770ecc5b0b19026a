"""Operator placement on the architectural graph (AEDSMS section 5.5) as a mixed-integer program.

``placement_problem`` draws the problem from a compilation, ``integer_program`` makes a program of
it, ``placement_solver`` runs it, ``local_search`` betters an answer, ``explain_placement`` says why
there is none.
"""
