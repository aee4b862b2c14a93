"""No statement of ours runs for so long that compiling it first would pay; where one of the queue's is estimated to, as
after a day of many small batches, the compiling takes a second and the statement a thousandth of it."""

from django.db import migrations

# Holds for connections from now on, also for those of a pooler. Who may not set it loses only that.
OFF = """
DO $$
BEGIN
    EXECUTE format('ALTER DATABASE %I SET jit = off', current_database());
EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE 'jit stays on: the role does not own the database';
END
$$
"""


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0014_batches_of_campaigns")]
    operations = [migrations.RunSQL(OFF, migrations.RunSQL.noop)]
