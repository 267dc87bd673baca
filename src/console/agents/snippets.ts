import type { Json } from "../../protocol/json.ts";
import type { ShellRequest } from "../parts/curl.ts";

/** The address and body of a request that waits for its answer. */
export function toShellRequest(
  url: string,
  agent: string,
  operation: string,
  input: Json,
): Pick<ShellRequest, "method" | "url" | "body"> {
  const text = JSON.stringify(toBody(operation, input));
  return {
    method: "POST",
    url: `${url}/${agent}/process?wait=completed`,
    body: { type: "application/json", text },
  };
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
