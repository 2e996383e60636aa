/** /settings: profile, tokens, users and roles. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { settingsSearch } from "@/features/settings/search";
import { consoleRoute } from "./layout";

const settingsRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "settings",
  validateSearch: settingsSearch,
  component: lazyRouteComponent(() => import("@/features/settings/SettingsScreen"), "SettingsScreen"),
});

export const settingsRoutes = [settingsRoute] as const;
