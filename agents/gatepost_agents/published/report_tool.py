"""The tool that publishes a report, and the gate before it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gatepost import Context, Expired, Gate, Rejected, current, setting, tool

from .folder import publish, published, slug_of, unpublish, workspace_folder

Ref = dict[str, Any]


def unpublish_report(args: dict[str, Any], result: dict[str, Any], *, key: str) -> dict[str, Any]:
    """Take a published report and the files beside it back."""
    # Reports of before had no folder of their workspace.
    folder = workspace_folder(Path(setting("GATEPOST_PUBLISHED")), result.get("workspace", ""))
    return unpublish(folder, result["slug"], key=result["key"])


def describe_report(args: dict[str, Any], result: Any) -> str:
    """Such as "Publish “Delays by carrier”"."""
    verb = "Publish" if result is None else "Published"
    return f"{verb} “{args['title']}”"


@tool("report.publish", undo=unpublish_report, idempotent=True, describe=describe_report)
def publish_report(title: str, slug: str, files: dict[str, Ref], *, key: str) -> dict[str, Any]:
    """Write the report and the files beside it to the published folder of the workspace."""
    context = current()
    workspace = str(context.workspace)
    contents = {}
    for name, ref in files.items():
        with context.open_artifact(ref) as file:
            contents[name] = file.read()
    root = Path(setting("GATEPOST_PUBLISHED"))
    # A worker of before, which wrote into the root, may have stopped behind the write.
    if before := published(root, slug, key):
        return {**before, "key": key}
    folder = workspace_folder(root, workspace)
    return {**publish(folder, slug, contents, key=key), "key": key, "workspace": workspace}


def ask_and_publish(
    ctx: Context, *, title: str, files: Mapping[str, Ref], description: str
) -> dict[str, Any]:
    """Ask people, then publish; the update {"outcome", "log", "published"?} of the state."""
    try:
        done = ctx.effect(
            publish_report,
            {"title": title, "slug": slug_of(title), "files": dict(files)},
            gate=Gate("Publish this?", description, risk="medium"),
        )
    except Rejected as no:
        return {
            "outcome": f"Not published: {no.comment}",
            "log": [f"{no.by} said no: {no.comment}"],
        }
    except Expired:
        return {"outcome": "Not published: nobody decided in time.", "log": ["Nobody decided."]}
    names = ", ".join(file["name"] for file in done.result["files"])
    return {
        "published": done.result,
        "outcome": f"Published as {done.result['slug']}.",
        "log": [f"Published {names}."],
    }
