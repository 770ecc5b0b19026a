"""The commands, one file each with its helpers; :mod:`headway.cli.registry` lists them."""
