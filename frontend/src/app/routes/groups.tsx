/** /clusters/$cluster/groups and one group of it. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { groupSearch, groupsSearch } from "@/features/groups/search";
import { clusterRoute } from "./layout";

const groupsRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "groups",
  validateSearch: groupsSearch,
  component: lazyRouteComponent(() => import("@/features/groups/GroupsScreen"), "GroupsScreen"),
});

const groupRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "groups/$group",
  validateSearch: groupSearch,
  component: lazyRouteComponent(() => import("@/features/groups/GroupScreen"), "GroupScreen"),
});

export const groupsRoutes = [groupsRoute, groupRoute] as const;
