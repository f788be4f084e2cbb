"""A chat with the model of the installation."""

from workers.react.loop import react

graph = react("chatting", chat=True)
