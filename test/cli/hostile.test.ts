import { spawnSync } from "node:child_process";
import { readdir } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { createProject, main, startProgram } from "./command.ts";
import type { RunningCommand } from "./command.ts";
import { startPoisonous } from "./hostile-server.ts";
import type { Ending } from "./hostile-server.ts";
import { skipWithoutScript } from "../machine/skip-without.ts";

const hasScript = spawnSync("script", ["-qec", "true", "/dev/null"]).status === 0;

/** The commands that show what a server says, by how its requests end. */
const COMMANDS: Readonly<Record<Ending, readonly string[]>> = {
  success: [
    "agents",
    "agents --json",
    "describe payments",
    "describe payments --json",
    "describe nobody",
    "call payments free",
    "call --json payments free",
    "call payments nothing",
    "call payments pay --unknown 1",
    "call payments pay {",
    "call payments pay --choice nothing",
    "chat payments hello",
    "chat --json payments hello",
    "runs",
    "runs --json",
    "runs --watch --limit 1",
    "events run_1",
    "events run_1 --json",
    "events run_1 --tree",
    "events req_1 --follow",
    "cancel req_1",
    "fork run_1",
    "remove run_1",
    "artifact art_1",
    "doctor",
    "complete -- call ''",
    "complete -- call payments ''",
    "complete -- call payments pay --",
  ],
  lost: ["call payments free"],
  error: ["call payments free", "chat payments hello", "events run_1 --tree", "cancel req_1"],
  waiting: [
    "waits",
    "waits --json",
    "resume req_1 nothing=1",
    "resume req_1 choice=nothing",
    "resume req_1 --wait 8",
    "resume run_1 --wait 8",
  ],
  refusal: [
    "agents",
    "describe payments",
    "call payments free",
    "chat payments hello",
    "runs",
    "runs --watch",
    "events run_1",
    "events req_1 --follow",
    "waits",
    "resume req_1 choice=other",
    "cancel req_1",
    "fork run_1",
    "remove run_1",
    "artifact art_1",
    "doctor",
    "conformance URL",
  ],
};

describe("a server that sends control characters in every text", () => {
  test.for(Object.entries(COMMANDS))(
    "steers the terminal with none of them when its requests end with %s",
    { tags: "long" },
    async ([ending, lines], { skip }) => {
      if (!hasScript) skipWithoutScript(skip);
      await using server = await startPoisonous(ending as Ending);
      const cwd = await createProject({});
      const found: Record<string, readonly string[]> = {};
      const silent: string[] = [];
      const left = [...lines];
      const lane = async (): Promise<void> => {
        for (let line = left.pop(); line !== undefined; line = left.pop()) {
          const output = await onTerminal(line, server.url, cwd);
          const dangers = dangersIn(output);
          if (dangers.length > 0) found[line] = dangers;
          if (!output.includes("poison") && !SILENT.has(line)) silent.push(line);
        }
      };
      await Promise.all([lane(), lane(), lane()]);
      expect({ found, silent }).toEqual({ found: {}, silent: [] });
    },
  );

  test(
    "steers the terminal with none of them while its questions are asked",
    { tags: "long" },
    async ({ skip }) => {
      if (!hasScript) skipWithoutScript(skip);
      const cwd = await createProject({});
      const typed = ["hello", "/files", "/fork", "/quit"].map((text) => [/> .\[3G$/, `${text}\r`] as const);
      const scenes: readonly Scene[] = [
        { ending: "success", line: "call payments pay", keys: [[/◆[^]*navigate/, "\r"]] },
        {
          ending: "waiting",
          line: "resume req_1",
          keys: [
            [/◆[^]*poison/, "a\r"],
            [/◆[^]*navigate/, "\r"],
            [/◆[^]*constant/, "\u0003"],
          ],
        },
        {
          ending: "waiting",
          line: "chat payments",
          keys: [
            [/> .\[3G$/, "hello\r"],
            [/◆[^]*poison/, "a\r"],
            [/◆[^]*navigate/, "\u0003"],
          ],
        },
        { ending: "success", line: "chat payments", keys: typed },
        { ending: "error", line: "chat payments", keys: typed },
      ];
      for (const { ending, line, keys } of scenes) {
        await using server = await startPoisonous(ending);
        const program = startOnTerminal(line, server.url, cwd);
        let from = 0;
        for (const [shown, key] of keys) {
          await program.match(shown, from);
          from = program.output().length;
          await program.type(key);
        }
        await program.exited;
        // The questions are drawn with sequences of their own, and so is the line that is typed in.
        const dangers = SEQUENCES.filter((sequence) => program.output().includes(sequence));
        expect([line, ending, dangers, program.output()]).toEqual([
          line,
          ending,
          [],
          expect.stringContaining("poison"),
        ]);
      }
    },
  );

  test("runs nothing in a shell that completes what is typed", { tags: "long" }, async () => {
    await using server = await startPoisonous("success");
    const cwd = await createProject({});
    const script = `troupe() { "${process.execPath}" "${main}" "$@"; }
source <(troupe completion bash)
COMP_WORDS=(troupe describe ""); COMP_CWORD=2
until [ "\${#COMPREPLY[@]}" -gt 0 ]; do _troupe; done; echo "found \${COMPREPLY[@]}"`;
    // Completion waits 300 ms for the server, which a loaded machine may exceed.
    const bash = startProgram("bash", ["-c", script], { cwd, env: { TROUPE_URL: server.url } });
    await bash.match(/^found payments$/m);
    expect(await readdir(cwd)).not.toContain("caught");
  });
});

test(
  "an error that nothing catches is printed without control characters, and ends the command",
  { tags: "long" },
  async () => {
    const cwd = await createProject({
      "agents/late.ts": `
queueMicrotask(() => { throw new Error("late \\u001b]52;c;cm0gLXJm\\u0007"); });
await new Promise((resolve) => setTimeout(resolve, 60_000));`,
    });
    const command = startProgram(process.execPath, [main, "serve", "--port=0"], { cwd });
    expect(await command.exited).toBe(1);
    expect(command.output()).toContain("Error: late \uFFFD]52;c;cm0gLXJm\uFFFD");
    expect(command.output()).not.toContain("\u001b");
  },
);

/** What shows nothing of the server on purpose. */
const SILENT: ReadonlySet<string> = new Set([
  "cancel req_1",
  "remove run_1",
  "doctor",
  "complete -- call ''",
  "complete -- call payments ''",
  "complete -- call payments pay --",
]);

/** The output of a command on a terminal, as the terminal gets it. */
async function onTerminal(line: string, url: string, cwd: string): Promise<string> {
  const program = startOnTerminal(line, url, cwd);
  if (line.includes("--watch")) {
    // It ends only with Ctrl-C, or a refusal.
    await program.match(/removed|troupe:/);
    await program.type("\u0003");
  }
  await program.exited;
  return program.output();
}

/** Starts a command on a terminal that is wide enough for every line. */
function startOnTerminal(line: string, url: string, cwd: string): RunningCommand {
  const args = line.replace("URL", url);
  const command = `stty cols 4000 rows 24; "${process.execPath}" "${main}" ${args}`;
  const env = { TROUPE_URL: url, TROUPE_TOKEN: "", TERM: "xterm" };
  return startProgram("script", ["-qec", command, "/dev/null"], { cwd, env, input: "pipe" });
}

/** The characters that a terminal would obey or hide. The terminal itself ends a line with \r\n. */
function dangersIn(output: string): readonly string[] {
  const plain = output.replaceAll("\r\n", "\n");
  return [...new Set(plain.match(/[\p{Cc}\p{Cf}\u2028\u2029]/gu))]
    .filter((char) => char !== "\n" && char !== "\t")
    .map((char) => `U+${char.codePointAt(0)?.toString(16)}`);
}

interface Scene {
  readonly ending: Ending;
  readonly line: string;
  /** What is typed when which output is shown. */
  readonly keys: readonly (readonly [shown: RegExp, key: string])[];
}

/** What a server could send and no question contains. */
const SEQUENCES: readonly string[] = [
  "\u001b]",
  "\u001b[20;1H",
  "\u001b[8m",
  "\u0007",
  "\u0000",
  "\u007f",
  "\u0085",
  "\u009b",
  "\u009c",
  "\u009d",
  "\u2028",
  "\u202e",
  "\u2066",
  "\u200e",
  "\u061c",
  "\ufeff",
  "\u{e0001}",
];
