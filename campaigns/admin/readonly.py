"""Rows that machines own."""

from mailkoenig.lib.admin import CappedList, MachineAdmin

__all__ = ["CappedList", "MachineAdmin"]
