import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createProgram } from "../../src/cli/program.ts";

const { commands: all } = await createProgram();
const commands = all.filter((command) => command.name() !== "complete");

test.each(commands.map((command) => ({ name: command.name(), command })))(
  "the help of $name has an example with options that exist",
  ({ name, command }) => {
    let help = "";
    command.configureOutput({ writeOut: (text) => void (help += text) });
    command.outputHelp();
    expect(help).not.toContain("default: false");
    const [, examples = ""] = help.split(/^Examples?:/m);
    const lines = [...examples.matchAll(new RegExp(`\\btroupe ${name}\\b(.*)`, "g"))];
    expect(lines).not.toEqual([]);
    for (const [line, args = ""] of lines) {
      const words = args.split(" ").filter(Boolean);
      const part = command.commands.find((each) => each.name() === words[0]);
      const { unknown } = part?.parseOptions(words.slice(1)) ?? command.parseOptions(words);
      expect([line, unknown]).toEqual([line, []]);
    }
  },
);

test("the page for coding agents has each command", async () => {
  const names = commands.map((command) => command.name());
  expect(names.length).toBeGreaterThan(15);
  const page = await readFile(join(import.meta.dirname, "../../docs/llms.txt"), "utf8");
  expect(names.filter((name) => name !== "help" && !page.includes(`npx troupe ${name}`))).toEqual([]);
});

test("an option takes a value in all commands that have it, or in none", () => {
  const flags = commands.flatMap(({ options }) => options);
  for (const { long, required } of flags)
    expect([long, flags.filter((other) => other.long === long).map((other) => other.required)]).toEqual([
      long,
      flags.filter((other) => other.long === long).map(() => required),
    ]);
});
