/** @module-tag long */
import { closeSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { SmallDisk } from "../../faults/disk/small-disk.ts";
import { agentSaying, chat, createProject, main, startProgram } from "../command.ts";

const MIB = 1_048_576;

test("a disk that is nearly full takes no files but still events, and files again when it has room", async ({
  skip,
}) => {
  const disk = await SmallDisk.create(256);
  skip(disk === undefined, "this system mounts no small disk");
  if (disk === undefined) return;
  onTestFinished(() => disk[Symbol.dispose]());
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  const [enter = "", ...options] = disk.command;
  const data = `--data=${disk.there}/log`;
  const serve = [process.execPath, main, "serve", "--port=0", data, `--agents=${cwd}/agents`];
  const [url] = await startProgram(enter, [...options, ...serve], { cwd }).match(/http:\/\/127\.0\.0\.1:\d+/);
  const upload = (bytes: number): Promise<Response> =>
    fetch(`${url}/artifacts`, { method: "POST", body: Buffer.alloc(bytes) });
  expect((await upload(MIB)).status).toBe(201);

  // The limit is 5 %, 12.8 MiB. A file that fits at its beginning and not as a whole is refused too.
  fill(disk.here, 20 * MIB);
  expect((await upload(MIB)).status).toBe(201);
  expect((await upload(10 * MIB)).status).toBe(507);
  expect(freeBytes(disk.here)).toBeGreaterThan(18 * MIB);

  fill(disk.here, 10 * MIB);
  const refused = await upload(1);
  expect(refused.status).toBe(507);
  expect(await refused.json()).toMatchObject({
    code: "insufficient_storage",
    detail: "the file is not stored: the disk has no room beside the 13 MiB that are kept for events",
  });
  for (let round = 0; round < 10; round += 1)
    expect(await chat(url, "speaker")).toMatchObject({ type: "RequestCompleted", result: "hello" });

  rmSync(join(disk.here, "ballast"));
  expect((await upload(MIB)).status).toBe(201);
});

/** Fills a disk with a file until it has only so much free space. */
function fill(directory: string, wantedBytes: number): void {
  const path = join(directory, "ballast");
  rmSync(path, { force: true });
  const file = openSync(path, "w");
  const block = Buffer.alloc(65_536);
  for (let rest = freeBytes(directory) - wantedBytes; rest > 0; rest -= block.length)
    writeSync(file, block, 0, Math.min(rest, block.length));
  closeSync(file);
}

function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}
