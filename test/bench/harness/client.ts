import { Connection, toRequestText } from "./connection.ts";
import type { Answer } from "./connection.ts";

/** Sends one request on its own connection and returns the answer. */
export async function ask(
  port: number,
  method: "GET" | "POST",
  path: string,
  body?: unknown,
): Promise<Answer> {
  const connection = new Connection(port);
  try {
    const answer = await connection.request(toRequestText(method, path, body), { keep: true });
    if (answer.status < 300) return answer;
    throw new Error(`${method} ${path} was answered ${answer.status} ${answer.text}`);
  } finally {
    connection.close();
  }
}

/** Sends one request and returns the JSON of its answer. */
export async function askJson<Value>(
  port: number,
  method: "GET" | "POST",
  path: string,
  body?: unknown,
): Promise<Value> {
  return JSON.parse((await ask(port, method, path, body)).text) as Value;
}
