"""The streams that exist from the start; more are rows."""

from typing import Any

from django.db import migrations


def create_streams(apps: Any, schema_editor: Any) -> None:
    streams = apps.get_model("campaigns", "Stream")
    streams.objects.create(name="campaigns", kind="campaign", batch_size=1000, on_unknown="resend")
    streams.objects.create(name="receipts", kind="transactional")
    streams.objects.create(name="password-resets", kind="transactional")


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0001_initial")]
    operations = [migrations.RunPython(create_streams, migrations.RunPython.noop)]
