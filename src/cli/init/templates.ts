/** A project that `troupe init` can write. */
interface Template {
  readonly description: string;
  /** The agent that its documents name, its file, and a request to it. */
  readonly agent: string;
  readonly file: string;
  readonly request: string;
  /** Where its files are, in this package; by default in templates/. */
  readonly folder?: string;
  /** The packages that its files import, besides troupe and zod. */
  readonly packages?: readonly string[];
}

export type TemplateName = "chat" | "approval" | "team" | "machine" | "support-desk";

/** The projects that `troupe init` can write. */
export const TEMPLATES: Readonly<Record<TemplateName, Template>> = {
  chat: {
    description: "a model with a tool; a script plays the model until you configure one",
    agent: "weather",
    file: "weather.ts",
    request: `chat weather "How warm is it in Oslo?"`,
  },
  approval: {
    description: "an operation that asks a human and waits, for minutes or weeks",
    agent: "payments",
    file: "payments.ts",
    request: `call payments pay '{"to":"bob","amount":3}'`,
  },
  team: {
    description: "three agents that call each other",
    agent: "team",
    file: "team.ts",
    request: `chat team "The moon"`,
  },
  machine: {
    description: "an XState machine as an agent",
    agent: "door",
    file: "door.ts",
    request: `call door ring '{"visitor":"Ada"}'`,
    packages: ["xstate"],
  },
  "support-desk": {
    description: "a model with MCP servers, refunds that a person approves, webhooks of two shops",
    agent: "desk",
    file: "desk.ts",
    request: `chat desk "jim: refund A1"`,
    folder: "examples/support-desk",
    packages: ["@modelcontextprotocol/client", "@modelcontextprotocol/server", "xstate"],
  },
};
