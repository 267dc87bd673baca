/** @module-tag long */
import { spawnSync } from "node:child_process";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createClient } from "troupe/client";
import { expect, test } from "vitest";
import { skipWithoutGit } from "../../machine/skip-without.ts";
import { createProject, startCommand, startProgram } from "../command.ts";

/** A shop whose desk refunds once a person agrees. */
const DESK = `import { defineTool } from "troupe";
import { llmAgent, scriptedModel } from "troupe/llm";
import { z } from "zod";
const refund = defineTool({
  name: "refund",
  description: "Pays an order back.",
  input: z.object({ order: z.string() }),
  run: ({ order }) => ({ refunded: order }),
});
export const desk = llmAgent({
  name: "desk",
  purpose: "Refunds.",
  instructions: "You are the desk.",
  model: scriptedModel(({ messages, tools }) => {
    const last = messages.at(-1);
    if (last.role === "tool") return last.content.includes("refunded") ? "It is refunded." : "It is not refunded.";
    if (!tools[0].description.includes("Pays")) return "I do not know how.";
    return { toolCalls: [{ name: "refund", input: { order: /A\\\\d+/.exec(last.content)[0] } }] };
  }, { name: "script", price: { input: 1, output: 1 } }),
  tools: [refund],
  approve: ["refund"],
});
`.replaceAll("\\\\", "\\");

const SCORERS = `import { contains, defineEvaluation, exact } from "troupe/eval";
export default defineEvaluation({
  scorers: [exact(), contains("refunded")],
  thresholds: { exact: 1 },
  redact: (one) => JSON.parse(JSON.stringify(one).replaceAll("jim", "NAME")),
});
`;

test("runs of a server become a data set, which is done again with other code and fails a pipeline", async () => {
  const cwd = await createProject({ "agents/desk.ts": DESK });
  await symlink(resolve("node_modules/zod"), join(cwd, "node_modules/zod"));
  const server = startCommand(["serve", "--port=0"], { cwd });
  const [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
  const client = createClient(url);
  for (const [order, approved] of [
    ["A1", true],
    ["A2", false],
    ["A3", true],
  ] as const)
    await client.agent("desk").chat(`I am jim: refund ${order}`, { answer: () => ({ approved }) });
  await mkdir(join(cwd, "evals"));
  await writeFile(join(cwd, "evals/refunds.ts"), SCORERS);
  const troupe = async (
    ...args: readonly string[]
  ): Promise<{ readonly code: number | string; readonly output: string }> => {
    const command = startCommand(["eval", ...args], { cwd, env: { TROUPE_URL: url } });
    return { code: await command.exited, output: command.output() };
  };

  expect(await troupe("pick", "refunds", "--agent", "desk", "--where", "finish_reason=success")).toEqual({
    code: 0,
    output: expect.stringContaining("3 picked; evals/refunds.jsonl has 3 cases") as string,
  });
  const file = await readFile(join(cwd, "evals/refunds.jsonl"), "utf8");
  expect(file).toContain("NAME: refund A1");
  expect(file).not.toContain("jim");
  expect((await troupe("pick", "refunds", "--agent", "desk", "--where", "error=timeout")).code).toBe(66);
  const again = await troupe("pick", "refunds", "--agent", "desk", "--where", "tool=refund");
  expect(again.output).toContain("2 picked; evals/refunds.jsonl has 3 cases");

  // What was taken out of the inputs is not in the recorded prompts, so the model is asked.
  const kept = await troupe("run", "refunds", "--keep", "main", "--junit", "report.xml");
  expect(kept).toEqual({ code: 0, output: expect.stringMatching(/exact +1\.000/) as string });
  expect(await readFile(join(cwd, "report.xml"), "utf8")).toContain('tests="3" failures="0"');
  expect(await readFile(join(cwd, "evals/.kept/refunds/newest.html"), "utf8")).toContain(
    "It is not refunded.",
  );

  await writeFile(join(cwd, "agents/desk.ts"), DESK.replace("Pays an order back.", "Handles an order."));
  const broken = await troupe("run", "refunds", "--baseline", "main");
  expect(broken.code).toBe(1);
  expect(broken.output).toContain("exact: 0.000 is below 1");
  expect(broken.output).toContain("tools, messages (3)");
  expect(broken.output).toContain("3 worse, 0 better");

  expect((await troupe("run", "nothing")).code).toBe(66);
  await writeFile(join(cwd, "evals/refunds.ts"), "export default 1;");
  expect(await troupe("run", "refunds")).toEqual({
    code: 78,
    output: expect.stringContaining("exports no evaluation") as string,
  });
  await writeFile(join(cwd, "questions.csv"), "input,expected\nHello?,I do not know how.\n");
  expect((await troupe("import", "questions", "questions.csv", "--agent", "desk")).code).toBe(0);
  const asked = await troupe("run", "questions", "--threshold", "1", "--json");
  expect(asked.code).toBe(0);
  expect(JSON.parse(asked.output)).toMatchObject({
    reports: [{ name: "questions", equal: 1, asked: 1 }],
    faults: [],
  });
});

test(
  "the agents of a branch stand beside those as they are, and fail no threshold",
  { tags: "long" },
  async ({ skip }) => {
    if (spawnSync("git", ["--version"]).status !== 0) skipWithoutGit(skip);
    const greeter = (text: string): string =>
      `import { defineAgent } from "troupe";
export const greeter = defineAgent({ name: "greeter", purpose: "Greets.", chat: (name) => \`${text}, \${name}!\` });`;
    const cwd = await createProject({
      "agents/greeter.ts": greeter("Hello"),
      "names.csv": 'input,expected\nAda,"Hi, Ada!"\n',
    });
    const git = async (...args: readonly string[]): Promise<string> => {
      const user = ["-c", "user.name=A", "-c", "user.email=a@localhost"];
      const command = startProgram("git", [...user, ...args], { cwd });
      expect(await command.exited).toBe(0);
      return command.output();
    };
    const troupe = async (
      ...args: readonly string[]
    ): Promise<{ readonly code: number | string; readonly output: string }> => {
      const command = startCommand(["eval", ...args], { cwd });
      return { code: await command.exited, output: command.output() };
    };
    await git("init", "--quiet", "--initial-branch=main");
    await git("add", "agents");
    await git("commit", "--quiet", "--message=greeter");
    await writeFile(join(cwd, "agents/greeter.ts"), greeter("Hi"));
    await troupe("import", "names", "names.csv", "--agent", "greeter");

    const { code, output } = await troupe("run", "names", "--at", "main", "--threshold", "1");
    expect(output).toMatch(/SCORE +NOW +MAIN/);
    expect(output).toMatch(/exact +1\.000 +0\.000/);
    expect(code).toBe(0);
    expect((await git("worktree", "list")).trim().split("\n")).toHaveLength(1);

    await writeFile(
      join(cwd, "agents/greeter.ts"),
      greeter("Hi").replace("(name) => `", "(name) => `${undefined.voice} "),
    );
    const failed = await troupe("run", "names");
    expect(failed.code).toBe(0);
    expect(failed.output).toContain("1 case failed; row-2: agent_error: ");
    expect(await troupe("run", "names", "--at", "never")).toEqual({
      code: 66,
      output: expect.stringContaining("there is no commit never") as string,
    });
    expect((await troupe("run", "names", "--at=--all")).code).toBe(2);
  },
);
