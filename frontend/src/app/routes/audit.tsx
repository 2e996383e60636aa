/** /audit */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { auditSearch } from "@/features/audit/search";
import { consoleRoute } from "./layout";

const auditRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "audit",
  validateSearch: auditSearch,
  component: lazyRouteComponent(() => import("@/features/audit/AuditScreen"), "AuditScreen"),
});

export const auditRoutes = [auditRoute] as const;
