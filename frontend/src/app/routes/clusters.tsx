/** /clusters/$cluster: the live routing map; /clusters/new: the wizard. */
import { createRoute } from "@tanstack/react-router";
import { clusterSearch, newClusterSearch } from "@/features/clusters/search";
import { Upcoming } from "../Upcoming";
import { clusterRoute, consoleRoute } from "./layout";

const clusterHomeRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "/",
  validateSearch: clusterSearch,
  component: Upcoming,
});

const newClusterRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "clusters/new",
  validateSearch: newClusterSearch,
  component: Upcoming,
});

export const clusterHomeRoutes = [clusterHomeRoute] as const;
export const clusterMakingRoutes = [newClusterRoute] as const;
