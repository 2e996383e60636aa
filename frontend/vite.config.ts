/**
 * How the console is built: into build/frontend, which Django serves below /static/console/ (frontend/README.md).
 * Hashed names, so that browsers may keep files for ever; compressed once here instead of at every answer.
 */
import react from "@vitejs/plugin-react";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { compress } from "./tools/compress.ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const api = process.env.SIGNALBOX_API ?? "http://127.0.0.1:8161";

export default defineConfig(({ command }) => ({
  base: command === "build" ? "/static/console/" : "/",
  plugins: [react(), compress()],
  resolve: { alias: { "@": here("./src") } },
  build: {
    outDir: here("../build/frontend"),
    emptyOutDir: true,
    manifest: "manifest.json",
    target: "es2022",
    // One sheet for all: screens must not jump when their part of it arrives.
    cssCodeSplit: false,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 800,
    rolldownOptions: {
      output: {
        // Packages change less often than our own files: browsers keep them over releases.
        codeSplitting: {
          groups: [
            {
              name: "react",
              test: /node_modules[\\/](react|react-dom|scheduler|use-sync-external-store)[\\/]/,
            },
            { name: "mantine", test: /node_modules[\\/](@mantine|@floating-ui)[\\/]/ },
            {
              name: "tanstack",
              test: /node_modules[\\/]@tanstack[\\/](?!react-virtual|virtual-core|.*table)/,
            },
            // What most screens are made of: one file instead of twenty small ones, each a request of its own.
            {
              name: "shared",
              test: /src[\\/]shared[\\/](?!chart|message)|@tanstack[\\/](react-virtual|virtual-core|.*table)/,
            },
          ],
        },
      },
    },
  },
  server: { proxy: { "/api": api, "/ws": { target: api.replace("http", "ws"), ws: true } } },
  test: {
    environment: "jsdom",
    // One jsdom for all: making one takes longer than most files run.
    isolate: false,
    include: ["src/**/*.test.{ts,tsx}"],
    setupFiles: [here("./src/test_setup.ts")],
  },
}));
