"""What things are: schemas, operators, queries, vehicles, plans. Pure values, no input or
output."""
