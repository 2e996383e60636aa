"""Rows that every app may use: people and their rights, the audit chain, kept answers."""

from console.core.models.audit import AuditEntry, AuditHead
from console.core.models.idempotency import KeptAnswer
from console.core.models.people import ApiToken, RoleBinding, User
from console.core.models.probes import WriteProbe

__all__ = ["ApiToken", "AuditEntry", "AuditHead", "KeptAnswer", "RoleBinding", "User", "WriteProbe"]
