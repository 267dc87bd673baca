import { expect, test } from "vitest";
import { createCommands } from "../../src/cli/commands.ts";

test.each(createCommands().map((command) => ({ name: command.name(), command })))(
  "the help of $name has an example with options that exist",
  ({ name, command }) => {
    let help = "";
    command.configureOutput({ writeOut: (text) => void (help += text) });
    command.outputHelp();
    const [, examples = ""] = help.split(/^Examples?:/m);
    const lines = [...examples.matchAll(new RegExp(`\\btroupe ${name}\\b(.*)`, "g"))];
    expect(lines).not.toEqual([]);
    for (const [line, args = ""] of lines) {
      const words = args.split(" ").filter(Boolean);
      expect([line, command.parseOptions(words).unknown]).toEqual([line, []]);
    }
  },
);
