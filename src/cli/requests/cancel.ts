import { Command } from "../vendor/commander.ts";
import type { RequestId } from "../../protocol/ids.ts";
import { addConnectionOptions, connectToServer, talk } from "../connect.ts";
import type { ConnectionOptions } from "../connect.ts";
import { stderr } from "../print/terminal.ts";
import { parseId } from "./request-options.ts";

/** `troupe cancel`: cancels a request with everything that it has called. */
export function cancelCommand(): Command {
  return addConnectionOptions(new Command("cancel"))
    .description("Cancels a request, with everything that it has called, and waits for its cleanup steps.")
    .argument("<request>", "the id of the request", parseId)
    .addHelpText("after", "\nExample: troupe cancel req_0pV-AXv7NnUktNUFafstH")
    .action(async (id: RequestId, options: ConnectionOptions) => {
      const client = connectToServer(options);
      const outcome = await talk(client, async () => {
        const request = client.request(id);
        await request.cancel();
        for await (const event of request) void event;
        const { turns } = await request.view();
        return turns.find(({ requestId }) => requestId === id)?.outcome;
      });
      const hadEnded = outcome === "success" || outcome === "error";
      stderr.line(hadEnded ? `${id} had already ended: ${outcome}` : `${id} is canceled`);
    });
}
