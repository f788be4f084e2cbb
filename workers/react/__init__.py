"""A loop ready to use: a model is asked, the tools it calls are carried out, it is asked again."""
