/** /hosts */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { hostsSearch } from "@/features/hosts/search";
import { consoleRoute } from "./layout";

const hostsRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "hosts",
  validateSearch: hostsSearch,
  component: lazyRouteComponent(() => import("@/features/hosts/HostsScreen"), "HostsScreen"),
});

export const hostsRoutes = [hostsRoute] as const;
