"""Contacts from a file: read once, in flat memory, and written in one transaction."""

from contacts.importing.services import Refusal, Report, import_contacts

__all__ = ["Refusal", "Report", "import_contacts"]
