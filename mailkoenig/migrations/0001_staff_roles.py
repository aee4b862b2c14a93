"""The roles that the staff begins with. Permissions are made after the last migration, so here they are made first."""

from typing import Any

from django.apps import apps as installed
from django.contrib.auth.management import create_permissions
from django.db import migrations

from mailkoenig import roles


def make_roles(apps: Any, schema_editor: Any) -> None:
    for label in ("campaigns", "contacts", "events"):
        create_permissions(installed.get_app_config(label), verbosity=0, apps=apps)
    roles.ensure(apps)


class Migration(migrations.Migration):
    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("campaigns", "0001_initial"),
        ("contacts", "0001_initial"),
        ("events", "0001_initial"),
    ]
    operations = [migrations.RunPython(make_roles, migrations.RunPython.noop)]
