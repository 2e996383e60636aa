from django.db import migrations, models

_KINDS = [
    ("lag", "Lag"),
    ("seconds", "Seconds"),
    ("eta", "Eta"),
    ("no_members", "No Members"),
    ("dlq_growth", "Dlq Growth"),
    ("disk", "Disk"),
    ("in_sync", "In Sync"),
    ("slave_lag", "Slave Lag"),
    ("broker_down", "Broker Down"),
    ("disk_trend", "Disk Trend"),
    ("deleted_unexpired", "Deleted Unexpired"),
    ("damage", "Damage"),
    ("certificate", "Certificate"),
]


class Migration(migrations.Migration):
    dependencies = [("clusters", "0001_initial")]

    operations = [
        migrations.AlterField("alertrule", "kind", models.CharField(choices=_KINDS, max_length=24)),
        migrations.AddField("livebroker", "retention", models.JSONField(null=True)),
        migrations.AddField("livebroker", "damage", models.JSONField(null=True)),
        migrations.AddField("livebroker", "certificate", models.JSONField(null=True)),
    ]
