"""What an author builds an agent from: graph, state, tools, errors."""
