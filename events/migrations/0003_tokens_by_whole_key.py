from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("events", "0002_once_by_type_and_list_indexes")]

    operations = [
        # Django's second index of a textual key, for LIKE: a token is only ever looked up whole, once a webhook.
        migrations.RunSQL(
            sql="DROP INDEX IF EXISTS webhook_tokens_token_f7653abf_like",
            reverse_sql="CREATE INDEX IF NOT EXISTS webhook_tokens_token_f7653abf_like ON webhook_tokens (token varchar_pattern_ops)",
        ),
    ]
