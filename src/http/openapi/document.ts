import type { JsonObject } from "../../protocol/json.ts";
import { components } from "../../protocol/schema/json-schema.ts";
import { agentRoutes, serverRoutes } from "../../protocol/routes.ts";
import { agentOperations } from "./agent-operations.ts";
import { refusal, toPaths, withOperationIds } from "./parts.ts";
import { serverOperations } from "./server-operations.ts";

/**
 * Describes all routes as an OpenAPI 3.1 document, with the same schemas that validate requests. The routes of an
 * agent exist at the root, for the default agent, and below each agent's path: these are the servers of the document.
 */
export function createOpenApi(agents: readonly string[]): JsonObject {
  const [first] = agents;
  const below = {
    url: "./{agent}",
    description: "One agent.",
    variables: { agent: { enum: agents, default: first ?? "" } },
  };
  return {
    openapi: "3.1.0",
    info: {
      title: "Agent Protocol",
      version: "2025-draft",
      description:
        "Agents are actors with a durable log. Clients send requests to them and read their events.",
      license: { name: "Apache 2.0", identifier: "Apache-2.0" },
    },
    servers: [ROOT, ...(first === undefined ? [] : [below])],
    // A server without a token accepts unauthenticated requests.
    security: [{}, { bearer: [] }],
    paths: withOperationIds({
      // These do not exist below the path of an agent.
      ...toPaths(serverRoutes, serverOperations, { servers: [ROOT] }),
      ...toPaths(agentRoutes, agentOperations),
    }),
    components: {
      schemas: { ...components },
      responses: { Refusal: refusal },
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
    },
  };
}

/** Relative to the address of the document, so that it is right below a prefix too. */
const ROOT: JsonObject = { url: ".", description: "The server, and its default agent." };
