import { describe, expect, onTestFinished, test } from "vitest";
import { reservationId } from "../../ports/artifact-store.ts";
import type { ArtifactStore, NewArtifact, StoredArtifact } from "../../ports/artifact-store.ts";
import type { ArtifactId } from "../../protocol/ids.ts";

/** A store under test. */
export interface ArtifactStoreSubject {
  /** The name of the store in the test report. */
  readonly name: string;
  /** Opens an empty store; the suite closes it. */
  open(): Promise<ArtifactStore>;
}

/** Checks a store against the guarantees of `ArtifactStore`. Call it in a vitest file. */
export function testArtifactStore(subject: ArtifactStoreSubject): void {
  describe(`artifacts in ${subject.name}`, () => {
    test("are read back byte for byte, with their metadata", async () => {
      const store = await openFor(subject);
      const body = Buffer.from([0, 1, 2, 255, 10, 13]);
      const info = await store.put({ ...file(id), runId: "run", body });

      expect(info).toEqual({
        artifactId: id,
        runIds: ["run"],
        name: "../odd name é.pdf",
        mimeType: "application/pdf",
        sizeBytes: 6,
      });
      expect(await store.get(id)).toEqual(info);
      expect(await readAll(store, id)).toEqual(body);
      await store.close();
    });

    test("can have any name: what no database can store in it is replaced, and the rest is kept", async () => {
      const store = await openFor(subject);
      const stored = await store.put({ ...file(id), name: "a\u0000b \ud800 é", body: Buffer.from("bytes") });
      expect(stored.name).toBe("a\uFFFDb \uFFFD é");
      expect(await store.get(id)).toEqual(stored);
      expect((await readAll(store, id)).toString()).toBe("bytes");
      await store.close();
    });

    test("report their total size, and that of a run", async () => {
      const store = await openFor(subject);
      await store.put({ ...file(id), runId: "run", body: Buffer.alloc(1_000) });
      await store.put({ ...file("artifact-2"), runId: "run", body: Buffer.alloc(20) });
      await store.put({ ...file("artifact-3"), body: Buffer.alloc(3) });
      expect(await store.size()).toBe(1_023);
      expect(await store.size("run")).toBe(1_020);
      expect(await store.size("other")).toBe(0);

      await store.removeRun("run");
      expect(await store.size()).toBe(3);
    });

    test("are stored chunk by chunk", async () => {
      const store = await openFor(subject);
      const chunks = Array.from({ length: 100 }, (_, index) => Buffer.alloc(10_000, index));
      const info = await store.put({ ...file(id), body: stream(chunks) });

      expect(info.sizeBytes).toBe(1_000_000);
      expect(Buffer.compare(await readAll(store, id), Buffer.concat(chunks))).toBe(0);
    });

    test("are not stored when they are too large, and the rest is not read", async () => {
      const store = await openFor(subject);
      let asked = 0;
      async function* endless(): AsyncIterable<Uint8Array> {
        for (;;) {
          asked += 1;
          yield Buffer.alloc(400);
        }
      }
      const put = store.put({ ...file(id), body: endless(), limitBytes: 1_000 });

      await expect(put).rejects.toMatchObject({ code: "too_large" });
      expect(asked).toBe(3);
      expect(await store.get(id)).toBeUndefined();
      await expect(readAll(store, id)).rejects.toMatchObject({ code: "not_found" });
      const body = Buffer.alloc(1_000);
      expect(await store.put({ ...file(id), body, limitBytes: 1_000 })).toMatchObject({ sizeBytes: 1_000 });
    });

    test("get a name that is known only after their bytes", async () => {
      const store = await openFor(subject);
      const read: string[] = [];
      async function* body(): AsyncIterable<Uint8Array> {
        yield Buffer.from("hello");
        read.push("bytes");
      }
      const name = async (): Promise<string> => `after ${read.join()}`;
      expect(await store.put({ ...file(id), name, body: body() })).toMatchObject({ name: "after bytes" });
      expect(await store.get(id)).toMatchObject({ name: "after bytes", sizeBytes: 5 });
    });

    test("are not stored when their name fails", async () => {
      const store = await openFor(subject);
      const put = store.put({ ...file(id), name: () => Promise.reject(new Error("no name")) });
      await expect(put).rejects.toThrow("no name");
      expect(await store.get(id)).toBeUndefined();
      expect(await store.size()).toBe(0);
    });

    test("replace the previous bytes of their id", async () => {
      const store = await openFor(subject);
      await store.put({ ...file(id), body: Buffer.from("a first and longer one") });
      await store.put({ ...file(id), body: Buffer.from("second") });

      expect((await readAll(store, id)).toString()).toBe("second");
      expect(await store.get(id)).toMatchObject({ sizeBytes: 6 });
    });

    test("are removed with their run, and with no other", async () => {
      const store = await openFor(subject);
      await store.put({ ...file(id), runId: "run-1" });
      await store.put({ ...file("artifact-2"), runId: "run-2" });
      await store.put(file("artifact-3"));
      await store.removeRun("run-1");
      await store.removeRun("unknown");

      expect(await store.get(id)).toBeUndefined();
      await expect(readAll(store, id)).rejects.toMatchObject({ code: "not_found" });
      expect(await store.get("artifact-2")).toMatchObject({ runIds: ["run-2"] });
      expect(await store.get("artifact-3")).toBeDefined();
    });

    test("without a run are removed when they are old, unless a run has attached them", async () => {
      const store = await openFor(subject);
      const [old, taken, young] = ["old", "taken", "young"] as ArtifactId[] as [
        ArtifactId,
        ArtifactId,
        ArtifactId,
      ];
      await store.put({ ...file(old), createdAt: 1_000 });
      await store.put({ ...file(taken), createdAt: 1_000 });
      await store.put({ ...file(young), createdAt: 2_000 });
      await store.put({ ...file(id), createdAt: 1_000, runId: "run-1" });
      await store.attach(["none", taken], "run-2");

      expect(await store.removeUnattached(2_000)).toBe(1);
      expect(await store.get(old)).toBeUndefined();
      expect(await store.get(young)).toMatchObject({ createdAt: 2_000 });
      expect(await store.get(taken)).toMatchObject({ runIds: ["run-2"] });
      expect((await readAll(store, taken)).toString()).toBe("bytes");
      expect(await store.get(id)).toMatchObject({ runIds: ["run-1"] });
      await store.removeRun("run-2");
      expect(await store.get(taken)).toBeUndefined();
      expect(await store.removeUnattached(3_000)).toBe(0);
    });

    test("that are detached from a run stay until they are old", async () => {
      const store = await openFor(subject);
      await store.put({ ...file(id), createdAt: 1_000, runId: "run-1" });
      await store.put({ ...file("artifact-2"), createdAt: 1_000, runId: "run-1" });
      await store.attach(["artifact-2"], "run-2");
      await store.detach("run-1");
      await store.detach("unknown");
      await store.removeRun("run-1");

      expect(await store.get(id)).toMatchObject({ runIds: [] });
      expect(await store.get("artifact-2")).toMatchObject({ runIds: ["run-2"] });
      expect(await store.removeUnattached(1_000)).toBe(1);
      expect((await readAll(store, id)).toString()).toBe("bytes");
      expect(await store.removeUnattached(2_000)).toBe(0);
      expect(await store.get(id)).toBeUndefined();
      expect(await store.get("artifact-2")).toBeDefined();
    });

    test("that are reserved stay when their run is removed, until the reservation is old", async () => {
      const store = await openFor(subject);
      await store.put({ ...file(id), createdAt: 1_000, runId: "run-1" });
      await store.put({ ...file("artifact-2"), createdAt: 1_000 });
      await store.attach([id, "artifact-2"], reservationId(3_000, "a"));
      await store.attach([id], reservationId(3_000, "b"));
      await store.removeRun("run-1");
      expect(await store.removeUnattached(3_000)).toBe(2);
      expect((await store.get(id))?.runIds).toEqual(["a", "b"].map((name) => reservationId(3_000, name)));
      expect(await store.get("artifact-2")).toBeDefined();

      await store.attach(["artifact-2"], "run-2");
      expect(await store.removeUnattached(3_001)).toBe(0);
      expect(await store.get(id)).toBeUndefined();
      expect(await store.get("artifact-2")).toMatchObject({ runIds: ["run-2"] });
    });

    test("that were not stored for a reservation are not counted when it is old", async () => {
      const store = await openFor(subject);
      const name = (): Promise<string> => Promise.reject(new Error("no name"));
      const put = store.put({ ...file(id), runId: reservationId(1_000, "a"), name });
      await expect(put).rejects.toThrow("no name");
      expect(await store.removeUnattached(2_000)).toBe(0);
    });

    test("of several runs stay until the last of these is removed", async () => {
      const store = await openFor(subject);
      await store.put({ ...file(id), runId: "run-1" });
      await Promise.all([
        store.attach([id], "run-2"),
        store.attach([id], "run-3"),
        store.attach([id], "run-2"),
      ]);
      expect((await store.get(id))?.runIds.toSorted()).toEqual(["run-1", "run-2", "run-3"]);
      await store.put({ ...file(id), runId: "run-1" });
      expect((await store.get(id))?.runIds.toSorted()).toEqual(["run-1", "run-2", "run-3"]);

      await Promise.all([store.removeRun("run-1"), store.removeRun("run-3")]);
      expect((await store.get(id))?.runIds).toEqual(["run-2"]);
      expect((await readAll(store, id)).toString()).toBe("bytes");
      expect(await store.removeUnattached(Infinity)).toBe(0);
      await store.removeRun("run-2");
      expect(await store.get(id)).toBeUndefined();
      expect(await store.size()).toBe(0);
    });

    test("without a run are counted, also those that are only reserved", async () => {
      const store = await openFor(subject);
      const reserved = reservationId(1_000, "a");
      await store.put({ ...file(id), body: Buffer.alloc(1) });
      await store.put({ ...file("artifact-2"), body: Buffer.alloc(20) });
      await store.put({ ...file("artifact-3"), runId: reserved, body: Buffer.alloc(300) });
      await store.put({ ...file("artifact-4"), runId: "run", body: Buffer.alloc(4_000) });
      await store.attach(["artifact-2", "artifact-4"], reserved);
      expect(await store.unattached()).toEqual({ files: 3, bytes: 321 });

      await store.attach(["artifact-2"], "run");
      await store.detach(reserved);
      expect(await store.unattached()).toEqual({ files: 2, bytes: 301 });
      await store.detach("run");
      expect(await store.unattached()).toEqual({ files: 4, bytes: 4_321 });
      await store.removeUnattached(Infinity);
      expect(await store.unattached()).toEqual({ files: 0, bytes: 0 });
    });

    test("of several runs count for no single run, and once for the store", async () => {
      const store = await openFor(subject);
      await store.put({ ...file(id), runId: "run-1", body: Buffer.alloc(100) });
      await store.attach([id], "run-2");
      expect(await store.size("run-1")).toBe(0);
      expect(await store.size()).toBe(100);
      await store.removeRun("run-1");
      expect(await store.size("run-2")).toBe(100);
    });

    test("are known to be a run's, also when they are empty, or of other runs too", async () => {
      const store = await openFor(subject);
      await store.put({ ...file(id), runId: "run-1", body: Buffer.alloc(0) });
      expect(await store.has("run-1")).toBe(true);
      expect(await store.has("run-2")).toBe(false);
      await store.attach([id], "run-2");
      expect(await store.has("run-2")).toBe(true);
      await store.removeRun("run-1");
      expect([await store.has("run-1"), await store.has("run-2")]).toEqual([false, true]);
      await store.detach("run-2");
      expect(await store.has("run-2")).toBe(false);
    });

    test("are listed with their metadata, also those without a run", async () => {
      const store = await openFor(subject);
      const stored = [
        await store.put({ ...file(id), runId: "run", createdAt: 5 }),
        await store.put({ ...file("artifact-2"), name: "two", body: Buffer.alloc(20) }),
        await store.put({ ...file("artifact-3"), runId: "run" }),
      ];
      await store.removeRun("unknown");
      const listed: StoredArtifact[] = [];
      for await (const info of store.list()) listed.push(info);
      expect(listed.toSorted((a, b) => (a.artifactId < b.artifactId ? -1 : 1))).toEqual(stored);
    });

    test("without a run are listed alone, with those that have only reservations", async () => {
      const store = await openFor(subject);
      await store.put({ ...file(id), runId: "run" });
      await store.put({ ...file("artifact-2"), createdAt: 5 });
      await store.put({ ...file("artifact-3") });
      await store.put({ ...file("artifact-4") });
      await store.attach(["artifact-3"], reservationId(1, "turn"));
      await store.attach(["artifact-4"], "run");
      const listed: string[] = [];
      for await (const { artifactId } of store.list({ waiting: true })) listed.push(artifactId);
      expect(listed.toSorted()).toEqual(["artifact-2", "artifact-3"]);
    });

    test("that were never stored are not found", async () => {
      const store = await openFor(subject);
      expect(await store.get("none")).toBeUndefined();
      expect(await store.get("../../etc/passwd")).toBeUndefined();
    });
  });
}

const id = "artifact-1" as ArtifactId;

/** Opens an empty store for the duration of a test. */
async function openFor(subject: ArtifactStoreSubject): Promise<ArtifactStore> {
  const store = await subject.open();
  onTestFinished(() => store.close());
  return store;
}

function file(artifactId: ArtifactId): NewArtifact {
  return {
    artifactId,
    name: "../odd name é.pdf",
    mimeType: "application/pdf",
    body: Buffer.from("bytes"),
    limitBytes: 10_000_000,
  };
}

async function* stream(chunks: readonly Uint8Array[]): AsyncIterable<Uint8Array> {
  yield* chunks;
}

async function readAll(store: ArtifactStore, artifactId: ArtifactId): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of store.read(artifactId)) chunks.push(chunk);
  return Buffer.concat(chunks);
}
