import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";

/**
 * Collects the files that are imported from now on, also those that do not load: everything but packages
 * and this program. The returned function stops and returns them.
 */
export function collectImportedFiles(): () => readonly string[] {
  const files = new Set<string>();
  const add = (url: string): void => {
    if (url.startsWith("file:") && !url.includes("/node_modules/") && !url.startsWith(OWN)) {
      files.add(fileURLToPath(new URL(url.replace(/[?#].*$/, ""))));
    }
  };
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      try {
        const resolved = next(specifier, context);
        add(resolved.url);
        return resolved;
      } catch (thrown) {
        // A file that does not exist yet is watched too.
        if (/^\.{0,2}\//.test(specifier)) add(new URL(specifier, context.parentURL).href);
        throw thrown;
      }
    },
  });
  return () => {
    hooks.deregister();
    return [...files];
  };
}

/** The folder of this program's own code. */
const OWN = new URL("../..", import.meta.url).href;
