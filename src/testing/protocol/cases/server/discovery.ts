import { isObject } from "../../../../protocol/json.ts";
import type { Case } from "../../case.ts";
import type { Context } from "../../context.ts";
import { check, checkEqual } from "../../mismatch.ts";
import { bodyOf, checkStatus, checkProblem } from "../../http-client.ts";
import type { HttpAnswer } from "../../http-client.ts";

/** The list of agents and their descriptions. */
export const discovery: readonly Case[] = [
  {
    id: "1",
    title: "GET / lists the name and the path of each agent",
    needs: [],
    async run(context) {
      const { answer, agents } = await listAgents(context);
      check(agents.length > 0, "at least one agent", answer);
      checkEqual(new Set(agents.map(({ name }) => name)).size, agents.length, "different names");
    },
  },
  {
    id: "1a",
    title: "GET /?format=pairs lists the same agents as pairs",
    needs: [],
    async run(context) {
      const { agents } = await listAgents(context);
      const { json } = await context.http.ask("GET", "/", { query: { format: "pairs" } });
      checkEqual(
        json,
        agents.map(({ name, path }) => [name, path]),
        "the list of pairs",
      );
    },
  },
  {
    id: "2",
    title: "each listed path describes the agent of that name",
    needs: [],
    async run(context) {
      for (const { name, descriptor } of await describeAll(context)) {
        checkEqual(descriptor.name, name, "the described name");
      }
    },
  },
  {
    id: "3",
    title: "a description has a name and a purpose, and lists endpoints, operations and tools",
    needs: [],
    async run(context) {
      for (const { descriptor } of await describeAll(context)) {
        const { name, purpose, endpoints, operations, tools } = descriptor;
        check(typeof name === "string" && name !== "", "a name", descriptor);
        check(typeof purpose === "string" && purpose !== "", "a purpose", descriptor);
        check(isList(endpoints, isString), "endpoints that are strings", descriptor);
        check(isList(tools, isString), "tools that are strings", descriptor);
        check(isList(operations, isOperation), "operations with name and description", descriptor);
      }
    },
  },
  {
    id: "4",
    title: "each agent has the operation chat",
    needs: [],
    async run(context) {
      for (const { descriptor } of await describeAll(context)) {
        const { operations } = descriptor;
        const chat = isList(operations, isOperation) && operations.some(({ name }) => name === "chat");
        check(chat, "an operation chat", descriptor);
      }
    },
  },
  {
    id: "5",
    title: "an unknown agent is a 404 with a problem document",
    needs: [],
    async run(context) {
      const answer = await context.http.ask("GET", "/no-such-agent/describe");
      checkProblem(answer, 404);
    },
  },
  {
    id: "5a",
    title: "the agent routes at the root go to a default agent",
    needs: [],
    async run(context) {
      const { agents } = await listAgents(context);
      const answer = await context.http.ask("GET", "/describe");
      const { name } = bodyOf(answer, 200);
      check(
        agents.some((agent) => agent.name === name),
        "the description of a listed agent",
        answer,
      );
    },
  },
  {
    id: "5b",
    title: "the server describes its routes as OpenAPI 3.1 and its messages as JSON Schema",
    needs: [],
    async run(context) {
      const answer = await context.http.ask("GET", "/openapi.json");
      const { openapi, paths } = bodyOf(answer, 200);
      check(typeof openapi === "string" && openapi.startsWith("3.1"), "openapi 3.1", answer);
      check(isObject(paths) && Object.keys(paths).length > 0, "paths", answer);
      bodyOf(await context.http.ask("GET", "/schemas/ChatRequest.json"), 200);
    },
  },
  {
    id: "5c",
    title: "the server reports that it is alive and ready",
    needs: [],
    async run(context) {
      for (const path of ["/healthz", "/readyz"]) {
        const answer = await context.http.ask("GET", path);
        checkStatus(answer, 200);
      }
    },
  },
];

interface Listed {
  readonly name: string;
  readonly path: string;
}

async function listAgents({ http }: Context): Promise<{ answer: HttpAnswer; agents: Listed[] }> {
  const answer = await http.ask("GET", "/");
  checkStatus(answer, 200);
  check(isList(answer.json, isListed), "a list of {name, path}", answer);
  return { answer, agents: [...answer.json] };
}

async function describeAll(
  context: Context,
): Promise<{ name: string; descriptor: Readonly<Record<string, unknown>> }[]> {
  const { answer, agents } = await listAgents(context);
  check(agents.length > 0, "at least one agent", answer);
  return Promise.all(
    agents.map(async ({ name, path }) => {
      const answer = await context.http.ask("GET", `${path.replace(/\/+$/, "")}/describe`);
      return { name, descriptor: bodyOf(answer, 200) };
    }),
  );
}

function isList<Item>(value: unknown, isItem: (item: unknown) => item is Item): value is Item[] {
  return Array.isArray(value) && value.every(isItem);
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}

function isListed(value: unknown): value is Listed {
  return isObject(value) && isString(value.name) && isString(value.path);
}

function isOperation(value: unknown): value is { name: string; description: string } {
  return isObject(value) && isString(value.name) && isString(value.description);
}
