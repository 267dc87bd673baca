import { readFileSync } from "node:fs";
import { closest } from "./closest.ts";
import { EXIT, Exit } from "./exit.ts";
import { printTable } from "./print/table.ts";
import { stdout, styled } from "./print/terminal.ts";
import { Command } from "./vendor/commander.ts";

/** `troupe explain`: what the page about troubleshooting says of an error code. */
export function explainCommand(): Command {
  return new Command("explain")
    .description("Says what an error code means, what to look at, and what to do. Needs no server.")
    .argument("[code]", "the code of an error; without it all codes are listed")
    .addHelpText("after", "\nExample: troupe explain would_deadlock")
    .action((code?: string) => {
      const entries = readEntries();
      if (code === undefined) {
        printTable(
          ["CODE", "CAUSE"],
          [...entries].map(([name, [first = ""]]) => [name, first.replace(/^Cause: /, "")]),
        );
        return;
      }
      const lines = entries.get(code);
      if (lines === undefined) {
        const near = closest(code, [...entries.keys()]);
        const hint = near === undefined ? "troupe explain lists the codes" : `did you mean ${near}?`;
        throw new Exit(EXIT.unknown, `there is no error code ${code}`, hint);
      }
      stdout.line(styled("bold", code));
      for (const line of lines) stdout.line(line);
    });
}

/** What the page says of each code, in lines of plain text. */
function readEntries(): ReadonlyMap<string, readonly string[]> {
  const page = readFileSync(new URL("../../docs/guide/troubleshooting.md", import.meta.url), "utf8");
  const entries = new Map<string, readonly string[]>();
  for (const part of page.split(/^(?=#{2,3} )/m)) {
    const [, code, text] = /^### `(\w+)`\n([^]*)$/.exec(part) ?? [];
    if (code !== undefined && text !== undefined) entries.set(code, toPlain(text));
  }
  return entries;
}

/** Markdown as lines of plain text: a paragraph or an item of a list is a line. */
function toPlain(text: string): readonly string[] {
  return text
    .trim()
    .split(/\n\s*\n|\n(?=- )/)
    .map((block) =>
      block
        .replaceAll(/\s+/g, " ")
        .replace(/^- /, "")
        .replaceAll(/\*\*|`/g, "")
        .replaceAll(/\[([^\]]*)\]\(([^)]*)\)/g, "$1"),
    );
}
