"""The 30 checks of the pages by number: what each is, and the command that performs them."""
