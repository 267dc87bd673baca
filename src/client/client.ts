import type { AgentEntry } from "../protocol/answers/answers.ts";
import type { DeadLetter } from "../protocol/answers/dead-letter.ts";
import type { RunSummary } from "../protocol/answers/status.ts";
import type { Event } from "../protocol/events/events.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { Agent } from "../runtime/agent/agent.ts";
import { createAgentClient, takeUp } from "./agent-client.ts";
import type { Client, ClientOf, ClientOptions } from "./client-api.ts";
import type { OpenWait } from "./call-api.ts";
import { streamRunChanges } from "./lists/watch-runs.ts";
import { toOpenWait } from "./call/request-waits.ts";
import { Requests } from "./requests/requests.ts";
import { createRunClient } from "./run-client.ts";
import { unlessMissing } from "./wire/problem.ts";

/**
 * Creates a client of a server, by its address, for example `http://127.0.0.1:4100`. It keeps no connection open
 * except for calls and streams that are not over. In a page that is hidden for 10 s, those are closed until it is shown.
 */
export function createClient(url: string, options: ClientOptions = {}): Client {
  const requests = new Requests(url, options);
  const { wire } = requests;
  return {
    url: wire.url,
    agent<Definition extends Agent = Agent>(name = ""): ClientOf<Definition> {
      return createAgentClient<Definition>(name, name === "" ? requests : requests.of(name));
    },
    agents: async (options) => (await requests.list<AgentEntry | AgentPair>("/", options)).items.map(toEntry),
    deadLetters: async (options) => (await requests.list<DeadLetter>("/dead-letters", options)).items,
    async runs({ signal, ...query } = {}) {
      const { agent, key } = query;
      // Only the list of an agent can be searched by key.
      const path = agent === undefined || key === undefined ? "/runs" : `/${encodeURIComponent(agent)}/runs`;
      const { items: runs, ...page } = await requests.list<RunSummary>(path, { query, signal });
      return { runs, ...page };
    },
    run: (id) => createRunClient(requests, id),
    request: (id, given) => takeUp(requests, id, given, true),
    async waits({ signal, ...query } = {}) {
      const asked = requests.list<Event>("/waits", { query, signal });
      const { items, ...page } = (await asked.catch(unlessMissing)) ?? {};
      return items && { waits: items.map((event) => toOpenWait(event, answer)), ...page };
    },
    watchRuns: (query) => streamRunChanges(wire, query),
    upload: (file, options) => requests.upload(file, options),
    async artifact(idOrUrl, given) {
      const path = idOrUrl.includes("/") ? idOrUrl : `/artifacts/${encodeURIComponent(idOrUrl)}`;
      return (await wire.openFile(path, given)).response;
    },
    async health(given) {
      const { json } = await wire.ask("GET", "/healthz", given);
      const ready = await wire.ask("GET", "/readyz", given).catch(() => {});
      return { ready: ready !== undefined, details: json as JsonObject };
    },
  };

  async function answer({ requestId, waitId }: OpenWait, values: JsonObject): Promise<void> {
    const { agent } = await requests.status(requestId);
    await requests.of(agent).resume(requestId, waitId, values);
  }
}

/** An agent as the draft of the protocol lists it. */
type AgentPair = readonly [name: string, path: string];

function toEntry(listed: AgentEntry | AgentPair): AgentEntry {
  return "name" in listed ? listed : { name: listed[0], path: listed[1] };
}
