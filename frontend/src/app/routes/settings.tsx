/** /settings: profile, tokens, users and roles. */
import { createRoute } from "@tanstack/react-router";
import { settingsSearch } from "@/features/settings/search";
import { Upcoming } from "../Upcoming";
import { consoleRoute } from "./layout";

const settingsRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "settings",
  validateSearch: settingsSearch,
  component: Upcoming,
});

export const settingsRoutes = [settingsRoute] as const;
