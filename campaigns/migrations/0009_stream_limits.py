"""The limits of a stream, asked by every statement that claims or begins a call."""

import django.core.validators
from django.db import migrations, models

# How many mails a stream may begin to send now: at most one batch, none while it is paused or as many calls are open as
# it may have, and never more within a minute than its rate. A call lasts two minutes at the most; one that is in flight
# for longer was left by a worker that is gone, and takes no room. A second more than a minute, because mail that was
# counted before the minute may have left within it.
STREAM_ROOM = """
CREATE FUNCTION stream_room(stream bigint) RETURNS integer LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN s.paused THEN 0
        WHEN (SELECT count(*) FROM send_batches AS b
              WHERE b.stream_id = s.id AND b.state = 'in_flight'
                AND b.started_at > statement_timestamp() - interval '2 minutes') >= s.concurrency THEN 0
        WHEN s.rate_per_minute IS NULL THEN s.batch_size
        ELSE greatest(0, least(s.batch_size, s.rate_per_minute - (
            SELECT coalesce(sum(b.size), 0) FROM send_batches AS b
            WHERE b.stream_id = s.id AND b.started_at > statement_timestamp() - interval '61 seconds')))
    END::integer
    FROM streams AS s WHERE s.id = stream
$$
"""


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0008_unknown_outcomes")]
    operations = [
        migrations.AlterField(
            model_name="stream",
            name="concurrency",
            field=models.PositiveIntegerField(
                db_default=16,
                default=16,
                help_text="Calls at the same time, over all workers.",
                validators=[django.core.validators.MinValueValidator(1)],
            ),
        ),
        migrations.AddIndex(
            model_name="sendbatch",
            index=models.Index(fields=["stream", "started_at"], name="batch_recent"),
        ),
        migrations.RunSQL(
            "UPDATE streams SET concurrency = 16 WHERE concurrency = 4", migrations.RunSQL.noop
        ),
        migrations.RunSQL(STREAM_ROOM, "DROP FUNCTION stream_room(bigint)"),
    ]
