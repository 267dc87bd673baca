interface Node {
  readonly source?: unknown;
}

interface Context {
  report(problem: { readonly node: Node; readonly message: string }): void;
}

const MESSAGE = "Only an entry of the package re-exports. Import from the file that defines the thing.";

/** Our own lint rules. */
export default {
  meta: { name: "house" },
  rules: {
    "no-barrel": {
      create(context: Context): Record<string, (node: Node) => void> {
        return {
          ExportAllDeclaration(node) {
            context.report({ node, message: MESSAGE });
          },
          ExportNamedDeclaration(node) {
            if (node.source) context.report({ node, message: MESSAGE });
          },
        };
      },
    },
  },
};
