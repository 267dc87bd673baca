/** The projects that `troupe init` can write. Their files are in templates/. */
export const TEMPLATES = {
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
  },
} as const;

export type TemplateName = keyof typeof TEMPLATES;
