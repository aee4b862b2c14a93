"""The roles learn about the page of unknown outcomes."""

from typing import Any

from django.apps import apps as installed
from django.contrib.auth.management import create_permissions
from django.db import migrations

from mailkoenig import roles


def extend_roles(apps: Any, schema_editor: Any) -> None:
    create_permissions(installed.get_app_config("campaigns"), verbosity=0, apps=apps)
    roles.ensure(apps)


class Migration(migrations.Migration):
    dependencies = [("mailkoenig", "0001_staff_roles"), ("campaigns", "0008_unknown_outcomes")]
    operations = [migrations.RunPython(extend_roles, migrations.RunPython.noop)]
