"""What a package can add to Headway: a policy and a recording format. ``pyproject.toml`` declares
them as entry points; nothing in Headway knows of them."""
