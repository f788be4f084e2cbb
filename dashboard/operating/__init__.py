"""Running an installation: health, logs, keys, verification, anchors."""
