/** /clusters/$cluster: the live routing map; /clusters/new: the wizard. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { clusterSearch, newClusterSearch } from "@/features/clusters/search";
import { clusterRoute, consoleRoute } from "./layout";

const clusterHomeRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "/",
  validateSearch: clusterSearch,
  component: lazyRouteComponent(() => import("@/features/clusters/ClusterScreen"), "ClusterScreen"),
});

const newClusterRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "clusters/new",
  validateSearch: newClusterSearch,
  component: lazyRouteComponent(() => import("@/features/clusters/NewClusterScreen"), "NewClusterScreen"),
});

export const clusterHomeRoutes = [clusterHomeRoute] as const;
export const clusterMakingRoutes = [newClusterRoute] as const;
