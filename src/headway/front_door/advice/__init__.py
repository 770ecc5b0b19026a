"""What would help where a deadline cannot be promised: changes of the YAML files, each tried."""
