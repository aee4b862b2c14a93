"""The operators read what was wrong, and who stopped, changed or decided what: at night these are the first questions."""

from typing import Any

from django.apps import apps as installed
from django.contrib.auth.management import create_permissions
from django.db import migrations

from mailkoenig import roles


def extend_roles(apps: Any, schema_editor: Any) -> None:
    for app in ("admin", "monitoring"):
        create_permissions(installed.get_app_config(app), verbosity=0, apps=apps)
    roles.ensure(apps)


class Migration(migrations.Migration):
    dependencies = [
        ("mailkoenig", "0005_who_revokes_api_tokens"),
        ("admin", "0003_logentry_add_action_flag_choices"),
        ("monitoring", "0001_alerts"),
    ]
    operations = [migrations.RunPython(extend_roles, migrations.RunPython.noop)]
