/** @module-tag long */
import { chmodSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createProject, startCommand } from "../../cli/command.ts";
import { needsPostgres, ownCopy, ownPostgres } from "../../machine/postgres.ts";
import { ask, askUntil } from "./databases.ts";

needsPostgres();

const KEY = "a key of thirty-two characters ..";

const ASKER = `import { defineAgent } from "troupe";
export const asker = defineAgent({
  name: "asker", purpose: "Asks.",
  async chat(title, turn) {
    await turn.artifact({ name: "note.txt", mimeType: "text/plain", data: title });
    const { ok } = await turn.waitForInput({ ok: "Is it right?" });
    return title + ok;
  },
});
`;

test("a database is brought back to a second: what waited then goes on, and what came later is not there", async (context) => {
  const archive = mkdtempSync(join(tmpdir(), "troupe-archive-"));
  // The user of PostgreSQL writes into it.
  chmodSync(archive, 0o777);
  onTestFinished(() => rm(archive, { recursive: true, force: true }));
  const primary = await ownPostgres(context, [
    "archive_mode=on",
    `archive_command=test ! -f ${archive}/%f && cp %p ${archive}/%f`,
  ]);
  const cwd = await createProject({ "agents/asker.ts": ASKER });
  const serve = async (database: string) => {
    const env = { TROUPE_LOG: database, TROUPE_SECRETS_KEY: KEY };
    const command = startCommand(["serve", "--port=0"], { cwd, env });
    const [url] = await command.match(/http:\/\/127\.0\.0\.1:\d+/);
    await command.match(/wires/);
    return { command, url, env };
  };
  const begin = (url: string, id: string): Promise<Response> =>
    post(url, { type: "ChatRequest", input: id, request_id: id });

  const first = await serve(primary.url);
  await begin(first.url, "in-the-base");
  const copy = await ownCopy(context, primary);
  await begin(first.url, "in-the-archive");
  const [row] = await ask(primary.url, "SELECT clock_timestamp()::text AS now");
  const until = String(row?.["now"]);
  await begin(first.url, "later");
  await post(first.url, { type: "ResumeWithInput", request_id: "in-the-base", request_keys: { ok: "!" } });
  const [{ file } = { file: "" }] = await ask(primary.url, "SELECT pg_walfile_name(pg_switch_wal()) AS file");
  await askUntil(primary.url, `SELECT last_archived_wal >= '${String(file)}' FROM pg_stat_archiver`);
  first.command.kill();
  await first.command.exited;

  copy.recover([
    `restore_command=cp ${archive}/%f %p`,
    `recovery_target_time=${until}`,
    "recovery_target_action=promote",
  ]);
  await copy.start();
  await askUntil(copy.url, "SELECT NOT pg_is_in_recovery()");
  const doctor = startCommand(["doctor", "--json"], { cwd, env: { ...first.env, TROUPE_LOG: copy.url } });
  await doctor.exited;
  expect(doctor.output()).toMatch(/"subject":"database","ok":true/);
  const second = await serve(copy.url);
  for (const id of ["in-the-base", "in-the-archive"]) {
    const before = (await (await fetch(`${second.url}/getevents/${id}?since=0`)).json()) as readonly Event[];
    expect(before.map(({ id: number }) => number)).toEqual(before.map((_, index) => index + 1));
    expect(before.at(-1)?.type).toBe("WaitForInput");
    const file = before.find(({ type }) => type === "ArtifactGenerated")?.url ?? "";
    expect(await (await fetch(second.url + file)).text()).toBe(id);
    await post(second.url, { type: "ResumeWithInput", request_id: id, request_keys: { ok: "?" } });
    await (await fetch(`${second.url}/getevents/${id}?stream=true&since=0`)).arrayBuffer();
    expect(await (await fetch(`${second.url}/request/${id}`)).json()).toMatchObject({ result: `${id}?` });
  }
  expect((await fetch(`${second.url}/request/later`)).status).toBe(404);
});

interface Event {
  readonly id: number;
  readonly type: string;
  readonly url?: string;
}

async function post(url: string, body: object): Promise<Response> {
  const response = await fetch(`${url}/asker/process?wait=true`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return response;
}
