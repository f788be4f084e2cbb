"""What threads ask models with, and what is deployed now: model, temperature, prompt texts."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from checkpoints.views import AgentRow

from ...state.model_configuration import deployed, hash_of, prompts_of, with_texts
from ..rows import decoded, rows

# The model of agent `v.agent` in a workspace (the one parameter), by the worker that started last.
DEPLOYED_MODEL: Final = (
    "SELECT coalesce(w.models -> v.agent ->> (SELECT s.name FROM gp_workspace s "
    "WHERE s.id = %s::uuid), w.models -> v.agent ->> '') FROM gp_worker w "
    "WHERE w.models ? v.agent ORDER BY w.started_at DESC, w.id DESC LIMIT 1"
)


def deployed_config(agent: str, *, workspace: UUID) -> dict[str, Any]:
    """Model, temperature and prompt texts that a start of this agent's newest code would get."""
    result = rows(
        f"SELECT v.graph::text, ({DEPLOYED_MODEL}) FROM gp_agent_version v "
        "WHERE v.agent = %s::varchar AND v.imported_into IS NULL "
        "ORDER BY v.created_at DESC, v.version DESC LIMIT 1",
        (workspace, agent),
    )
    if not result:
        return {}
    graph = decoded(result[0][0])
    return with_texts(deployed(graph, result[0][1]), graph.get("prompts", {}).values())


def first_config(version: AgentRow, *, workspace: UUID) -> dict[str, Any]:
    """The configuration to which a new thread of this version is pinned; prompts by their hash."""
    ((model,),) = rows(
        f"SELECT ({DEPLOYED_MODEL}) FROM (SELECT %s::varchar AS agent) v",
        (workspace, version.agent),
    )
    return deployed(version.graph, model)


def config_of(thread_id: UUID) -> dict[str, Any]:
    """Model, temperature, prompt texts and the like that hold for the thread; {} where none do.

    Kept on its first checkpoint as given or deployed when it began; a fork's has its base's in it.
    Prompts that it names by their hash are answered with their texts.
    """
    result = rows(
        "SELECT config::text FROM gp_checkpoint WHERE thread_id = %s::uuid AND number = 0",
        (thread_id,),
    )
    config: dict[str, Any] = (decoded(result[0][0]) or {}) if result else {}
    if any(hash_of(prompt) for prompt in prompts_of(config).values()):
        return with_texts(config, _declared_prompts(thread_id))
    return config


def _declared_prompts(thread_id: UUID) -> list[str]:
    """The prompt texts that any version of a thread's agent has declared."""
    result = rows(
        "SELECT p.value FROM gp_agent_version v CROSS JOIN LATERAL "
        "jsonb_each_text(v.graph -> 'prompts') AS p WHERE v.graph ? 'prompts' AND v.agent = "
        "(SELECT th.agent FROM gp_thread th WHERE th.id = %s::uuid)",
        (thread_id,),
    )
    return [text for (text,) in result]
