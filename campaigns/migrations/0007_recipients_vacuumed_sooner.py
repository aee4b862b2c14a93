from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0006_people_who_fell_out")]

    operations = [
        # Each mail writes its row twice: by the default, a fifth of a large table would have to be dead first, and the
        # claim would wade through it on statistics of yesterday.
        migrations.RunSQL(
            sql="ALTER TABLE campaign_recipients SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02)",
            reverse_sql="ALTER TABLE campaign_recipients RESET (autovacuum_vacuum_scale_factor, autovacuum_analyze_scale_factor)",
        ),
        # Django's second index of a textual key, for LIKE: the ledger is only ever asked for whole keys, a thousand a batch.
        migrations.RunSQL(
            sql="DROP INDEX IF EXISTS sent_email_idempotency_key_0a2f440a_like",
            reverse_sql="CREATE INDEX IF NOT EXISTS sent_email_idempotency_key_0a2f440a_like ON sent_email (idempotency_key varchar_pattern_ops)",
        ),
    ]
