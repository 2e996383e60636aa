/**
 * An ESLint rule: shared <- features <- app. A feature knows itself and shared, never another feature or app.
 * Imports are resolved to paths first, so that neither "@/…" nor "../../…" leads round it.
 */
import { dirname, join, relative, resolve } from "node:path";

const SOURCES = resolve(import.meta.dirname, "../src");

/** The room of a file: ["features", "topics"], ["shared"], ["app"], ["types"]. */
function roomOf(file) {
  const [layer, area] = relative(SOURCES, file).split(/[\\/]/);
  return layer === "features" ? [layer, area] : [layer];
}

function mayImport([layer, area], [other, otherArea]) {
  if (other === "types" || other === "shared") return other === "types" || layer !== "types";
  if (other === "features") return layer === "app" || (layer === "features" && area === otherArea);
  return layer === "app" || layer === "main.tsx";
}

export const layers = {
  meta: {
    type: "problem",
    schema: [],
    messages: {
      crossed: "{{from}} may not import {{to}}: shared <- features <- app, and no feature another.",
    },
  },
  create(context) {
    const from = roomOf(context.filename);
    function check(node) {
      const name = node.source?.value;
      if (typeof name !== "string" || !/^(@\/|\.)/.test(name)) return;
      const path = name.startsWith("@/")
        ? join(SOURCES, name.slice(2))
        : join(dirname(context.filename), name);
      if (relative(SOURCES, path).startsWith("..")) return;
      const to = roomOf(path);
      if (from[0] === "main.tsx" || mayImport(from, to)) return;
      context.report({ node, messageId: "crossed", data: { from: from.join("/"), to: to.join("/") } });
    }
    return {
      ImportDeclaration: check,
      ImportExpression: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
    };
  },
};
