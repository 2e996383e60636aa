"""Mail by the server that SIGNALBOX_MAIL names: smtp://[user:password@]host[:port][?tls=start|on|off]."""

from __future__ import annotations

import smtplib
from urllib.parse import parse_qs, unquote, urlsplit

from django.conf import settings
from django.core.mail import EmailMessage, get_connection

from clusters.gateway.connections import refuse_transaction
from console.core.problems import Problem

DEADLINE_S = 5
_BACKEND = "django.core.mail.backends.smtp.EmailBackend"


def require_mail() -> None:
    if not settings.MAIL_URL:
        raise Problem(
            "mail_not_configured",
            "there is no mail server: set SIGNALBOX_MAIL to smtp://…",
            422,
            field="kind",
        )


def send(recipients: list[str], subject: str, text: str) -> str:
    """ "" when the server took it, else why not."""
    refuse_transaction()
    if not settings.MAIL_URL:
        return "there is no mail server: SIGNALBOX_MAIL is not set"
    parts = urlsplit(settings.MAIL_URL)
    tls = parse_qs(parts.query).get("tls", ["start" if parts.username else "off"])[0]
    connection = get_connection(
        _BACKEND,
        host=parts.hostname,
        port=parts.port or 25,
        username=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        use_tls=tls == "start",
        use_ssl=tls == "on",
        timeout=DEADLINE_S,
    )
    sender = f"signalbox@{parts.hostname}"
    # A line break in a subject would begin another header.
    message = EmailMessage(" ".join(subject.split()), text, sender, recipients, connection=connection)
    try:
        message.send()
    except (OSError, smtplib.SMTPException) as error:
        return f"the mail server did not take it: {type(error).__name__}"
    return ""
