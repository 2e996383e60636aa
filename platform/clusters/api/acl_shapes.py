"""Users and policies as the API writes and reads them. A secret is written, never read."""

from __future__ import annotations

import ipaddress
from typing import Any

from rest_framework import serializers

from clusters.api.outcomes import BrokerOutcomeSerializer, OutcomesSerializer
from clusters.api.topic_shapes import DriftSerializer, LabelsField
from clusters.models import AclUser
from clusters.models.acl import USER_LENGTH
from clusters.selectors.access_decisions import ACTIONS
from engine.access.accounts import check_user_name
from engine.access.policies import MAX_ENTRIES
from engine.errors import Refused

MIN_SECRET = 8
_ACTION_NAMES = ["All", "Pub", "Sub", "Create", "Update", "Delete", "Get", "List"]


class UserNameField(serializers.CharField):
    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=USER_LENGTH, **options)

    def to_internal_value(self, data: Any) -> str:
        name = super().to_internal_value(data)
        try:
            check_user_name(name)
        except Refused as error:
            raise serializers.ValidationError(error.text, "name") from None
        if "/" in name:
            raise serializers.ValidationError("no slash: it stands in addresses", "name")
        return name


class SecretField(serializers.CharField):
    def __init__(self, **options: Any) -> None:
        super().__init__(
            write_only=True, min_length=MIN_SECRET, max_length=1024, trim_whitespace=False, **options
        )


class AclUserChangeSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(AclUser.Kind.choices, required=False)
    status = serializers.ChoiceField(AclUser.Status.choices, required=False)
    secret = SecretField(required=False)
    new_secret = serializers.BooleanField(required=False, help_text="Make one; the answer shows it once.")

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        if given.get("secret") and given.get("new_secret"):
            raise serializers.ValidationError({"new_secret": "either a secret or a new one"}, "invalid")
        if not given:
            raise serializers.ValidationError("nothing to change was given", "invalid")
        return given


class NewAclUserSerializer(serializers.Serializer[Any]):
    name = UserNameField()
    kind = serializers.ChoiceField(AclUser.Kind.choices, default=AclUser.Kind.NORMAL)
    status = serializers.ChoiceField(AclUser.Status.choices, default=AclUser.Status.ENABLE)
    secret = SecretField(required=False, help_text="Without it a random one is made, and shown once.")
    labels = LabelsField(required=False)


class NewAclUserAnswerSerializer(OutcomesSerializer):
    secret = serializers.CharField(allow_null=True, help_text="The one that was made: it is not shown again.")


class AclPolicySerializer(serializers.Serializer[Any]):
    type = serializers.ChoiceField(["Custom", "Default"], default="Custom")
    resource = serializers.CharField(
        max_length=512, help_text="Topic:orders, Topic:order*, Group:*, Cluster:c, *"
    )
    actions = serializers.ListField(
        child=serializers.ChoiceField(_ACTION_NAMES), min_length=1, max_length=len(_ACTION_NAMES)
    )
    source_ips = serializers.ListField(
        child=serializers.CharField(max_length=64),
        default=list,
        max_length=256,
        help_text="None: from anywhere.",
    )
    decision = serializers.ChoiceField(["Allow", "Deny"], default="Allow")


class AclPoliciesSerializer(serializers.Serializer[Any]):
    policies = AclPolicySerializer(many=True, max_length=MAX_ENTRIES)


class AclUserSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    kind = serializers.ChoiceField(AclUser.Kind.choices)
    status = serializers.ChoiceField(AclUser.Status.choices)
    policies = AclPolicySerializer(many=True)
    labels = serializers.DictField(child=serializers.CharField())
    is_declared = serializers.BooleanField(help_text="Made through the console.")
    has_known_secret = serializers.BooleanField(
        help_text="Whether the console can give a new broker the same secret."
    )
    brokers = serializers.ListField(child=serializers.CharField())
    unknown_on = serializers.ListField(child=serializers.CharField(), help_text="Brokers that did not say.")
    drift = DriftSerializer(many=True)


class AclUsersSerializer(serializers.Serializer[Any]):
    users = AclUserSerializer(many=True)
    brokers = BrokerOutcomeSerializer(many=True)
    is_complete = serializers.BooleanField()


class AclQuestionSerializer(serializers.Serializer[Any]):
    user = UserNameField()
    action = serializers.ChoiceField(sorted(ACTIONS))
    topic = serializers.CharField(max_length=255, default="", allow_blank=True)
    group = serializers.CharField(max_length=255, default="", allow_blank=True)
    address = serializers.CharField(max_length=64, help_text="Where the request comes from.")

    def validate_address(self, text: str) -> str:
        try:
            return str(ipaddress.ip_address(text))
        except ValueError:
            raise serializers.ValidationError("not an IP address", "invalid") from None


_RULE_CODES = ["entry", "no_entry", "guarded"]
_VERDICT_CODES = [*_RULE_CODES, "no_user", "disabled", "super_user", "open", "silent"]


class AclRuleSerializer(serializers.Serializer[Any]):
    needs = serializers.CharField()
    is_allowed = serializers.BooleanField()
    code = serializers.ChoiceField(_RULE_CODES, help_text="The reason, for programs.")
    reason = serializers.CharField()
    entry = AclPolicySerializer(allow_null=True)


class AclBrokerAnswerSerializer(serializers.Serializer[Any]):
    broker = serializers.CharField()
    is_allowed = serializers.BooleanField(allow_null=True, help_text="Null: the broker did not answer.")
    code = serializers.ChoiceField(_VERDICT_CODES, help_text="The reason, for programs.")
    reason = serializers.CharField()
    rules = AclRuleSerializer(many=True)


class AclExplanationSerializer(serializers.Serializer[Any]):
    is_allowed = serializers.BooleanField(
        allow_null=True, help_text="Null: brokers differ, or one is silent."
    )
    brokers = AclBrokerAnswerSerializer(many=True)
    is_complete = serializers.BooleanField()
