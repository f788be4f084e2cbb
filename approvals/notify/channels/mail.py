"""Sending one mail through the server of EMAIL_URL."""

from __future__ import annotations

import smtplib
import ssl
from email.utils import parseaddr

from django.conf import settings
from django.core.mail import EmailMultiAlternatives

from checkpoints.unseen import plain

from ..texts.kinds import NotDelivered
from ..texts.letters import Letter


def send_mail(to: str, letter: Letter, *, ident: str) -> int:
    """Hand a mail to the server; 250. `ident` names it for good, so a second one is recognised."""
    if settings.MAILERS["default"].get("BACKEND", "").endswith("dummy.EmailBackend"):
        raise NotDelivered("No mail server is set: EMAIL_URL.")
    sender = settings.DEFAULT_FROM_EMAIL
    host = parseaddr(sender)[1].rpartition("@")[2] or "gatepost"
    message = EmailMultiAlternatives(
        letter.subject,
        letter.text,
        sender,
        [to],
        headers={"Message-ID": f"<{ident}@{host}>", "Auto-Submitted": "auto-generated"},
    )
    message.attach_alternative(letter.html, "text/html")
    try:
        message.send(using="default")
    except smtplib.SMTPRecipientsRefused as error:
        code, text = next(iter(error.recipients.values()))
        raise NotDelivered(
            f"The mail server refused the recipient: {_as_text(text)}", code=code, final=code >= 550
        ) from None
    except smtplib.SMTPResponseException as error:
        raise NotDelivered(
            f"The mail server answered {error.smtp_code}: {_as_text(error.smtp_error)}",
            code=error.smtp_code,
        ) from None
    except TimeoutError:
        raise NotDelivered("The mail server did not answer in time.") from None
    except ConnectionRefusedError:
        raise NotDelivered("The mail server refused the connection.") from None
    except ssl.SSLError:
        raise NotDelivered("No encrypted connection could be made to the mail server.") from None
    except (smtplib.SMTPException, OSError):
        raise NotDelivered("The mail server could not be reached.") from None
    return 250


def _as_text(answer: bytes | str) -> str:
    """The server's words without what is ours to keep."""
    text = answer.decode(errors="replace") if isinstance(answer, bytes) else answer
    options = settings.MAILERS["default"].get("OPTIONS", {})
    for secret in (options.get("password"), options.get("username")):
        if secret:
            text = text.replace(str(secret), "[masked]")
    return plain(" ".join(text.split()))[:200]
