"""What staff see of people. Each module registers the pages of one model."""

from contacts.admin.contact import ContactAdmin
from contacts.admin.contact_import import ContactImportAdmin
from contacts.admin.contact_list import ContactListAdmin
from contacts.admin.suppression import SuppressionAdmin

__all__ = ["ContactAdmin", "ContactImportAdmin", "ContactListAdmin", "SuppressionAdmin"]
