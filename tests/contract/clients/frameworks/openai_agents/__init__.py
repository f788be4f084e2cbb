"""The OpenAI Agents SDK: its run states, its interruptions, the how-to."""
