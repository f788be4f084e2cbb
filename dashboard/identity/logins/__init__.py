"""Events around a login: its begin and end, its confirmation, its pages' workspace."""
