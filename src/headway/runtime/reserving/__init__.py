"""Reservations in the vehicle engine: the policies for overload over operator paths of a query."""
