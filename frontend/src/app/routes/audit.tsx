/** /audit */
import { createRoute } from "@tanstack/react-router";
import { auditSearch } from "@/features/audit/search";
import { Upcoming } from "../Upcoming";
import { consoleRoute } from "./layout";

const auditRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "audit",
  validateSearch: auditSearch,
  component: Upcoming,
});

export const auditRoutes = [auditRoute] as const;
