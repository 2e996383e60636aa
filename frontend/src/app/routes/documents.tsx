/** /clusters/$cluster/documents */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { documentsSearch } from "@/features/documents/search";
import { clusterRoute } from "./layout";

const documentsRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "documents",
  validateSearch: documentsSearch,
  component: lazyRouteComponent(() => import("@/features/documents/DocumentsScreen"), "DocumentsScreen"),
});

export const documentsRoutes = [documentsRoute] as const;
