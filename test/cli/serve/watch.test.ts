import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { watchDirectory } from "../../../src/cli/dev/watch.ts";

test("a file is noticed each time it is changed, replaced, removed, or created again", async () => {
  const { directory, nextChange } = await watched({ "a.ts": "first" });

  for (const content of ["second", "third", "fourth"]) {
    await replace(join(directory, "a.ts"), content);
    expect(await nextChange()).toBe("a.ts");
  }
  await writeFile(join(directory, "a.ts"), "fifth");
  expect(await nextChange()).toBe("a.ts");
  await rm(join(directory, "a.ts"));
  expect(await nextChange()).toBe("a.ts");
  await writeFile(join(directory, "a.ts"), "sixth");
  expect(await nextChange()).toBe("a.ts");
});

test("a file in a subdirectory is noticed, also when that directory is new or was replaced", async () => {
  const { directory, nextChange } = await watched({ "old/a.ts": "first" });

  await replace(join(directory, "old/a.ts"), "second");
  expect(await nextChange()).toBe(join("old", "a.ts"));

  for (const time of ["first", "second"]) {
    await mkdir(join(directory, "new"));
    while ((await nextChange()) !== "new");
    await writeFile(join(directory, "new/a.ts"), time);
    while ((await nextChange()) !== join("new", "a.ts"));
    await rm(join(directory, "new"), { recursive: true });
    while ((await nextChange()) !== "new");
  }
});

test("a file is noticed also when the whole directory was removed and made again, or replaced by another", async () => {
  const { directory, nextChange } = await watched({ "a.ts": "first", "old/b.ts": "first" });

  for (const time of ["second", "third"]) {
    await rm(directory, { recursive: true });
    while ((await nextChange()) !== basename(directory));
    await mkdir(directory);
    while ((await nextChange()) !== basename(directory));
    await mkdir(join(directory, "old"));
    while ((await nextChange()) !== "old");
    await writeFile(join(directory, "old/b.ts"), time);
    while ((await nextChange()) !== join("old", "b.ts"));
  }

  await mkdir(`${directory}.new`);
  await rename(directory, `${directory}.old`);
  await rename(`${directory}.new`, directory);
  while ((await nextChange()) !== basename(directory));
  await writeFile(join(directory, "c.ts"), "first");
  let noticed = await nextChange();
  while (noticed === basename(directory)) noticed = await nextChange();
  expect(noticed).toBe("c.ts");
});

test("temporary files of editors, hidden files and packages are not noticed", async () => {
  const { directory, nextChange } = await watched({ "node_modules/pack/index.js": "", ".git/HEAD": "" });

  for (const name of [
    "node_modules/pack/index.js",
    ".git/HEAD",
    ".hidden.ts",
    "a.ts~",
    ".a.ts.swp",
    "a.tmp",
  ]) {
    await writeFile(join(directory, name), "anything");
  }
  await writeFile(join(directory, "a.ts"), "anything");

  expect(await nextChange()).toBe("a.ts");
});

interface Watched {
  readonly directory: string;
  /** Resolves with the file of the oldest change that was not returned yet. */
  nextChange(): Promise<string>;
}

async function watched(files: Readonly<Record<string, string>>): Promise<Watched> {
  const directory = await mkdtemp(join(tmpdir(), "troupe-watch-"));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), content);
  }
  const changes: string[] = [];
  let wake = (): void => {};
  const stop = watchDirectory(directory, (file) => {
    changes.push(file);
    wake();
  });
  onTestFinished(async () => {
    stop();
    await rm(directory, { recursive: true });
  });
  const nextChange = async (): Promise<string> => {
    const change = changes.shift();
    if (change !== undefined) return change;
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
    return nextChange();
  };
  return { directory, nextChange };
}

/** Saves as many editors do: writes a new file beside the old one and renames it. */
async function replace(path: string, content: string): Promise<void> {
  await writeFile(`${path}.tmp`, content);
  await rename(`${path}.tmp`, path);
}
