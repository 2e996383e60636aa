/** /clusters/$cluster/messages and one message of it. */
import { createRoute } from "@tanstack/react-router";
import { messageSearch, messagesSearch } from "@/features/messages/search";
import { Upcoming } from "../Upcoming";
import { clusterRoute } from "./layout";

const messagesRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "messages",
  validateSearch: messagesSearch,
  component: Upcoming,
});

const messageRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "messages/$id",
  validateSearch: messageSearch,
  component: Upcoming,
});

export const messagesRoutes = [messagesRoute, messageRoute] as const;
