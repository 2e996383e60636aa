/** Who is signed in: one read for the whole tab, and what it lets them do. */
import { type Query, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { type Answer, del, post } from "@/shared/api/client";
import { keyOf, useGet } from "@/shared/api/queries";
import { may, mayOnSomeCluster, maySomewhere, type Role } from "./rights";

export type Session = Answer<"/session/">;

export interface Rights {
  session: Session | undefined;
  isSignedIn: boolean;
  username: string;
  /** On that name of that cluster; without a name on the whole cluster, without both on the platform. */
  may: (role: Role, cluster?: string, name?: string) => boolean;
  /** On some name of that cluster. */
  maySomewhere: (role: Role, cluster: string) => boolean;
  /** On the whole of some cluster. */
  mayOnSomeCluster: (role: Role) => boolean;
}

const KEPT_MS = 60_000;

export function useSession() {
  return useGet("/session/", {}, { staleTime: KEPT_MS });
}

export function useRights(): Rights {
  const { data } = useSession();
  return useMemo(() => {
    const grants = data?.grants ?? [];
    return {
      session: data,
      isSignedIn: data?.is_signed_in ?? false,
      username: data?.username ?? "",
      may: (role, cluster, name) => may(grants, role, cluster, name),
      maySomewhere: (role, cluster) => maySomewhere(grants, role, cluster),
      mayOnSomeCluster: (role) => mayOnSomeCluster(grants, role),
    };
  }, [data]);
}

const others = (query: Query) => query.queryKey[0] !== "/session/";

/** Signing in and out: what was read for somebody else is forgotten, what is shown is read anew. */
export function useSigning() {
  const client = useQueryClient();
  const key = keyOf("/session/");
  return {
    signIn: async (username: string, password: string) => {
      const session = await post("/session/", { body: { username, password } });
      const isSame = client.getQueryData<Session>(key)?.username === session.username;
      client.setQueryData(key, session);
      // Not waited for: the page goes on, and its parts load as they always do.
      void (isSame
        ? client.invalidateQueries({ predicate: others })
        : client.resetQueries({ predicate: others }));
    },
    signOut: async () => {
      // Reads under way would be refused as soon as the session has ended.
      await client.cancelQueries({ predicate: others });
      await del("/session/");
      client.clear();
    },
  };
}
