import { becomes } from "../faults.ts";
import { Session } from "../session.ts";
import { SmallDisk } from "./small-disk.ts";
import type { Violation } from "../checks/verify-log.ts";

/** So large that the log alone does not fill it during the check. */
const MEGABYTES = 24;

/**
 * Fills the disk under a server with clients, frees the space, and checks that it continues by itself; then
 * kills it. `undefined` if no small disk is available.
 */
export async function fillDisk(seed: number): Promise<readonly Violation[] | undefined> {
  using disk = await SmallDisk.create(MEGABYTES);
  if (disk === undefined) return undefined;
  const log = { here: `${disk.here}/log`, there: `${disk.there}/log` };
  await using session = new Session({ seed, log });
  const { command } = disk;
  const server = session.start({ command });
  const address = (await server.address) ?? "";
  const wrong: string[] = [];
  if (!(await becomes(address, 202))) wrong.push("a server on an empty disk takes no requests");
  disk.fill();
  if (!(await becomes(address, 503))) wrong.push("a server on a full disk takes requests");
  if ((await fetch(`${address}/runs`)).status !== 200) wrong.push("a server on a full disk does not read");
  disk.empty();
  if (!(await becomes(address, 202))) wrong.push("a server whose disk has room again takes no requests");
  await server.kill();
  const violations = [...(await session.verify()), ...(await session.finish({ command }))];
  return [...wrong.map((what): Violation => ({ invariant: "ends", what })), ...violations];
}
