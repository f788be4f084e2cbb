"""The outreach agents: whom they find, what they write, and who decides."""
