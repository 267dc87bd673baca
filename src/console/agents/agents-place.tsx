import type { VNode } from "preact";
import { useConsole } from "../app/context.ts";
import { readAgents } from "../data/requests.ts";
import { useResource } from "../data/resource.ts";
import { Empty } from "../parts/empty.tsx";
import { RefusalNote } from "../parts/refusal.tsx";

/** All agents of the server. */
export function AgentsPlace(): VNode {
  const { server } = useConsole();
  const { value, error } = useResource(server.url, (signal) => readAgents(server, signal));
  if (value?.length === 0) {
    return (
      <Empty title="No agents">
        <p>The server found no agent in its directory.</p>
      </Empty>
    );
  }
  return (
    <div class="page">
      <div class="heading">
        <h1 tabIndex={-1}>Agents</h1>
      </div>
      {error !== undefined && <RefusalNote error={error} />}
      <ul class="list" aria-label="Agents">
        {value?.map(({ name, purpose, operations }) => {
          const own = operations
            .map((operation) => operation.name)
            .filter((operation) => operation !== "chat");
          return (
            <li key={name}>
              <a class="row agent-row" href={`#/agents/${encodeURIComponent(name)}`}>
                <span class="name one-line">{name}</span>
                <span dir="auto">{purpose}</span>
                <span class="second one-line">{["chat", ...own].join(" · ")}</span>
              </a>
            </li>
          );
        })}
      </ul>
    </div>
  );
}
