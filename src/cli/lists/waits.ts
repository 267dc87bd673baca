import { Command } from "../vendor/commander.ts";
import type { OpenWait } from "../../client/call-api.ts";
import { addConnectionOptions, requireAgent, connectToServer, talk } from "../connect.ts";
import type { ConnectionOptions } from "../connect.ts";
import { EXIT, Exit } from "../exit.ts";
import { printTable } from "../print/table.ts";
import { stderr, stdout } from "../print/terminal.ts";
import { toDuration } from "../print/text.ts";

interface Options extends ConnectionOptions {
  readonly agent?: string;
  readonly askedBy?: string;
  readonly approver?: string;
  readonly json: boolean;
}

/** `troupe waits`: the open questions of all runs. */
export function waitsCommand(): Command {
  return addConnectionOptions(new Command("waits"))
    .description("Lists the open questions of all runs, oldest first.")
    .option("--agent <name>", "only of runs of this agent")
    .option("--asked-by <name>", "only those that this agent asks, in a run of any agent")
    .option("--approver <role>", "only those that somebody with this role may answer")
    .option("--json", "print one question a line as JSON", false)
    .addHelpText(
      "after",
      "\nAnswer one: troupe resume REQUEST key=value\n\nExample: troupe waits --agent payments\nExample: troupe waits --approver finance",
    )
    .action(run);
}

async function run({ agent, askedBy, approver, json, ...options }: Options): Promise<void> {
  const client = connectToServer(options);
  await talk(client, async () => {
    const waits: OpenWait[] = [];
    let cursor: string | undefined;
    do {
      const page = await client.waits({
        ...(agent !== undefined && { agent }),
        ...(askedBy !== undefined && { askedBy }),
        ...(approver !== undefined && { approver }),
        ...(cursor !== undefined && { cursor }),
      });
      if (page === undefined) {
        throw new Exit(
          EXIT.failed,
          `${client.url} has no list of open questions`,
          "troupe runs --status waiting",
        );
      }
      waits.push(...page.waits);
      cursor = page.next;
    } while (cursor !== undefined);
    const named = [agent, askedBy].filter((name) => name !== undefined);
    if (waits.length === 0) for (const name of named) await requireAgent(client, name);
    if (json) {
      for (const { answer: _, ...wait } of waits) stdout.json(wait);
      return;
    }
    if (waits.length === 0) stderr.line("no question is open");
    const rows = waits.map(({ requestId, agent: asks, questions, question, approvers, from }) => [
      requestId,
      asks,
      toDuration(Date.now() - Date.parse(from)),
      [
        question ??
          Object.entries(questions)
            .map(([key, asked]) => `${key}: ${asked}`)
            .join(" · "),
        ...(approvers ? [`(for ${approvers.join(" or ")})`] : []),
      ].join(" "),
    ]);
    printTable(["REQUEST", "AGENT", "SINCE", "QUESTION"], rows);
  });
}
