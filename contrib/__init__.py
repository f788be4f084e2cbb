"""Adapters beside the product: SagaManager and StateGraphStore."""
