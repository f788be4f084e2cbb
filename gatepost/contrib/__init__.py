"""Adapters beside the product: SagaManager, StateGraphStore, and graphs of LangGraph as agents."""
