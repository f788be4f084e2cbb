"""The gateway between the SDK's own client, real servers, and people who decide."""
