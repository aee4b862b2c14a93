"""The operators learn about API tokens: they see them, and revoke what has leaked."""

from typing import Any

from django.apps import apps as installed
from django.contrib.auth.management import create_permissions
from django.db import migrations

from mailkoenig import roles


def extend_roles(apps: Any, schema_editor: Any) -> None:
    create_permissions(installed.get_app_config("api"), verbosity=0, apps=apps)
    roles.ensure(apps)


class Migration(migrations.Migration):
    dependencies = [("mailkoenig", "0004_who_has_the_levers"), ("api", "0001_api_tokens")]
    operations = [migrations.RunPython(extend_roles, migrations.RunPython.noop)]
