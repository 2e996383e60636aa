/** /clusters/$cluster/acl */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { aclSearch } from "@/features/acl/search";
import { clusterRoute } from "./layout";

const aclRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "acl",
  validateSearch: aclSearch,
  component: lazyRouteComponent(() => import("@/features/acl/AclScreen"), "AclScreen"),
});

export const aclRoutes = [aclRoute] as const;
