/** The page begins: theme, texts, queries, routes. */
import "@mantine/core/styles.css";
import "@/shared/theme/signalbox.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "@/app/App";

const root = document.getElementById("root");
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
