import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import type { NewArtifact } from "../../src/ports/artifact-store.ts";
import type { ArtifactId } from "../../src/protocol/ids.ts";
import { fsArtifacts } from "troupe/storage/fs";
import { memoryArtifacts } from "../../src/storage/memory/artifacts.ts";
import { testArtifactStore } from "../../src/testing/stores/artifact-store.ts";
import { temporaryDirectory } from "./directories.ts";

testArtifactStore({ name: "memory", open: async () => memoryArtifacts() });
testArtifactStore({ name: "files", open: async () => fsArtifacts(join(temporaryDirectory(), "artifacts")) });

const id = "artifact-1" as ArtifactId;

describe("artifact files", () => {
  test("are there when the store is reopened, without the remains of a crash", async () => {
    const directory = temporaryDirectory();
    const first = fsArtifacts(directory);
    const info = await first.put({ ...file(id), body: Buffer.from("kept") });
    writeFileSync(join(directory, "incoming", "left-behind"), "half of");
    writeFileSync(join(directory, "unknown.bytes"), "of an artifact that came to no end");
    const again = fsArtifacts(directory);
    await again.close();

    expect(await again.get(id)).toEqual(info);
    const kept: Uint8Array[] = [];
    for await (const chunk of again.read(id)) kept.push(chunk);
    expect(Buffer.concat(kept).toString()).toBe("kept");
    expect(readdirSync(join(directory, "incoming"))).toEqual([]);
    expect(readdirSync(directory)).not.toContain("unknown.bytes");
  });

  test("of an older version belong to the run in their file names", async () => {
    const directory = temporaryDirectory();
    const before = fsArtifacts(directory);
    for (const artifactId of ["artifact-1", "artifact-2"])
      await before.put({ ...file(artifactId), runId: "run-1" });
    await before.put({ ...file("artifact-3"), createdAt: 1 });
    for (const name of ["artifact-1", "artifact-2", "artifact-3"]) {
      const path = join(directory, `${name}.json`);
      const { runIds, ...info } = JSON.parse(readFileSync(path, "utf8")) as { runIds: string[] };
      writeFileSync(path, JSON.stringify({ ...info, ...(runIds[0] && { runId: runIds[0] }) }));
    }

    const store = fsArtifacts(directory);
    expect((await store.get("artifact-1"))?.runIds).toEqual(["run-1"]);
    await store.attach(["artifact-1"], "run-2");
    await store.removeRun("run-1");
    expect((await store.get("artifact-1"))?.runIds).toEqual(["run-2"]);
    expect(await store.get("artifact-2")).toBeUndefined();
    expect(await store.removeUnattached(2)).toBe(0);
    expect(await store.get("artifact-3")).toBeUndefined();
  });

  test("are named by id, contain only the bytes, and only their owner can read them", async () => {
    const directory = temporaryDirectory();
    const store = fsArtifacts(directory);
    await store.put({ ...file(id), body: Buffer.from("%PDF") });

    expect(readFileSync(join(directory, "artifact-1.bytes"), "utf8")).toBe("%PDF");
    expect(readdirSync(directory).toSorted()).toEqual([
      "artifact-1.bytes",
      "artifact-1.json",
      "incoming",
      "runs",
      "unattached",
    ]);
    expect(statSync(join(directory, "artifact-1.bytes")).mode & 0o777).toBe(0o600);
    const odd = store.put(file("../artifact"));
    await expect(odd).rejects.toMatchObject({ code: "invalid_request" });
  });

  test("leave nothing behind when their source fails", async () => {
    const directory = temporaryDirectory();
    const store = fsArtifacts(directory);
    async function* failing(): AsyncIterable<Uint8Array> {
      yield Buffer.from("half");
      throw new Error("the sender went away");
    }

    await expect(store.put({ ...file(id), body: failing() })).rejects.toThrow("went away");
    expect(await store.get(id)).toBeUndefined();
    expect(readdirSync(directory).toSorted()).toEqual(["incoming", "runs", "unattached"]);
    expect(readdirSync(join(directory, "incoming"))).toEqual([]);
    expect(readdirSync(join(directory, "unattached"))).toEqual([]);
  });
});

function file(artifactId: ArtifactId): NewArtifact {
  return {
    artifactId,
    name: "../odd name é.pdf",
    mimeType: "application/pdf",
    body: Buffer.from("bytes"),
    limitBytes: 10_000_000,
  };
}

test("a file is refused when the directory was removed, also one that was given as a relative path", async () => {
  const directory = join(temporaryDirectory(), "artifacts");
  const store = fsArtifacts(relative(process.cwd(), directory));
  await store.put(file(id));
  rmSync(directory, { recursive: true });
  await expect(store.put(file("artifact-2"))).rejects.toMatchObject({
    code: "unavailable",
    message: `files cannot be kept: the directory ${directory} was removed`,
  });
});
