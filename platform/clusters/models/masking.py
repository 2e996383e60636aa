"""Rules that hide bodies and properties of messages from people, by cluster, topic and role.

A rule holds for whoever has at most `up_to_role` on the topic. A default rule holds for topics that no other
rule names: "everything is masked unless somebody said otherwise". A rule that hides nothing, and is not a
default, says otherwise. Several rules that hold hide together what each hides.
"""

from __future__ import annotations

from django.db import models

from console.core.models.people import PATTERN_LENGTH, Role


class MaskRule(models.Model):
    cluster_pattern = models.CharField(max_length=PATTERN_LENGTH)
    topic_pattern = models.CharField(max_length=PATTERN_LENGTH)
    up_to_role = models.PositiveSmallIntegerField(choices=Role.choices, default=Role.OPERATOR)
    is_default = models.BooleanField(default=False)
    hides_body = models.BooleanField(default=False)
    json_paths = models.JSONField(default=list)
    """Parts of a JSON body: `card.number`, `items[*].iban`. A body that is not JSON is hidden whole."""
    properties = models.JSONField(default=list)
    """Names; KEYS and TAGS too."""
    reveal_role = models.PositiveSmallIntegerField(choices=Role.choices, default=Role.ADMIN)
    """Who may look all the same, with a reason."""
    note = models.CharField(max_length=255, blank=True)
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["cluster_pattern", "topic_pattern", "id"]
