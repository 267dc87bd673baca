import { AgentError } from "../errors.ts";
import type { AgentEntry } from "../protocol/answers/answers.ts";
import type { RunSummary } from "../protocol/answers/status.ts";
import type { Event } from "../protocol/events/events.ts";
import type { ArtifactId } from "../protocol/ids.ts";
import { isId } from "../protocol/ids.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { Agent } from "../runtime/agent/agent.ts";
import { createAgentClient, takeUp } from "./agent-client.ts";
import type { Client, ClientOf, ClientOptions, OpenWait } from "./client-api.ts";
import { watchRuns } from "./lists/watch-runs.ts";
import { toOpenWait } from "./call/open-waits.ts";
import { Requests } from "./requests/requests.ts";
import { createRunClient } from "./run-client.ts";

/**
 * Creates a client of a server, by its address, for example `http://127.0.0.1:4100`. It keeps no connection open
 * except for calls and streams that are not over. In a page that is hidden for 10 s, those are closed until it is shown.
 */
export function createClient(
  url: string,
  { attempts = 4, limits = {}, ...options }: ClientOptions = {},
): Client {
  const requests = new Requests(url, attempts, options);
  const { wire } = requests;
  return {
    url: wire.url,
    agent<Definition extends Agent = Agent>(name = ""): ClientOf<Definition> {
      return createAgentClient<Definition>(name, name === "" ? requests : requests.of(name), limits);
    },
    async agents({ signal } = {}) {
      const { json } = await requests.ask("GET", "/", { signal });
      return requests.list(json) as readonly AgentEntry[];
    },
    async runs({ signal, finishReason, ...query } = {}) {
      const { json, headers } = await requests.ask("GET", agentPath(query.agent, query.key), {
        query: { ...query, finish_reason: finishReason },
        signal,
      });
      return { runs: requests.list(json) as readonly RunSummary[], ...next(headers) };
    },
    run: (id) => createRunClient(requests, id, limits),
    request: (id, given = {}) => takeUp(requests, id, { ...given, limits }, true),
    async waits({ signal, runId, ...query } = {}) {
      try {
        const { json, headers } = await requests.ask("GET", "/waits", {
          query: { ...query, run_id: runId },
          signal,
        });
        return {
          waits: (requests.list(json) as readonly Event[]).map((event) => toOpenWait(event, answer)),
          ...next(headers),
        };
      } catch (thrown) {
        if (isMissing(thrown)) return undefined;
        throw thrown;
      }
    },
    watchRuns: ({ signal } = {}) => watchRuns(wire, signal),
    async upload({ name, mimeType, data, runId }, { signal } = {}) {
      const { json } = await wire.ask("POST", "/artifacts", {
        query: { name, run_id: runId },
        raw: data,
        headers: { "content-type": mimeType },
        signal,
        timeoutMs: UPLOAD_MS,
      });
      const { artifact_id: artifactId, url: path } = json as {
        readonly artifact_id: ArtifactId;
        readonly url: string;
      };
      return { artifactId, url: path };
    },
    async artifact(idOrUrl, { signal } = {}) {
      const path = isId(idOrUrl) ? `/artifacts/${idOrUrl}` : idOrUrl;
      const { response } = await wire.openFile(path, { signal });
      return response;
    },
    async health({ signal } = {}) {
      const { json } = await wire.ask("GET", "/healthz", { signal });
      const ready = await wire.ask("GET", "/readyz", { signal }).then(
        () => true,
        () => false,
      );
      return { ready, details: json as JsonObject };
    },
  };

  function next(headers: Headers): { readonly next?: string } {
    const cursor = requests.next(headers);
    return cursor === undefined ? {} : { next: cursor };
  }

  async function answer({ requestId, waitId }: OpenWait, values: JsonObject): Promise<void> {
    const { agent } = await requests.status(requestId);
    await requests.of(agent).resume(requestId, waitId, values);
  }
}

const UPLOAD_MS = 10 * 60_000;

/** Only the list of an agent can be searched by key. */
function agentPath(agent: string | undefined, key: string | undefined): string {
  return agent === undefined || key === undefined ? "/runs" : `/${encodeURIComponent(agent)}/runs`;
}

function isMissing(thrown: unknown): boolean {
  return (
    thrown instanceof AgentError && (thrown.code === "not_found" || thrown.code === "method_not_allowed")
  );
}
