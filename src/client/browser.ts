import type { AgentClient, ClientOptions } from "./client-api.ts";
import { keepRequests, Requests } from "./requests/requests.ts";

// One ES module for pages without a bundler: conversations, and nothing that they do not need.
export { createConversation } from "./store/conversation.ts";
export { addressMemory, storageMemory } from "./store/run-memory.ts";
export { AgentError } from "../errors.ts";

/** The part of a client that a page without a bundler has. */
export interface BrowserClient {
  readonly url: string;
  /** An agent, for `createConversation`. Without a name it is the server's default agent. */
  agent(name?: string): Pick<AgentClient, "name" | "url">;
}

/** Creates a client of a server. The one of `troupe/client` can do everything else. */
export function createClient(url: string, options: ClientOptions = {}): BrowserClient {
  const server = new Requests(url, options);
  return {
    url: server.wire.url,
    agent(name = "") {
      const requests = name === "" ? server : server.of(name);
      return keepRequests({ name, url: requests.wire.url }, requests);
    },
  };
}
