/** What other routes are below: everything, everything for those who are signed in, everything of one cluster. */
import type { QueryClient } from "@tanstack/react-query";
import { createRootRouteWithContext, createRoute, Outlet, redirect } from "@tanstack/react-router";
import { read } from "@/shared/api/queries";
import { Shell } from "../shell/Shell";

export const rootRoute = createRootRouteWithContext<{ client: QueryClient }>()({ component: Outlet });

export const consoleRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: "console",
  component: Shell,
  beforeLoad: async ({ context, location }) => {
    const session = await context.client.ensureQueryData(read("/session/"));
    if (!session.is_signed_in) throw redirect({ to: "/sign-in", search: { next: location.href } });
  },
});

export const clusterRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "clusters/$cluster",
  component: Outlet,
});
