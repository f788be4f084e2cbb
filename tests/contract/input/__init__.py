"""Bad, hostile and boundary input at every place that takes any."""
