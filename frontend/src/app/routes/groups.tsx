/** /clusters/$cluster/groups and one group of it. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { groupSearch, groupsQuery, groupsSearch } from "@/features/groups/search";
import { read } from "@/shared/api/queries";
import { clusterRoute } from "./layout";

const groupsRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "groups",
  validateSearch: groupsSearch,
  // Asked for while the screen is loaded and drawn, not after it.
  loaderDeps: ({ search }) => search,
  loader: ({ context, params, deps }) => {
    void context.client.prefetchQuery(
      read("/clusters/{cluster}/groups/", { params, query: groupsQuery(groupsSearch.full(deps)) }),
    );
  },
  component: lazyRouteComponent(() => import("@/features/groups/GroupsScreen"), "GroupsScreen"),
});

const groupRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "groups/$group",
  validateSearch: groupSearch,
  component: lazyRouteComponent(() => import("@/features/groups/GroupScreen"), "GroupScreen"),
});

export const groupsRoutes = [groupsRoute, groupRoute] as const;
