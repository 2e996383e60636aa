/** /clusters/$cluster/messages and one message of it. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { messageSearch, messagesSearch } from "@/features/messages/search";
import { clusterRoute } from "./layout";

const messagesRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "messages",
  validateSearch: messagesSearch,
  component: lazyRouteComponent(() => import("@/features/messages/MessagesScreen"), "MessagesScreen"),
});

const messageRoute = createRoute({
  getParentRoute: () => clusterRoute,
  path: "messages/$id",
  validateSearch: messageSearch,
  component: lazyRouteComponent(() => import("@/features/messages/MessageScreen"), "MessageScreen"),
});

export const messagesRoutes = [messagesRoute, messageRoute] as const;
