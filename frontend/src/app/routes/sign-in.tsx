/** /sign-in?next=/clusters/orders */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { signInSearch } from "@/features/session/search";
import { rootRoute } from "./layout";

export const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "sign-in",
  validateSearch: signInSearch,
  component: lazyRouteComponent(() => import("@/features/session/SignInScreen"), "SignInScreen"),
});
