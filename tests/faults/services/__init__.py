"""Services that agents call and receivers of notifications that refuse, hang and come back."""
