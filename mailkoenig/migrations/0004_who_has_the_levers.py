"""Who looks at messages, writes their templates, requeues them, and may stop everything."""

from typing import Any

from django.apps import apps as installed
from django.contrib.auth.management import create_permissions
from django.db import migrations

from mailkoenig import roles


def extend_roles(apps: Any, schema_editor: Any) -> None:
    create_permissions(installed.get_app_config("campaigns"), verbosity=0, apps=apps)
    roles.ensure(apps)


class Migration(migrations.Migration):
    dependencies = [
        ("mailkoenig", "0003_who_sees_provider_logs"),
        ("campaigns", "0013_message_lists_and_emergency_stop"),
    ]
    operations = [migrations.RunPython(extend_roles, migrations.RunPython.noop)]
