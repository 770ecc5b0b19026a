"""What a package can add to Headway: a policy, a recording format and an operator.
``pyproject.toml`` declares them as entry points; nothing in Headway knows of them."""
