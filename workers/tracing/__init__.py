"""Spans of threads for OpenTelemetry, made from committed events and sent by OTLP."""
