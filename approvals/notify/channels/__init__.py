"""Mail, chat and webhook: how one message leaves."""
