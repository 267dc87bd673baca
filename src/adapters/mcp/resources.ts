import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import type {
  ListResourcesResult,
  ReadResourceResult,
  ResourceTemplateType,
} from "@modelcontextprotocol/server";
import { AgentError, toAgentError } from "../../errors.ts";
import { isFault } from "../../http/messages/problem.ts";
import { isId } from "../../protocol/ids.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { RunDetails } from "../../runtime/lists.ts";
import type { McpService } from "./service.ts";

/** The newest runs. */
export async function listResources({ host: { runtime }, agent }: McpService): Promise<ListResourcesResult> {
  const { runs } = await runtime.runs({ ...(agent !== undefined && { agent }), limit: 100 });
  return { resources: runs.map(toResource) };
}

function toResource({
  run_id: runId,
  agent,
  status,
  initial_input: input,
  updated_at: lastModified,
}: RunDetails) {
  const text = typeof input === "string" ? input : JSON.stringify(input);
  return {
    uri: `${RUN}${runId}`,
    name: runId,
    title: `${agent}: ${text.slice(0, TITLE_LENGTH)}`,
    description: `The events of a run of ${agent}, which is ${status}.`,
    mimeType: "application/json",
    annotations: { lastModified },
  };
}

const RUN = "run://";
const TITLE_LENGTH = 80;

/** What can be read besides the resources of the list. */
export function templatesOf({ address }: McpService): ResourceTemplateType[] {
  return [
    {
      name: "run",
      title: "Run",
      uriTemplate: `${RUN}{run_id}{?after}`,
      description: "The events of a run, oldest first.",
      mimeType: "application/json",
    },
    {
      name: "artifact",
      title: "Artifact",
      uriTemplate: `${address}/artifacts/{artifact_id}`,
      description: "A file that an agent has made or got.",
    },
  ];
}

/** Reads a run or a file. */
export async function readResource(service: McpService, uri: string): Promise<ReadResourceResult> {
  try {
    const [, runId, after = "0"] = /^run:\/\/([\w-]+)\/?(?:\?after=(\d{1,15}))?$/.exec(uri) ?? [];
    if (runId !== undefined && isId(runId)) return await readRun(service, uri, runId, Number(after));
    const [path, artifactId] =
      /^\/artifacts\/([\w-]+)$/.exec(
        uri.startsWith(service.address) ? uri.slice(service.address.length) : "",
      ) ?? [];
    if (path !== undefined && artifactId !== undefined) return await readArtifact(service, uri, artifactId);
    throw new AgentError("not_found", "there is no such resource");
  } catch (thrown) {
    if (isFault(thrown)) service.host.report("a resource cannot be read", thrown);
    const { code, message } = toAgentError(thrown);
    const isInternal = code === "internal";
    throw new ProtocolError(
      isInternal ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidParams,
      message,
      { code, uri },
    );
  }
}

/** The events of a run as a JSON array. When there are more, `next` in `_meta` is the uri of the rest. */
async function readRun(
  { host: { runtime }, agent: only }: McpService,
  uri: string,
  runId: RunId,
  after: number,
): Promise<ReadResourceResult> {
  const { agent } = await runtime.run(runId);
  if (only !== undefined && agent !== only)
    throw new AgentError("not_found", `the agent ${only} has no run ${runId}`);
  const page = await runtime.read(
    { kind: "run", runId, agent },
    { after, limit: 10_000, limitBytes: LIMIT_BYTES, filter: { level: "all" } },
  );
  return {
    contents: [{ uri, mimeType: "application/json", text: `[${page.events.join(",\n")}]` }],
    ...(page.more && { _meta: { next: `${RUN}${runId}?after=${page.cursor}` } }),
  };
}

/** The most bytes of one answer. */
const LIMIT_BYTES = 8_388_608;

async function readArtifact(
  { host: { runtime } }: McpService,
  uri: string,
  artifactId: string,
): Promise<ReadResourceResult> {
  const { info, body } = await runtime.artifact(artifactId);
  const { mimeType, sizeBytes } = info;
  if (sizeBytes > LIMIT_BYTES)
    throw new AgentError(
      "too_large",
      `the file has ${sizeBytes} bytes, and a resource at most ${LIMIT_BYTES}; GET its uri`,
    );
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const isText = /^text\/|^application\/json$/.test(mimeType);
  return {
    contents: [
      { uri, mimeType, ...(isText ? { text: bytes.toString("utf8") } : { blob: bytes.toString("base64") }) },
    ],
  };
}
