import { join } from "node:path";
import { expect, test } from "vitest";
import { openHeadFile, readHeadFile } from "../../../src/storage/sqlite/format/head-file.ts";
import { damage, temporaryDirectory } from "../directories.ts";

test("the head file names the newest written batch", () => {
  const path = join(temporaryDirectory(), "head");
  const file = openHeadFile(path);
  for (let batch = 1; batch <= 5; batch += 1) {
    file.write({ epoch: 2, batch, hash: `a${batch}` });
    expect(readHeadFile(path)).toEqual({ epoch: 2, batch, hash: `a${batch}` });
  }
  file.close();
});

test("a torn write leaves the previous batch", () => {
  const path = join(temporaryDirectory(), "head");
  const file = openHeadFile(path);
  for (const batch of [7, 8]) file.write({ epoch: 1, batch, hash: "ab" });
  file.close();

  damage(path, "head 1 8", "first");
  expect(readHeadFile(path)).toEqual({ epoch: 1, batch: 7, hash: "ab" });
  damage(path, "head 1 7", "first");
  expect(readHeadFile(path)).toBeUndefined();
});

test("a reset removes everything that the file named before", () => {
  for (const newest of [8, 9]) {
    const path = join(temporaryDirectory(), "head");
    const file = openHeadFile(path);
    for (const batch of [newest - 1, newest]) file.write({ epoch: 1, batch, hash: "ab" });
    file.reset({ epoch: 2, batch: 3, hash: "cd" });
    file.close();

    expect(readHeadFile(path)).toEqual({ epoch: 2, batch: 3, hash: "cd" });
  }
});

test("a missing head file is empty", () => {
  expect(readHeadFile(join(temporaryDirectory(), "head"))).toBeUndefined();
});
