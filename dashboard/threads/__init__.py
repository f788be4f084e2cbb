"""One thread: what people do to it, each action with its input and words, and its pages."""
