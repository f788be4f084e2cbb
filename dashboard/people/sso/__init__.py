"""Single sign-on: who the directory says somebody is, and the client of the provider."""
