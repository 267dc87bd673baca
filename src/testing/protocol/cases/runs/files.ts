import type { Case } from "../../case.ts";
import { check, checkEqual } from "../../mismatch.ts";
import { bodyOf, checkStatus, checkProblem } from "../../http-client.ts";
import { checkWholeTurn, only } from "../../wire-event.ts";

/** Files of agents and of clients. */
export const files: readonly Case[] = [
  {
    id: "56",
    title: "an artifact has a name and a type, and its url returns its bytes",
    needs: ["pdf-writer"],
    async run(context) {
      const events = await context.read(await context.start("pdf-writer", "Moon: it is far away"));
      checkWholeTurn(events, "success");
      const { name, url, mime_type, artifact_id, size_bytes } = only(events, "ArtifactGenerated");
      check(typeof name === "string" && name !== "", "a name", name);
      checkEqual(mime_type, "application/pdf", "mime_type");
      check(typeof url === "string" && url.includes(String(artifact_id)), "a url with the artifact_id", url);
      const answer = await context.http.ask("GET", context.http.resolve(url));
      checkStatus(answer, 200);
      checkEqual(answer.headers.get("content-type"), "application/pdf", "the content-type");
      check(answer.text.startsWith("%PDF-"), "the bytes of a PDF", answer.text.slice(0, 20));
      checkEqual(answer.bytes.length, size_bytes, "the number of bytes");
      checkEqual(answer.headers.get("x-content-type-options"), "nosniff", "X-Content-Type-Options");
      const disposition = answer.headers.get("content-disposition") ?? "";
      check(disposition.startsWith("attachment"), "Content-Disposition attachment", disposition);
    },
  },
  {
    id: "56d",
    title: "an artifact survives a kill of the server",
    needs: ["pdf-writer", "restart"],
    async run(context) {
      const events = await context.read(await context.start("pdf-writer", "Moon: it is far away"));
      const path = String(only(events, "ArtifactGenerated").url);
      const before = await context.http.ask("GET", context.http.resolve(path));
      const { http } = await context.restart();
      const after = await http.ask("GET", http.resolve(path));
      checkStatus(after, 200);
      const equal = after.bytes.length === before.bytes.length && after.text === before.text;
      check(equal, `the same ${before.bytes.length} bytes`, after.bytes.length);
    },
  },
  {
    id: "56a",
    title: "an unknown artifact is a 404",
    needs: [],
    async run(context) {
      checkProblem(await context.http.ask("GET", `/artifacts/${crypto.randomUUID()}`), 404);
    },
  },
  {
    id: "56b",
    title: "an uploaded file can be attached to a request",
    needs: ["echo"],
    async run(context) {
      const raw = crypto.getRandomValues(new Uint8Array(10_000));
      const headers = { "content-type": "application/x-anything" };
      const uploaded = await context.http.ask("POST", "/artifacts", { raw, headers });
      checkStatus(uploaded, 200, 201);
      const { artifact_id, url } = bodyOf(uploaded, uploaded.status);
      check(typeof artifact_id === "string" && typeof url === "string", "artifact_id and url", uploaded);
      const { bytes } = await context.http.ask("GET", context.http.resolve(url));
      const equal = bytes.length === raw.length && bytes.every((byte, index) => byte === raw[index]);
      check(equal, "the uploaded bytes", bytes.length);
      const turn = await context.start("echo", "hello", { attachments: [artifact_id] });
      checkEqual(turn.started.attachments, [artifact_id], "the attachments");
    },
  },
  {
    id: "56c",
    title: "a request with an unknown attachment is refused",
    needs: ["echo"],
    async run(context) {
      const body = { type: "ChatRequest", input: "hello", attachments: [crypto.randomUUID()] };
      checkStatus(await context.process("echo", body, { wait: true }), 400, 404, 422);
    },
  },
];
