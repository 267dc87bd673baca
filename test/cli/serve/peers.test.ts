/** @module-tag long */
import { createClient } from "troupe/client";
import { expect, test } from "vitest";
import { createProject, startCommand } from "../command.ts";

const KEY = "0123456789abcdef0123456789abcdef";
const OTHER = "fedcba9876543210fedcba9876543210";
const TOKEN = "an-admin-token-of-the-server";

/** Starts `troupe serve` in a directory of its own. Resolves with its address. */
async function serve(source: string, env: Readonly<Record<string, string>>): Promise<string> {
  const cwd = await createProject({ "agents/payer.ts": source });
  const args = ["serve", "--port=0", "--data", "data"];
  const [, url = ""] = await startCommand(args, { cwd, env: { TROUPE_TOKEN: TOKEN, ...env } }).match(
    /(http:\/\/127\.0\.0\.1:\d+)/,
  );
  return url;
}

const payer = `import { defineAgent } from "troupe";
export const payer = defineAgent({
  name: "payer",
  purpose: "Asks finance.",
  async chat(input, turn) {
    const { pay } = await turn.waitForInput({ pay: "Pay?" }, { approvers: ["finance"] });
    return pay === "yes" ? "Paid " + input : "Refused";
  },
});
`;

const remote = (url: string): string => `import { remoteAgent } from "troupe/client";
export const payer = remoteAgent("${url}/payer", { peerKeys: process.env.TROUPE_PEER_KEYS });
`;

/** Makes an API key for someone of acme. */
async function keyFor(url: string, roles: readonly string[]): Promise<string> {
  const answer = await fetch(`${url}/keys`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ name: roles.join("-"), owner: "acme", roles }),
  });
  return ((await answer.json()) as { readonly key: string }).key;
}

/** The owners of the runs of a server. */
async function ownersOf(url: string): Promise<readonly unknown[]> {
  const answer = await fetch(`${url}/audit?action=process`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  return ((await answer.json()) as readonly { readonly owner?: string }[]).map(({ owner }) => owner);
}

test("calls between two servers with the same TROUPE_PEER_KEYS carry the owner, and those with another key are refused", async () => {
  const far = await serve(payer, { TROUPE_PEER_KEYS: `${OTHER}x,${KEY}` });
  const near = await serve(remote(far), { TROUPE_PEER_KEYS: KEY });
  const [ann, fay] = [await keyFor(near, ["user"]), await keyFor(near, ["user", "finance"])];
  const call = createClient(near, { token: ann }).agent("payer").chat("250 EUR", { requestId: "pay-1" });
  await expect(call).rejects.toMatchObject({ code: "waiting" });
  expect(await ownersOf(far)).toEqual(["acme"]);
  const [wait] = call.waits;
  if (wait === undefined) throw new Error("nothing is asked");
  await expect(wait.answer({ pay: "yes" })).rejects.toMatchObject({ code: "not_an_approver" });
  await createClient(near, { token: fay }).agent("payer").answer(wait, { pay: "yes" });
  await expect(call).resolves.toBe("Paid 250 EUR");

  const stranger = await serve(remote(far), { TROUPE_PEER_KEYS: OTHER });
  const refused = createClient(stranger, { token: TOKEN }).agent("payer").chat("9 EUR");
  await expect(refused).rejects.toThrow(/401|token/);
  expect(await ownersOf(far)).toEqual(["acme"]);
});
