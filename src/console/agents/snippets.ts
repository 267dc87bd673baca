import type { Json } from "../../protocol/json.ts";

/** A request as a command for a shell. */
export function toCurl(url: string, agent: string, operation: string, input: Json): string {
  const body = JSON.stringify(toBody(operation, input)).replaceAll("'", `'\\''`);
  return `curl '${url}/${agent}/process?wait=completed' -H 'content-type: application/json' -d '${body}'`;
}

/** A request as a program with the client. */
export function toTypeScript(url: string, agent: string, operation: string, input: Json): string {
  return [
    `import { createClient } from "troupe/client";`,
    ``,
    `const client = createClient(${JSON.stringify(url)});`,
    `const call = client.agent(${JSON.stringify(agent)}).${toCall(operation, input)};`,
    `for await (const event of call) console.log(event);`,
    `console.log(await call);`,
    ``,
  ].join("\n");
}

function toCall(operation: string, input: Json): string {
  return operation === "chat" && typeof input === "string"
    ? `chat(${JSON.stringify(input)})`
    : `call(${JSON.stringify(operation)}, ${JSON.stringify(input)})`;
}

function toBody(operation: string, input: Json): Json {
  return operation === "chat" && typeof input === "string"
    ? { type: "ChatRequest", input }
    : { type: "OperationRequest", operation, input };
}
