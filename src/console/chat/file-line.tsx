import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { FileView } from "../../view/run-view.ts";
import { toAgentError } from "../../errors.ts";
import { useConsole } from "../app/context.ts";
import { sizeText } from "../parts/size.ts";

/** A file of a run, which can be downloaded. */
export function FileLine({ file, agent }: { readonly file: FileView; readonly agent: string }): VNode {
  const { server, say } = useConsole();
  const [isLoading, setLoading] = useState(false);
  const { name, mimeType, sizeBytes, url, isGenerated } = file;

  const download = async (): Promise<void> => {
    setLoading(true);
    try {
      const { response } = await server.wire.openFile(url);
      const address = URL.createObjectURL(await response.blob());
      const link = document.createElement("a");
      link.href = address;
      link.download = name;
      link.click();
      // The browser has begun to read the address when the click returns.
      setTimeout(() => URL.revokeObjectURL(address), KEEP_MS);
    } catch (thrown) {
      say(toAgentError(thrown).message);
    }
    setLoading(false);
  };

  return (
    <p class="file">
      <span class="second">{isGenerated ? `${agent} made` : "added"}</span>
      <span class="one-line" dir="auto">
        {name}
      </span>
      <span class="second one-line">
        {mimeType}, {sizeText(sizeBytes)}
      </span>
      <button type="button" class="button small" disabled={isLoading} onClick={() => void download()}>
        Download
      </button>
    </p>
  );
}

const KEEP_MS = 60_000;
