/** The page of something that the search found. */
import type { NavigateOptions } from "@tanstack/react-router";
import type { Answer } from "@/shared/api/client";

type Hit = Answer<"/search/">["results"][number];

export function linkOf(hit: Hit): NavigateOptions {
  const cluster = hit.cluster ?? "";
  switch (hit.kind) {
    case "cluster":
      return { to: "/clusters/$cluster", params: { cluster } };
    case "topic":
      return { to: "/clusters/$cluster/topics/$topic", params: { cluster, topic: hit.name } };
    case "group":
      return { to: "/clusters/$cluster/groups/$group", params: { cluster, group: hit.name } };
    case "message":
      return { to: "/clusters/$cluster/messages/$id", params: { cluster, id: hit.name } };
    case "operation":
      return { to: "/operations/$id", params: { id: hit.name } };
    case "user":
      return { to: "/settings", search: { tab: "users", user: hit.name } };
  }
}
