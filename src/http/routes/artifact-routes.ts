import type { Context } from "hono";
import { AgentError } from "../../errors.ts";
import type { StoredArtifact } from "../../ports/artifact-store.ts";
import type { AppEnv } from "../messages/app-env.ts";
import { bodyChunks } from "../messages/body.ts";
import { parseName, queryOf, read } from "../messages/event-query.ts";
import { pathParameter } from "./add-routes.ts";
import type { AgentHandlers } from "./add-routes.ts";
import { checkId } from "./event-routes.ts";
import type { Host } from "./host.ts";
import { replyFile } from "../messages/file-reply.ts";
import { reply } from "../messages/reply.ts";

/** The routes for uploads and downloads. Files belong to no agent, so the paths of all agents are equivalent. */
export function artifactHandlers({
  runtime,
  fileLimitBytes,
  report,
  mount,
  streams,
}: Host): AgentHandlers<"upload" | "artifact"> {
  return {
    async upload(c) {
      const query = queryOf(c);
      const runId = read(query, "run_id", parseName);
      const uploaded = await runtime.upload({
        name: read(query, "name", parseName) ?? "file",
        mimeType: typeOf(c),
        body: bodyChunks(c, fileLimitBytes),
        limitBytes: fileLimitBytes,
        ...(runId !== undefined && { runId: checkId(runId) }),
      });
      const url = mount.prefixOf(c) + uploaded.url;
      return reply(c, JSON.stringify({ artifact_id: uploaded.artifactId, url }), {
        status: 201,
        headers: { location: url },
      });
    },

    async artifact(c) {
      const { info, body } = await runtime.artifact(checkId(pathParameter(c, "artifact_id")));
      return replyFile(c, {
        info,
        body,
        name: info.name,
        type: shownTypeOf(info),
        stallMs: streams.times.stallMs,
        report,
      });
    },
  };
}

const TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}(?: *;[\x20-\x7e]{0,255})?$/;

function typeOf(c: Context<AppEnv>): string {
  const type = c.req.header("content-type") ?? "application/octet-stream";
  if (TYPE.test(type)) return type;
  throw new AgentError("invalid_request", "the Content-Type is not a valid media type");
}

/**
 * Types that are safe to declare to a browser; they run nothing. Everything else, markup above all, is sent
 * as bytes.
 */
const SHOWN = new Map([
  ["image/png", "image/png"],
  ["image/jpeg", "image/jpeg"],
  ["image/gif", "image/gif"],
  ["image/webp", "image/webp"],
  ["text/plain", "text/plain; charset=utf-8"],
  ["text/markdown", "text/markdown; charset=utf-8"],
  ["text/csv", "text/csv; charset=utf-8"],
  ["application/pdf", "application/pdf"],
  ["application/json", "application/json"],
]);

function shownTypeOf({ mimeType }: StoredArtifact): string {
  const essence = mimeType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return SHOWN.get(essence) ?? "application/octet-stream";
}
