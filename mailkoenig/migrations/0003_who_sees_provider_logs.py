"""The operators learn about the page of provider logs."""

from typing import Any

from django.apps import apps as installed
from django.contrib.auth.management import create_permissions
from django.db import migrations

from mailkoenig import roles


def extend_roles(apps: Any, schema_editor: Any) -> None:
    create_permissions(installed.get_app_config("events"), verbosity=0, apps=apps)
    roles.ensure(apps)


class Migration(migrations.Migration):
    dependencies = [("mailkoenig", "0002_who_settles_unknown_outcomes"), ("events", "0004_poll_cursors")]
    operations = [migrations.RunPython(extend_roles, migrations.RunPython.noop)]
