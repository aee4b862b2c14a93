#!/usr/bin/env python
"""Run a Mail Koenig command; without one, list them all."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mailkoenig.settings")
    from mailkoenig.lib.command import run

    run(sys.argv)


if __name__ == "__main__":
    main()
