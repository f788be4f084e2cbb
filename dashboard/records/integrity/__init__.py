"""What verification covers, column by column, and anchors that leave the installation."""
