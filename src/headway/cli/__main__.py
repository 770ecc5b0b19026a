"""``python -m headway.cli``"""

from headway.cli.app import main

main()
