import { Command } from "../vendor/commander.ts";
import { addConnectionOptions, requireAgent, connectToServer, talk } from "../connect.ts";
import type { ConnectionOptions } from "../connect.ts";
import { printOperation } from "../print/operation.ts";
import { printTable } from "../print/table.ts";
import { stdout, styled } from "../print/terminal.ts";
import { toLine } from "../print/text.ts";

interface Options extends ConnectionOptions {
  readonly json: boolean;
}

/** `troupe agents`: the agents of the server. */
export function agentsCommand(): Command {
  return addConnectionOptions(new Command("agents"))
    .description("Lists the agents of the server, with their operations.")
    .option("--json", "print one agent a line as JSON", false)
    .addHelpText("after", "\nExample: troupe agents --json | jq .name")
    .action(async (options: Options) => {
      const client = connectToServer(options);
      await talk(client, async () => {
        const entries = await client.agents();
        const agents = await Promise.all(entries.map(({ name }) => client.agent(name).describe()));
        if (options.json) {
          for (const agent of agents) stdout.json(agent);
          return;
        }
        const rows = agents.map(({ name, operations, purpose }) => [
          name,
          operations.map((operation) => operation.name).join(" "),
          purpose,
        ]);
        printTable(["AGENT", "OPERATIONS", "PURPOSE"], rows);
      });
    });
}

/** `troupe describe`: one agent, its operations as one would type them. */
export function describeCommand(): Command {
  return addConnectionOptions(new Command("describe"))
    .description("Shows what an agent does, and its operations as one would type them.")
    .argument("<agent>")
    .option("--json", "print the description as JSON", false)
    .addHelpText("after", "\nExample: troupe describe payments")
    .action(async (name: string, options: Options) => {
      const client = connectToServer(options);
      await talk(client, async () => {
        await requireAgent(client, name);
        const agent = await client.agent(name).describe();
        if (options.json) {
          stdout.json(agent);
          return;
        }
        stdout.line(styled("bold", name), agent.version === undefined ? "" : ` version ${agent.version}`);
        stdout.line(toLine(agent.purpose));
        for (const operation of agent.operations) {
          stdout.line();
          printOperation(operation);
        }
        if (agent.tools.length === 0) return;
        stdout.line();
        stdout.line(`tools: ${agent.tools.join(", ")}`);
      });
    });
}
