// An owner sends very many requests. Its arguments: the port, how many, and over how many connections, each of which sends its next one
// when the one before is accepted. It prints a line when each connection has had an answer, and one when all requests have.
import { Connection, toRequestText } from "../../../bench/harness/connection.ts";

const [, , port = "0", requests = "0", connections = "1"] = process.argv;
const request = { type: "ChatRequest", input: "hello" };
const text = toRequestText("POST", "/echo/process", request, { "x-user": "ann" });

let left = Number(requests);
let answers = 0;
await Promise.all(
  Array.from({ length: Number(connections) }, async () => {
    const connection = new Connection(Number(port));
    while (left > 0) {
      left -= 1;
      // oxlint-disable-next-line no-await-in-loop -- one request at a time on a connection
      const { status } = await connection.request(text);
      if (status !== 202) throw new Error(`a request was answered ${status}`);
      answers += 1;
      if (answers === Number(connections)) console.log("busy");
    }
    connection.close();
  }),
);
console.log("done");
