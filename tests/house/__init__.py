"""Rules of the code, and the commands that judge the tests themselves."""
