"""``python -m headway``"""

from headway.cli.app import main

if __name__ == "__main__":
    main()
