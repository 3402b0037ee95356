"""``python -m noiseproof`` is ``noiseproof``."""

from .cli.main import main

if __name__ == "__main__":
    main()
