"""LangGraph and DBOS on the same task and server, in an environment of their own."""
